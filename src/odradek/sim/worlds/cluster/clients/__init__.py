"""Who uses the cluster: writers, readers, and an operator."""
