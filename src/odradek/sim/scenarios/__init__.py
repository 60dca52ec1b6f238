"""Worlds in which a test says what happens, one event after another."""
