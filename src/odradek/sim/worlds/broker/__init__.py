"""The world of one broker and its clients."""
