"""The world of ZooKeeper's server and its visitors."""
