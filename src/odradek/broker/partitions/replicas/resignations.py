"""A leader that gives way to another replica while its log dir goes on.

Nothing that a leader may send has a controller elect another. So the replica goes offline by
itself, without its log dir, and the controller is told as of a failed dir, which every controller
understands. Once another broker leads, or none may, the replica is online again, and follows. What
is done to its log meanwhile, such as retention, goes on.

An image that is older than the leadership that ended says nothing of who leads since.
"""

from collections.abc import Callable
from typing import Protocol

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.metadata.image import ClusterImage
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch


class Hosting(Protocol):
    """What is done to the replicas that this broker hosts."""

    def take_offline(self, partition: TopicPartition) -> None:
        """Ends its role; the controller is answered KAFKA_STORAGE_ERROR until it is back."""
        ...

    def bring_back(self, partition: TopicPartition) -> None:
        """It takes a role again when the controller gives it one."""
        ...


class Resignations:
    """Of leaders on this broker, until they are over."""

    def __init__(
        self, replicas: Hosting, cluster: MetadataCache, tell_controller: Callable[[], None]
    ) -> None:
        """`tell_controller` has it ask for every replica of this broker."""
        self._replicas = replicas
        self._cluster = cluster
        self._tell_controller = tell_controller
        self._resigned: dict[TopicPartition, LeaderEpoch] = {}  # another broker shall lead these

    def resign(self, replica: LeadingReplica) -> None:
        """Another broker shall lead it."""
        self._resigned[replica.partition] = replica.leader_epoch
        self._replicas.take_offline(replica.partition)
        self._tell_controller()

    def on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        """Another may lead it now."""
        if old.topics is new.topics:
            return
        for partition, epoch in tuple(self._resigned.items()):
            image = new.partition(partition)
            state = None if image is None else image.state
            if state is None or (state.leader != self._cluster.me and state.leader_epoch >= epoch):
                del self._resigned[partition]
                self._replicas.bring_back(partition)
                self._tell_controller()
