"""A pipeline as a file: what it may say, and what a run of it is."""
