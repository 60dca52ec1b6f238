"""Arrow columns as record batches: all numbers at once in numpy, the bytes joined by Arrow."""
