"""What a controller asks of this broker: its requests change replicas and the metadata cache."""
