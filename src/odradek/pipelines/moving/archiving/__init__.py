"""From a topic into a table."""
