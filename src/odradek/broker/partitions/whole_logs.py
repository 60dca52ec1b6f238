"""When a log that lost records is whole again (decision 21).

A leader is: it was elected although it lost records, so what it has is all there is. If it may have
given offsets that it lacks, it is once it has committed a record behind them: until then, also in a
later life, the mark says where it goes on. A follower is
once it is in sync as what its log is now: the leader has seen in this incarnation everything that
was committed. That it is a member as what it was before says nothing: it may have been elected, or
its join been on the way, before the controller had heard what the log lacks. One that is only in
doubt is in no other incarnation, and is whole once it joins; also if that is told while it has no
role, because it takes its place in another dir or its disk works for the next one.
"""

from functools import partial

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.jobs import off_loop
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.replica import Replica
from odradek.metadata.image import ClusterImage
from odradek.metadata.nouns import PartitionState
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.storage.errors import StorageError

log = structlog.get_logger()


class WholeLogs:
    """Watches the roles and the in-sync sets of this broker's unclean logs."""

    def __init__(self, replicas: ReplicaManager, cluster: MetadataCache) -> None:
        self._replicas = replicas
        self._me = cluster.me
        self._to_note: dict[str, list[TopicPartition]] = {}  # whole again, by the names of dirs
        self._following: dict[TopicPartition, FollowingReplica] = {}  # with an unclean log
        self._resting: dict[TopicPartition, bool] = {}  # in doubt: whether it has joined since

    def on_elected(self, replica: LeadingReplica) -> None:
        """What it has is all there is."""
        self._resting.pop(replica.partition, None)
        unclean = replica.log.unclean
        if unclean is None:
            return
        if unclean.given_upto > replica.log.log_end_offset:
            replica.watchers.append(partial(self._on_committed, replica))
        else:
            self._is_whole(replica)

    def _on_committed(self, replica: LeadingReplica, high_watermark: Offset) -> None:
        """Of a leader that is to give no offset again."""
        unclean = replica.log.unclean
        if unclean is not None and high_watermark > unclean.given_upto:
            self._is_whole(replica)

    def on_following(self, replica: FollowingReplica) -> None:
        """It is whole once it is in sync."""
        has_joined = self._resting.pop(replica.partition, False)
        if replica.log.is_doubted and has_joined:
            self._is_whole(replica)
        elif replica.log.unclean is not None:
            self._following[replica.partition] = replica

    def on_unfollowed(self, replica: FollowingReplica) -> None:
        """It may join before it has a role again."""
        if self._following.pop(replica.partition, None) and replica.log.is_doubted:
            self._resting[replica.partition] = False

    def on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        """Some may be in sync now."""
        for partition, has_joined in self._resting.items():
            joins = has_joined or self._joins(old, new, partition)
            self._resting[partition] = joins and self._state_in_sync(new, partition) is not None
        for partition, replica in list(self._following.items()):
            if replica.log.is_doubted:
                is_whole = self._joins(old, new, partition)
            else:
                state = self._state_in_sync(new, partition)
                is_whole = (
                    state is not None and state.incarnation_of(self._me) == replica.log.incarnation
                )
            if is_whole:
                del self._following[partition]
                self._is_whole(replica)

    def _joins(self, old: ClusterImage, new: ClusterImage, partition: TopicPartition) -> bool:
        before = old.partition(partition)
        was_outside = (
            before is not None and before.state is not None and self._me not in before.state.isr
        )
        return was_outside and self._state_in_sync(new, partition) is not None

    def _state_in_sync(
        self, image: ClusterImage, partition: TopicPartition
    ) -> PartitionState | None:
        """The state, where it has this broker in sync as a follower: a leader may lack records."""
        found = image.partition(partition)
        if found is None or found.state is None or found.leader == self._me:
            return None
        return found.state if self._me in found.state.isr else None

    def _is_whole(self, replica: Replica) -> None:
        log.info("log.is_whole", partition=str(replica.partition))
        replica.log.unclean = None
        name = replica.log.folder.disk.name
        whole = self._to_note.setdefault(name, [])
        whole.append(replica.partition)
        if len(whole) == 1:
            self._replicas.lane_of(replica.log).begin(partial(self._note, name))

    async def _note(self, name: str) -> None:
        """In the lane of a dir: durably, all that became whole before its turn with one write."""
        whole = self._to_note.pop(name)
        try:
            note = partial(self._replicas.dirs.named(name).clear_unclean, whole)
            await off_loop(self._replicas.logs.workers[name], note)
        except StorageError as error:
            log.error("log.not_noted_whole", log_dir=name, count=len(whole), error=str(error))
