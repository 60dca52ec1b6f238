"""When a log that lost records is whole again (decision 21).

A leader is: it was elected although it lost records, so what it has is all there is. A follower is
once the controller has put it into the in-sync set again, which it does when the leader has seen
that everything committed is in its log. That it is a member because it was elected says nothing of
its log: it may have been elected before the controller had heard what the log lacks, and refuses.
"""

from functools import partial

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.jobs import off_loop
from odradek.broker.partitions.following_replica import FollowingReplica
from odradek.broker.partitions.replica import Replica
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.metadata.image import ClusterImage
from odradek.model.ids import BrokerId, TopicPartition
from odradek.storage.errors import StorageError

log = structlog.get_logger()


class WholeLogs:
    """Watches the roles and the in-sync sets of this broker's unclean logs."""

    def __init__(self, replicas: ReplicaManager, cluster: MetadataCache) -> None:
        self._replicas = replicas
        self._me = cluster.me
        self._following: dict[TopicPartition, FollowingReplica] = {}  # with an unclean log
        replicas.roles.on_elected.append(self._on_elected)
        replicas.roles.on_following.append(self._on_following)
        replicas.roles.on_unfollowed.append(self._on_unfollowed)
        cluster.watchers.append(self._on_metadata)

    def _on_elected(self, replica: Replica) -> None:
        if replica.log.unclean is not None:
            self._is_whole(replica)

    def _on_following(self, replica: FollowingReplica) -> None:
        if replica.log.unclean is not None:
            self._following[replica.partition] = replica

    def _on_unfollowed(self, replica: FollowingReplica) -> None:
        self._following.pop(replica.partition, None)

    def _on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        for partition, replica in list(self._following.items()):
            before, after = old.partition(partition), new.partition(partition)
            if before is None or after is None or before.state is None or after.state is None:
                continue
            if after.leader != self._me and _has_joined(
                self._me, before.state.isr, after.state.isr
            ):
                del self._following[partition]
                self._is_whole(replica)

    def _is_whole(self, replica: Replica) -> None:
        log.info("log.is_whole", partition=str(replica.partition))
        replica.log.unclean = None
        self._replicas.lane_of(replica.log).begin(partial(self._note, replica))

    async def _note(self, replica: Replica) -> None:
        """In the lane of its dir: durably."""
        log_dir = self._replicas.dirs.dir_of(replica.partition)
        if log_dir is None:
            return
        note = partial(log_dir.clear_unclean, [replica.partition])
        try:
            await off_loop(self._replicas.logs.worker_of(replica.log), note)
        except StorageError as error:
            log.error("log.not_noted_whole", partition=str(replica.partition), error=str(error))


def _has_joined(me: BrokerId, before: tuple[BrokerId, ...], after: tuple[BrokerId, ...]) -> bool:
    return me in after and me not in before
