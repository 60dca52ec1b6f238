"""A replica whose log has a batch that fails its checksum gets it again from another broker.

Each reader of a log finds that: fetches, coordinators that load, compaction, a move between disks.
A follower asks its leader for the batch and puts it into its place (`fetching.log_mender`). A
leader cannot fetch from anybody, so it first resigns (`resignations`), if another member of the ISR
can lead, or a live broker that is eligible. Without another the leader goes on until one is in
sync; only that batch cannot be read, which is answered with CORRUPT_MESSAGE.

What is found while a job has the log for itself does not count: what the job leaves of it is read
again.

Those who are eligible are asked once, when the batch is found: a leader that is elected again has
learned that they cannot lead.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.logs.local_logs import LocalLogs
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.metadata.image import ClusterImage
from odradek.model.ids import BrokerId, TopicPartition
from odradek.storage.errors import CorruptFile
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt
from odradek.storage.logs.view import LogView

log = structlog.get_logger()


class Replicas(Protocol):
    """What is done to the replicas that this broker hosts."""

    @property
    def logs(self) -> LocalLogs:
        """What lies on the disks."""
        ...

    def find_current(self, found: PartitionLog) -> LeadingReplica | FollowingReplica | None:
        """The replica that has this log."""
        ...


class CorruptReplicas:
    """All of this broker's."""

    def __init__(
        self,
        replicas: Replicas,
        cluster: MetadataCache,
        resignations: Resignations,
        mend: Callable[[FollowingReplica], None],
    ) -> None:
        """`mend`: a follower with what its leader has."""
        self._mend = mend
        self._replicas = replicas
        self._cluster = cluster
        self._resignations = resignations
        self._alone: dict[TopicPartition, LeadingReplica] = {}  # no other broker can

    def on_corrupt_file(self, found: PartitionLog, error: CorruptFile) -> None:
        """A file of this log cannot be true; if it is one of batches, it is found out which."""
        known = found.corrupt
        if found.lent_to is not None:
            return
        if known is None or error.path != found.path_of(known.segment_base):
            self._replicas.logs.worker_of(found).submit(_Search(found, error, self.on_corrupt))

    def on_corrupt(self, found: PartitionLog, corrupt: CorruptAt) -> None:
        """A batch of this log is not as it was written."""
        known = found.corrupt
        if found.lent_to is not None or (known is not None and known.offset <= corrupt.offset):
            return
        found.corrupt = corrupt
        log.error(
            "log.corrupt",
            partition=str(found.partition),
            log_dir=found.folder.disk.name,
            file=found.path_of(corrupt.segment_base),
            position=corrupt.position,
            offset=corrupt.offset,
        )
        replica = self._replicas.find_current(found)
        if isinstance(replica, LeadingReplica):
            self.resign(replica, self._eligible(replica, corrupt))
        elif replica is not None:
            self._mend(replica)

    def resign(self, replica: LeadingReplica, eligible: Collection[BrokerId] = ()) -> None:
        """If a batch of its log is corrupt, and another can lead."""
        corrupt, partition = replica.log.corrupt, replica.partition
        was_alone = self._alone.pop(partition, None) is replica
        if corrupt is None or replica.is_over or corrupt.offset < replica.log.log_start_offset:
            return
        if not self._others(replica).union(eligible) - corrupt.not_at:
            self._alone[partition] = replica
            if not was_alone:
                log.error("log.no_whole_copy", partition=str(partition), offset=corrupt.offset)
            return
        log.warning("leader.resigns", partition=str(partition), offset=corrupt.offset)
        self._resignations.resign(replica)

    def _others(self, replica: LeadingReplica) -> set[BrokerId]:
        """Who could lead instead: the controller may say so before it answers the leader."""
        others = {*replica.leader.others_in_sync()}
        image = self._cluster.image.partition(replica.partition)
        state = None if image is None else image.state
        if state is not None and state.leader_epoch == replica.leader_epoch:
            others |= {*state.isr} - {self._cluster.me}
        return others

    def _eligible(self, replica: LeadingReplica, corrupt: CorruptAt) -> list[BrokerId]:
        """Who lives and could lead where no member can."""
        is_online = partial(self._cluster.image.is_online, replica.partition)
        return [it for it in replica.eligible_apart(corrupt.offset) if is_online(it)]

    def on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        """Another may be in sync by now."""
        if old.topics is new.topics:
            return
        for replica in tuple(self._alone.values()):
            self.resign(replica)


class _Search:
    """A job of the dir's worker: which batch an error is about."""

    __slots__ = ("_corrupt", "_cuts", "_error", "_found", "_on_corrupt", "_view")

    def __init__(
        self,
        found: PartitionLog,
        error: CorruptFile,
        on_corrupt: Callable[[PartitionLog, CorruptAt], None],
    ) -> None:
        self._found, self._view = found, LogView(found)
        self._error = error
        self._on_corrupt = on_corrupt
        self._cuts = found.cuts
        self._corrupt: CorruptAt | None = None

    def run(self) -> None:
        """On the worker."""
        self._corrupt = self._view.locate(self._error)

    def done(self, error: Exception | None) -> None:
        """On the loop. A file that is not one of batches is only told of."""
        if self._found.cuts != self._cuts or error is not None:
            return
        if self._corrupt is not None:
            self._on_corrupt(self._found, self._corrupt)
        else:
            log.error("log.corrupt", partition=str(self._found.partition), error=str(self._error))
