"""Kafka's scripts by their names: their options, and the output that other scripts parse."""
