"""Offsets and epochs: positions in a log, and the counters that fence off the past.

A bare `epoch` says nothing here: there are four, and each has its own type.
"""

from typing import Final, NewType

Offset = NewType("Offset", int)
"""A record's position in one partition. As an *end* it is exclusive: the next one to be used."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Counts the leaderships of one partition; every batch carries the one that wrote it (KIP-101)."""

PartitionEpoch = NewType("PartitionEpoch", int)
"""Counts the changes of one partition's state: the version of its znode."""

ControllerEpoch = NewType("ControllerEpoch", int)
"""Counts the controllers of the cluster; a request from an earlier one is refused."""

BrokerEpoch = NewType("BrokerEpoch", int)
"""Tells one life of a broker from the next: the czxid of its registration (KIP-380)."""

Incarnation = NewType("Incarnation", int)
"""Tells a replica's log from what it was before it lost anything: another number from then on."""

ProducerEpoch = NewType("ProducerEpoch", int)
"""Counts the lives of one producer id; the older ones are fenced (KIP-98)."""

FIRST_INCARNATION: Final = Incarnation(0)
"""Of a log that never lost anything."""
NO_OFFSET: Final = Offset(-1)
NO_LEADER_EPOCH: Final = LeaderEpoch(-1)
NO_PRODUCER_EPOCH: Final = ProducerEpoch(-1)
NO_BROKER_EPOCH: Final = BrokerEpoch(-1)
