"""One replica: whether it leads or follows, who reads it, who waits for it."""
