"""Log dirs: which log lies where, their checkpoints, and moves between them."""
