"""Verbs that start Spark, and what they all need for it."""
