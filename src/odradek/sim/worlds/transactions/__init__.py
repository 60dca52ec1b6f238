"""The world of transactions: copiers, their ghosts, and late markers."""
