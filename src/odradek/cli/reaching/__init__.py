"""How a verb comes to a cluster, a file or a tree, and how long it waits."""
