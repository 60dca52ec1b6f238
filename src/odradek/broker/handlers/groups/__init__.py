"""The APIs of consumer groups: their coordinator, their members, their offsets."""
