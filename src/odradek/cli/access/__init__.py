"""Verbs for who may do what, and how much of it."""
