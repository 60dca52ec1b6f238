"""Verbs for what users have in a cluster: topics, records, groups, transactions."""
