"""What the cluster is: its image, the difference between two, and the znodes behind it."""
