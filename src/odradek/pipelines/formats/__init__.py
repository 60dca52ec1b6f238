"""Formats of values: how the bytes of a record become a row of a table."""
