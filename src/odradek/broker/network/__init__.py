"""From a socket to a handler and back: listeners, connection limits, connections, requests."""
