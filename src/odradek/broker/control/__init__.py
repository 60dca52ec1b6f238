"""The session with ZooKeeper, the controller's loop, and the metadata that brokers are sent."""
