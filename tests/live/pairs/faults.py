"""What may happen to a cluster, each with its end.

`FAULTS` is the list. Two of them strike at a time; two that each destroy a copy do not, nor one of
these while a single copy may acknowledge: that would lose what was promised to two.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from odradek.client.admin import TOPIC, alter_settings, delete_records
from odradek.client.cluster import Cluster
from odradek.client.placement_admin import reassign
from odradek.model.ids import TopicPartition
from tests.live.connections import cut_connections
from tests.live.pairs.arena import BROKERS, Arena, Place

ASSIGNED_SECONDS_MAX: Final = 60


class Heals(IntEnum):
    """When a fault ends, beside the other one."""

    FIRST = 0  # what stands still would stop all else
    THEN = 1
    LAST = 2  # when all brokers are up


class Fault:
    """One kind; an object is one occurrence."""

    heals = Heals.THEN

    destroys = False
    """A copy of what was acknowledged."""

    def __init__(self, arena: Arena, place: Place) -> None:
        self.arena, self.place = arena, place

    @property
    def partition(self) -> TopicPartition:
        """Where it strikes."""
        return self.place.partition

    @property
    def broker(self) -> int:
        """Which it strikes."""
        return self.place.broker

    def strike(self) -> None:
        """It begins."""

    def heal(self) -> None:
        """It ends; brokers that are down are started behind."""

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.broker}"


class Dies(Fault):
    """kill -9."""

    def strike(self) -> None:
        """No word is said."""
        self.arena.signal(self.broker, signal.SIGKILL)


class Stops(Fault):
    """SIGTERM: what it leads is moved first."""

    def strike(self) -> None:
        """It ends by itself."""
        self.arena.signal(self.broker, signal.SIGTERM)


class Hangs(Fault):
    """SIGSTOP past its session."""

    heals = Heals.FIRST

    def strike(self) -> None:
        """Its sockets stay."""
        self.arena.pause(self.broker)

    def heal(self) -> None:
        """It finds itself replaced."""
        self.arena.resume(self.broker)


class IsCutOff(Fault):
    """Every connection breaks."""

    def strike(self) -> None:
        """Both ends see the end."""
        self.arena.cut(self.broker)


class DiskHangs(Fault):
    """Who writes to it waits."""

    def strike(self) -> None:
        """A frozen file system does this."""
        self.arena.freeze(self.broker)

    def heal(self) -> None:
        """The dir may have been taken offline: a restart takes it back."""
        self.arena.end(self.broker)


class DiskFails(Fault):
    """Every call fails; what was not synced is lost."""

    destroys = True

    def strike(self) -> None:
        """While it is used."""
        self.arena.thaw(self.broker)
        self.arena.disks[self.broker].break_down()

    def heal(self) -> None:
        """An empty one comes in its place."""
        self.arena.end(self.broker)
        self.arena.disks[self.broker].pull()
        self.arena.disks[self.broker].insert()


class DiskIsReplaced(DiskFails):
    """By an empty one, while its broker is down."""

    def strike(self) -> None:
        """It will be started soon."""
        super().heal()

    def heal(self) -> None:
        """It has one."""


class Rots(Fault):
    """A byte of the newest batch is another one when the broker comes back."""

    destroys = True

    def strike(self) -> None:
        """Of the newest segment that has any."""
        self.arena.end(self.broker)
        for file in reversed(self.arena.log_files(self.place)):
            size = file.stat().st_size
            if size:
                with file.open("r+b") as opened:
                    opened.seek(size - 1)
                    (last,) = opened.read(1)
                    opened.seek(size - 1)
                    opened.write(bytes([last ^ 1]))
                return


class ZookeeperIsAway(Fault):
    """For less than its sessions, or for longer."""

    heals = Heals.FIRST

    def strike(self) -> None:
        """Connections stay, nothing is answered."""
        os.kill(self.arena.cluster.zookeeper.pid, signal.SIGSTOP)

    def heal(self) -> None:
        """It goes on with what it had."""
        os.kill(self.arena.cluster.zookeeper.pid, signal.SIGCONT)


class ZookeeperIsCutOff(Fault):
    """Every connection to it breaks."""

    def strike(self) -> None:
        """All of them are made again."""
        cut_connections(self.arena.cluster.zookeeper.pid)


class Setting(Fault):
    """A topic's setting is changed, and changed back."""

    heals = Heals.LAST
    name = ""
    usual = ""
    others: Sequence[str] = ()
    value = "?"

    def strike(self) -> None:
        """To one of the others."""
        self.value = self.arena.random.choice(self.others)
        self._set(self.value)

    def heal(self) -> None:
        """As it was."""
        for _ in range(5):
            if self._set(self.usual):
                return
        raise AssertionError(
            f"{self.name} of {self.partition.topic} cannot be set: {self.arena.refusal}"
        )

    def _set(self, value: str) -> bool:
        topic, to = self.partition.topic, {self.name: value}

        async def ask(cluster: Cluster) -> bool:
            await alter_settings(cluster, TOPIC, topic, to=to)
            return True

        return bool(self.arena.ask(ask))

    def __str__(self) -> str:
        return f"{self.name}={self.value} {self.partition.topic}"


