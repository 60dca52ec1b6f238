"""Fetched bytes to Arrow columns: whole responses at once, not record by record."""
