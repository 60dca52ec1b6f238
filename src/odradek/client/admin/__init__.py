"""What an administrator asks of a cluster."""