class MinIsrIsRaised(Setting):
    """Fewer acknowledgements."""

    name, usual, others = "min.insync.replicas", "2", ("3",)


class MinIsrIsLowered(Setting):
    """One copy is enough, for a while."""

    destroys = True  # what one copy alone has is lost with it
    name, usual, others = "min.insync.replicas", "2", ("1",)


class SegmentsAreSmall(Setting):
    """Files come and go."""

    name, usual, others = "segment.bytes", "1073741824", ("16384", "65536")


class Assignment(Fault):
    """The replicas of a partition change, and change back."""

    heals = Heals.LAST

    def strike(self) -> None:
        """Begins."""
        now = self._replicas()
        if now:
            self.arena.assigned.setdefault(self.partition, now)
            self._assign(self.target(now))

    def target(self, now: Sequence[int]) -> Sequence[int]:
        """The replicas to have."""
        raise NotImplementedError

    def heal(self) -> None:
        """As it was: asked again and again, since what is going on may refuse."""
        wanted = sorted(self.arena.assigned.get(self.partition, ()))
        for _ in range(ASSIGNED_SECONDS_MAX):
            if not wanted or (self._assign(wanted) and sorted(self._replicas()) == wanted):
                return
            time.sleep(1)
        raise AssertionError(f"{self.partition} is not assigned to {wanted}: {self.arena.refusal}")

    def others(self, now: Sequence[int]) -> list[int]:
        """Brokers without a replica."""
        return [it for it in range(1, BROKERS + 1) if it not in now]

    def _replicas(self) -> list[int]:
        for _ in range(10):
            found = self.arena.ask(lambda cluster: cluster.topic(self.partition.topic))
            if found is not None:
                rows = {it.partition_index: it for it in found.partitions}
                return list(rows[self.partition.partition].replica_nodes)
        return []

    def _assign(self, replicas: Sequence[int] | None) -> bool:
        wanted = {self.partition: replicas}
        return self.arena.ask(lambda cluster: reassign(cluster, wanted)) is not None

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.partition}"


class Moves(Assignment):
    """One replica goes to another broker."""

    def target(self, now: Sequence[int]) -> list[int]:
        """Another first, and leads when all is done."""
        return [*self.others(now), *now][: len(now)]


class IsCancelled(Moves):
    """A move that is taken back soon."""

    def strike(self) -> None:
        """It may have been done by then."""
        super().strike()
        self._assign(None)


class Grows(Assignment):
    """One replica more."""

    def target(self, now: Sequence[int]) -> list[int]:
        """All brokers."""
        return [*now, *self.others(now)]


class Shrinks(Assignment):
    """One replica less."""

    def target(self, now: Sequence[int]) -> list[int]:
        """Without this one."""
        fewer = [it for it in now if it != self.broker]
        return fewer if len(fewer) > 1 else list(now)


class RecordsAreDeleted(Fault):
    """Up to somewhere below the end."""

    def strike(self) -> None:
        """What was answered must stay."""
        where = TopicPartition(self.arena.topics[-1], self.partition.partition)

        async def ask(cluster: Cluster) -> int:
            answer = await delete_records(cluster, {where: -1})
            return answer[str(where)]

        low = self.arena.ask(ask)
        if low is not None:
            self.arena.floors[where] = max(low, self.arena.floors.get(where, 0))

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.arena.topics[-1]}-{self.partition.partition}"


DISKS: Final = (DiskHangs, DiskFails, DiskIsReplaced)
FAULTS: Final[tuple[type[Fault], ...]] = (
    Dies,
    Stops,
    Hangs,
    IsCutOff,
    Rots,
    ZookeeperIsAway,
    ZookeeperIsCutOff,
    MinIsrIsRaised,
    MinIsrIsLowered,
    SegmentsAreSmall,
    Moves,
    IsCancelled,
    Grows,
    Shrinks,
    RecordsAreDeleted,
    *DISKS,
)
