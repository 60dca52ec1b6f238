"""Topics and settings changed at a client's request."""
