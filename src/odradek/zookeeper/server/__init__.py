"""The embedded server's side: connections, sessions, reads and writes."""
