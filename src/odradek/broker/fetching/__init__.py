"""Fetches that are under way, and fetch sessions."""
