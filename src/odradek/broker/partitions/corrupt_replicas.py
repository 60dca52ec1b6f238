"""A replica whose log has a batch that fails its checksum gets it again from another broker.

A follower leaves the ISR, cuts its log at that batch, and fetches the rest anew (the core is
`replication.following`). A leader cannot fetch from anybody, so it first resigns, if another member
of the ISR can lead: the replica goes offline by itself, without its log dir, and the controller
is told as of a failed dir, which every controller understands. Once another broker leads, the
replica is online again and follows. Without another member the leader goes on; only that batch
cannot be read, which is answered with CORRUPT_MESSAGE.
"""

from collections.abc import Callable
from typing import Protocol

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.following_replica import FollowingReplica
from odradek.broker.partitions.leading_replica import LeadingReplica
from odradek.metadata.image import ClusterImage
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt

log = structlog.get_logger()


class Elected(Protocol):
    """Who hears that a replica leads."""

    on_elected: list[Callable[[LeadingReplica], None]]


class Replicas(Protocol):
    """What is done to the replicas that this broker hosts."""

    @property
    def roles(self) -> Elected:
        """How they take roles."""
        ...

    def find_current(self, found: PartitionLog) -> LeadingReplica | FollowingReplica | None:
        """The replica that has this log."""
        ...

    def take_offline(self, partition: TopicPartition) -> None:
        """Ends its role; the controller is answered KAFKA_STORAGE_ERROR until it is back."""
        ...

    def bring_back(self, partition: TopicPartition) -> None:
        """It takes a role again when the controller gives it one."""
        ...


class CorruptReplicas:
    """All of this broker's."""

    def __init__(
        self, replicas: Replicas, cluster: MetadataCache, tell_controller: Callable[[], None]
    ) -> None:
        """`tell_controller` has it ask for every replica of this broker."""
        self.on_follower: Callable[[FollowingReplica, Offset], None] = lambda *_: None
        self._replicas = replicas
        self._cluster = cluster
        self._tell_controller = tell_controller
        self._resigned: dict[TopicPartition, None] = {}  # another broker shall lead these
        replicas.roles.on_elected.append(self._resign)
        cluster.watchers.append(self._on_metadata)

    def on_corrupt(self, found: PartitionLog, corrupt: CorruptAt) -> None:
        """A batch of this log is not as it was written."""
        if found.corrupt is not None and found.corrupt.offset <= corrupt.offset:
            return
        found.corrupt = corrupt
        log.error(
            "log.corrupt",
            partition=str(found.partition),
            file=found.path_of(corrupt.segment_base),
            position=corrupt.position,
            offset=corrupt.offset,
        )
        replica = self._replicas.find_current(found)
        if isinstance(replica, LeadingReplica):
            self._resign(replica)
        elif replica is not None:
            self.on_follower(replica, corrupt.offset)

    def _resign(self, replica: LeadingReplica) -> None:
        corrupt, partition = replica.log.corrupt, replica.partition
        if corrupt is None or corrupt.offset < replica.log.log_start_offset:
            return
        if not replica.leader.on_corrupt().hand_over:
            return
        log.warning("leader.resigns", partition=str(partition), offset=corrupt.offset)
        self._resigned[partition] = None
        self._replicas.take_offline(partition)
        self._tell_controller()

    def _on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        if not self._resigned or old.topics is new.topics:
            return
        for partition in tuple(self._resigned):
            image = new.partition(partition)
            state = None if image is None else image.state
            if state is None or state.leader != self._cluster.me:
                del self._resigned[partition]
                self._replicas.bring_back(partition)
                self._tell_controller()
