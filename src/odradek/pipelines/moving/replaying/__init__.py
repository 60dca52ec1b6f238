"""From a table into a topic."""
