"""Access rules, SCRAM, quotas: where there are none, answered as a Kafka without them answers."""
