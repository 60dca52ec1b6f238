"""The replicas of one partition: who is in sync, and up to where everything is committed. Pure."""
