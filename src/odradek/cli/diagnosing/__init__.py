"""Verbs that find out what is wrong, and gather what is known."""
