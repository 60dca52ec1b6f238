"""One segment: its file of batches, its indexes, and walking through both."""
