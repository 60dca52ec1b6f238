"""Worlds of so many partitions that their number is the fault."""
