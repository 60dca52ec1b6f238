"""A leader whose disk is full gives way, and follows again once there is room.

An append for which there is no room is refused, and so would be the next ones. While enough others
are in sync, which may have room on their disks, the leader resigns (`resignations`). It comes back
as a follower that fetches nothing: what it fetched could not be written, and as a member of the ISR
it would hold up every producer that waits for all. Retention goes on in its log, and may make the
room. Without enough others it leads on, and refuses.

Invariant: after a resignation the replica is in no ISR until its dir was seen with room, which a
disk shows by taking as much as that, for a quota leaves what it says of itself as it was. So where
all disks are full each gives way at most once, and the last one that may lead does.
"""

from collections.abc import Callable
from typing import Final, Protocol

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.logs.local_logs import LocalLogs
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.model.ids import TopicPartition
from odradek.storage.dirs.log_dirs import LogDirs, WentOffline
from odradek.storage.dirs.room import Room
from odradek.storage.logs.log import PartitionLog

SHARE: Final = 100
"""There is room with the hundredth part of a disk free, or a segment of the topic if that is less:
one that was made by deleting a little would be gone with the next record."""

log = structlog.get_logger()


class Replicas(Protocol):
    """Those that this broker hosts."""

    @property
    def logs(self) -> LocalLogs:
        """What lies on the disks."""
        ...

    @property
    def dirs(self) -> LogDirs:
        """The log dirs."""
        ...

    def find_current(self, found: PartitionLog) -> LeadingReplica | FollowingReplica | None:
        """The replica that has this log."""
        ...

    def followed(self, partition: TopicPartition) -> FollowingReplica | None:
        """The partition, if this broker follows it."""
        ...


class FullDisks:
    """All of this broker's."""

    def __init__(
        self,
        replicas: Replicas,
        cluster: MetadataCache,
        resignations: Resignations,
        is_heard: Callable[[], bool],
    ) -> None:
        """`is_heard`: what this broker says now reaches a controller that counts on it."""
        self.on_room: list[Callable[[FollowingReplica], None]] = []
        self._replicas = replicas
        self._cluster = cluster
        self._resignations = resignations
        self._is_heard = is_heard
        self._waiting: dict[TopicPartition, str] = {}  # for room in this dir, as followers

    def waits(self, replica: FollowingReplica) -> bool:
        """Whether it is not to fetch yet; in another dir it may."""
        return self._waiting.get(replica.partition) == _dir_of(replica.log)

    def on_full(self, found: PartitionLog) -> None:
        """An append to this log was refused."""
        replica = self._replicas.find_current(found)
        if not isinstance(replica, LeadingReplica) or replica.is_over:
            return
        if not self._is_heard() or not self._others_can_lead(replica):
            return
        partition, log_dir = replica.partition, _dir_of(found)
        log.warning("leader.without_room", partition=str(partition), log_dir=log_dir)
        self._waiting[partition] = log_dir
        self._resignations.resign(replica)

    def _others_can_lead(self, replica: LeadingReplica) -> bool:
        """Enough of them live, and are members of the ISR that is known to everybody.

        Where the metadata is behind it is not known yet who lives; the next append asks again.
        """
        image = self._cluster.image.partition(replica.partition)
        state = None if image is None else image.state
        if state is None or state.leader_epoch != replica.leader_epoch:
            return False
        others = replica.leader.others_in_sync() & {*state.isr}
        live = [it for it in others if self._cluster.image.is_online(replica.partition, it)]
        return len(live) >= max(replica.leader.min_isr, 1)

    def wanted_room(self, log_dir: str, room: Room) -> int:
        """The most that somebody waits for who would have it now, if the disk means what it says.

        One that is full by a quota has refused an append, and says that there is room.
        """
        waiting = (self._replicas.dirs.get(it) for it in self._waiting)
        here = (it for it in waiting if it is not None and _dir_of(it) == log_dir)
        wanted = (_enough(it, room) for it in here)
        return max((it for it in wanted if it <= room.free), default=0)

    def on_measured(self, log_dir: str, room: Room) -> None:
        """Followers for which there is room now fetch again."""
        came: list[FollowingReplica | None] = []
        for partition, name in tuple(self._waiting.items()):
            found = self._replicas.dirs.get(partition)
            if found is None or _dir_of(found) != name:
                del self._waiting[partition]  # it is gone, or elsewhere
            elif name == log_dir and room.free >= _enough(found, room):
                del self._waiting[partition]
                came.append(self._replicas.followed(partition))
        if came:
            log.info("log_dir.has_room", log_dir=log_dir, partitions=len(came))
        for replica in came:
            if replica is not None:
                for has_room in self.on_room:
                    has_room(replica)

    def on_dir_failed(self, gone: WentOffline) -> None:
        """What was in it waits for no room."""
        self._waiting = {
            partition: name for partition, name in self._waiting.items() if name != gone.log_dir
        }


def _dir_of(found: PartitionLog) -> str:
    return str(found.folder.disk.name)


def _enough(found: PartitionLog, room: Room) -> int:
    return min(found.config.segment_bytes, room.total // SHARE)
