"""Brokers, each with a disk of its own that may fail, and where a fault strikes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, Self, TypeVar

from odradek.client.addresses import addresses
from odradek.client.cluster import ClientDeps, Cluster
from odradek.model.ids import TopicPartition
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.live.mounted_disks import MountedDisk, why_not

T = TypeVar("T")

BROKERS: Final = 4  # one more than replicas, so that they can move
REPLICAS: Final = 3
MEGABYTES: Final = 256
ANSWER_SECONDS: Final = 20
SETTINGS: Final = {
    "zookeeper.session.timeout.ms": "1500",
    "replica.lag.time.max.ms": "2000",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "log.dir.hang.timeout.ms": "3000",
    "unclean.leader.election.enable": "false",
}


class Place(NamedTuple):
    """Where a fault strikes: a partition, and one of the brokers that have to do with it."""

    partition: TopicPartition
    broker: int


class Arena:
    """The cluster, its disks, and what has to be undone."""

    def __init__(self, folder: Path, random: Random, brokers: int = BROKERS) -> None:
        self.random = random
        self.topics: tuple[str, ...] = ()
        self.partitions = 0
        self.floors: dict[TopicPartition, int] = {}  # what was told to be deleted
        self.assigned: dict[TopicPartition, list[int]] = {}  # before any change
        self.disks: dict[int, MountedDisk] = {}
        self.refusal = ""  # of the last question
        self._down: set[int] = set()
        self._frozen: set[int] = set()
        self._folder = folder
        self._stack = ExitStack()
        self._count = brokers
        self.cluster = LiveCluster(folder, brokers, SETTINGS)

    def __enter__(self) -> Self:
        if not why_not():
            for number in range(1, self._count + 1):
                path = self._folder / f"broker-{number}" / "disk-a"
                disk = MountedDisk(path, megabytes=MEGABYTES)
                self.disks[number] = self._stack.enter_context(disk)
        self._stack.enter_context(self.cluster)
        return self

    def __exit__(self, *error: object) -> None:
        self.thaw()
        self._stack.__exit__(*error)  # type: ignore[arg-type]

    # Where

    def place(self, partition: TopicPartition) -> Place:
        """A broker near this partition: its leader, a follower, the controller, or any."""
        cluster, chance = self.cluster, self.random.random()
        with suppress(Exception):  # it cannot be asked now
            leader, isr = cluster.partitions(partition.topic)[partition.partition]
            followers = [it for it in isr if it != leader]
            if chance < 0.5 and leader > 0:
                return Place(partition, leader)
            if chance < 0.8 and followers:
                return Place(partition, self.random.choice(followers))
            if chance < 0.9:
                return Place(partition, cluster.controller())
        return Place(partition, self.random.choice(sorted(cluster.brokers)))

    def broker(self, number: int) -> ClusterBroker:
        """Its process."""
        return self.cluster.brokers[number]

    def log_files(self, place: Place) -> list[Path]:
        """The segments of a replica."""
        folder = self._folder / f"broker-{place.broker}"
        return sorted(folder.glob(f"*/{place.partition}/*.log"))

    def ask(self, conversation: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T | None:
        """What the cluster answers; None: it did not, or refused."""

        async def run() -> T:
            world = ClientDeps(SystemNetwork(), SystemClock())
            cluster = Cluster(world, addresses(self._awake), "pairs")
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await conversation(cluster)
            finally:
                cluster.close()

        try:
            return asyncio.run(run())
        except Exception as error:  # noqa: BLE001 - whatever the cluster is at
            self.refusal = f"{type(error).__name__}: {error}"
            return None

    @property
    def _awake(self) -> str:
        brokers = self.cluster.brokers.items()
        awake = [it.bootstrap for n, it in brokers if n not in self._down and not it.is_paused]
        return ",".join(awake or [self.cluster.bootstrap])

    # Processes and disks

    @property
    def running(self) -> dict[int, int]:
        """The process of each broker that was not ended."""
        brokers = self.cluster.brokers.items()
        return {number: it.pid for number, it in brokers if number not in self._down}

    def signal(self, number: int, what: signal.Signals) -> None:
        """Ends a broker, which is waited for when it is started again."""
        if number not in self._down:
            os.kill(self.broker(number).pid, what)
            self._down.add(number)

    def pause(self, number: int) -> None:
        """Unless it is down."""
        if number not in self._down:
            self.broker(number).pause()

    def resume(self, number: int) -> None:
        """Also one that was told to end meanwhile: now it can."""
        if self.broker(number).has_process:
            self.broker(number).resume()
        self.broker(number).is_paused = False

    def cut(self, number: int) -> None:
        """Unless it is down."""
        if number not in self._down:
            self.broker(number).cut()

    def end(self, number: int) -> None:
        """At once, and waits: nothing of it is at its disks any more."""
        self.thaw(number)
        self._down.add(number)
        self.broker(number).kill()

    def start_again(self) -> None:
        """All that are down, at once: waits for those that end by themselves."""
        down, self._down = sorted(self._down), set()
        for number in down:
            self.broker(number).await_end()
            self.broker(number).launch()
        for number in down:
            self.broker(number).await_start()

    def freeze(self, number: int) -> None:
        """Who writes to this disk waits; one that has failed cannot be frozen."""
        disk = self.disks[number]
        if number not in self._frozen and not disk.is_broken:
            disk.freeze()
            self._frozen.add(number)

    def thaw(self, *numbers: int) -> None:
        """These go on, or all."""
        for number in set(numbers or self._frozen) & self._frozen:
            with suppress(OSError):  # it has failed meanwhile
                self.disks[number].thaw()
            self._frozen.discard(number)
