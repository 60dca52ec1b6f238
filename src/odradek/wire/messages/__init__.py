"""Generated: one module per API, each with its request, its response and their structs."""
