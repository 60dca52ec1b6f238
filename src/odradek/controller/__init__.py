"""The controller's decisions: who is it, who leads each partition, which topics there are.

Pure: the image of the cluster in, writes to the tree out. The shell reads, writes and watches.
"""
