"""Log dirs: files, names, checkpoints, failures, and which log lies where."""
