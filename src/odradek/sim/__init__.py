"""The false world behind the doors: one seed decides everything that happens."""
