"""The world of one log on one disk."""
