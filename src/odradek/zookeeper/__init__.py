"""ZooKeeper, packets in and packets out: jute, the tree, the server's and the client's session."""
