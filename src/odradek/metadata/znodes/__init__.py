"""Kafka's tree in ZooKeeper, one object per kind of znode: its path, its bytes, and their meaning.

The bytes are those that Kafka 3.9 writes, so that its brokers and tools read ours and we theirs;
they depend on the arguments alone. Where Kafka's order is that of a hash table (the partitions of
a topic, the settings of an entity) ours is sorted: no reader may rely on it. What others wrote is
read with distrust: `MalformedZnode` says what is wrong where.
"""
