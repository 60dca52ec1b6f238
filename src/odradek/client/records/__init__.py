"""Records and offsets as a client sends, reads and commits them."""
