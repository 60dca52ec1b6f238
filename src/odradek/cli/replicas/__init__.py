"""Verbs for where copies lie: partitions, log dirs, moves and their throttles."""
