"""Producers and a group while faults strike, and what must be true in the end."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final, Self

from odradek.model.ids import TopicPartition
from tests.compat.broker_process import eventually
from tests.compat.java_clients import fresh
from tests.live.pairs.arena import BROKERS, REPLICAS, Arena
from tests.live.workload import (
    SteadyProducer,
    SteadyReader,
    check_kept,
    check_once_of,
    committed,
    read_all,
)

PARTITIONS: Final = 4
PAUSE_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 90


class Load:
    """Three topics: a plain producer's, an idempotent one's, and one whose records are deleted."""

    def __init__(self, arena: Arena) -> None:
        self._arena, self._cluster = arena, arena.cluster
        self.topics = arena.topics = (fresh("plain"), fresh("idempotent"), fresh("deleted"))
        arena.partitions = PARTITIONS
        arena.floors.clear()
        for topic in self.topics:
            self._cluster.place(topic, *map(_replicas, range(PARTITIONS)))
        self.group = fresh("readers")
        self._producers = [self._producer(it) for it in self.topics]
        self._reader = SteadyReader(self._cluster.bootstrap, self.topics[0], self.group)
        self._stack = ExitStack()

    def _producer(self, topic: str) -> SteadyProducer:
        settings: dict[str, Any] = {"enable.idempotence": topic == self.topics[1]}
        at = self._cluster.bootstrap
        return SteadyProducer(at, topic, PARTITIONS, pause=PAUSE_SECONDS, **settings)

    def __enter__(self) -> Self:
        for producer in self._producers:
            self._stack.enter_context(producer)
        self._stack.enter_context(self._reader)
        self.goes_on()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def acknowledged(self) -> int:
        """Records, of all producers."""
        return sum(it.count() for it in self._producers)

    @property
    def gap(self) -> float:
        """The longest since it was asked before, in seconds."""
        longest = max(max(it.gaps.values(), default=0) for it in self._producers)
        for it in self._producers:
            it.reset()
        return longest

    def goes_on(self) -> None:
        """In every partition, by whomever it is led now."""
        for producer in self._producers:
            before = {it: len(producer.acknowledged[it]) for it in range(PARTITIONS)}

            def has_more() -> bool:
                return all(len(producer.acknowledged[it]) > n for it, n in before.items())  # noqa: B023

            eventually(has_more, seconds=PATIENCE_SECONDS, what=f"producers go on: {before}")

    def is_whole(self) -> None:
        """All replicas are in sync, all producers go on."""
        self._cluster.await_isr(*self.topics, REPLICAS)
        self.goes_on()

    def ends(self) -> None:
        """Nothing acknowledged is lost, doubled or undone; replicas are equal."""
        for producer in self._producers:
            producer.stop()
            assert not producer.failed, producer.failed[:5]
        plain, counting, last = self._producers
        eventually(lambda: self._reader.has_read(plain), what="the group has read everything")
        assert not self._reader.failed, self._reader.failed[:5]
        self._stack.close()
        at = self._cluster.bootstrap
        check_kept(plain, read_all(at, self.topics[0], PARTITIONS))
        found = read_all(at, self.topics[1], PARTITIONS)
        check_kept(counting, found)
        check_once_of(self._cluster, self.topics[1], found, counting)
        self._check_commits(plain)
        self._cluster.await_isr(*self.topics, REPLICAS)
        self._cluster.check_replicas_equal(*self.topics[:2])
        self._check_deleted(last)

    def _check_commits(self, producer: SteadyProducer) -> None:
        """The reader committed all when it was closed."""
        found = committed(self._cluster.bootstrap, self.group, self.topics[0], PARTITIONS)
        for partition, offset in found.items():
            last = max(at or 0 for at, _ in producer.acknowledged[partition])
            assert offset > last, (partition, offset, last)

    def _check_deleted(self, producer: SteadyProducer) -> None:
        """What was told to be gone is gone, and nothing else."""
        starts = {
            it: self._arena.floors.get(TopicPartition(self.topics[2], it), 0)
            for it in range(PARTITIONS)
        }
        found = read_all(self._cluster.bootstrap, self.topics[2], PARTITIONS, starts)
        for number, start in starts.items():
            kept = producer.acknowledged[number]
            begins = found[number][0][0] if found[number] else start
            producer.acknowledged[number] = [it for it in kept if (it[0] or 0) >= begins]
            starts[number] = begins
        check_kept(producer, found)
        self._cluster.check_replicas_equal_from(self.topics[2], starts)


def _replicas(number: int) -> list[int]:
    """Of this partition: each broker leads one."""
    return [1 + (number + place) % BROKERS for place in range(REPLICAS)]
