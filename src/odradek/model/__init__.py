"""The nouns of the product: ids, offsets, epochs, units, error codes and limits.

Pure, and at the bottom: this package imports nothing of ours, and everything may import it.
"""
