"""Verbs for brokers, the controller, and the cluster as a whole."""
