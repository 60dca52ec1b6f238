"""The world of access rules, which change while clients ask."""
