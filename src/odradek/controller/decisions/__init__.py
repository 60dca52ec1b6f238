"""What follows from each thing that happens to brokers, topics and partitions."""
