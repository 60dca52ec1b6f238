"""One partition's log: opened, appended to, read, truncated, flushed, closed."""
