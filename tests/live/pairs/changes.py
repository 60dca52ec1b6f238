"""What people may do to a cluster that is in use, and how it is taken back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from odradek.client.admin.admin import TOPIC, alter_settings, delete_records
from odradek.client.admin.placement import reassign
from odradek.client.cluster import Cluster
from odradek.model.ids import TopicPartition
from tests.live.pairs.faults import Fault, Heals

ASSIGNED_SECONDS_MAX: Final = 60


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
        return [it for it in sorted(self.arena.cluster.brokers) if it not in now]

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
