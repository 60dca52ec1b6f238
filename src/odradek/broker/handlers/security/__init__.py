"""What needs an authorizer, SCRAM or quotas: answered as a Kafka without them answers."""
