"""Jute, ZooKeeper's encoding: requests, replies, codes, paths."""
