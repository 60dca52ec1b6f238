"""Whether a table and the log, or the replicas of a partition, hold the same."""
