"""What many partitions cost the broker's loop: leaderships, one changed setting, one changed state.

Bars: LeaderAndIsr for 10,000 leaders of existing logs on two disks of which a sync takes 1 ms: 1 s
and 20 syncs; one changed broker setting with 1,000 logs: 10 ms; one partition's change in a topic
of 10,000: 0.1 ms in the image, taken from an UpdateMetadata request.
"""

import asyncio
import logging
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import structlog
from log_world import folder

sys.path.insert(0, str(Path(__file__).parent.parent))  # the ground of the unit tests

from odradek.broker.control.identity import sign_dirs, take_dirs
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.controlled import update_metadata
from odradek.broker.doors import Dir, Doors
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.settings import Settings
from odradek.broker.slices import at_once
from odradek.config.broker import Layers, read
from odradek.config.findings import Given
from odradek.memory import begin_start
from odradek.metadata.znodes.settings import DEFAULT_ENTITY, Entity, EntityType
from odradek.model.ids import TopicPartition
from odradek.model.positions import BrokerEpoch
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.disk import SystemDisk
from odradek.runtime.doors.worker import ThreadWorker
from tests.unit.broker.ground import ME, Proposals, word
from tests.unit.peers.control_requests import metadata

LEADERS = 10_000
LOGS = 1_000
ROUNDS = 5
CHANGES = 500
SYNC_SECONDS = 0.001


class CountedDisk(SystemDisk):
    """Each sync takes its time, and is counted, once `is_slow`."""

    syncs = 0
    is_slow = False

    def open(self, path: str, *, create: bool = False) -> Any:
        """Its syncs count, too."""
        file = super().open(path, create=create)
        return _CountedFile(file) if type(self).is_slow else file

    def sync_directory(self, path: str) -> None:
        """The names in it."""
        if wait():
            super().sync_directory(path)


class _CountedFile:
    """A file of such a disk."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def sync(self) -> None:
        """Its bytes."""
        wait()
        self._file.sync()


def wait() -> bool:
    """As a good disk does; before it counts, nothing is synced at all."""
    if CountedDisk.is_slow:
        CountedDisk.syncs += 1
        sleep(SYNC_SECONDS)
    return CountedDisk.is_slow


async def with_logs(count: int, talk: Any) -> None:
    """A replica manager on two disks that leads so many partitions."""
    with folder() as one, folder() as other:
        config, _ = read(Layers(static={"log.dirs": Given(f"{one},{other}", "here")}))
        settings = Settings(config)
        disks = [CountedDisk(str(path)) for path in (one, other)]
        dirs = tuple(Dir(disk, ThreadWorker(disk.name), ThreadWorker(disk.name)) for disk in disks)
        nothing: Any = None
        doors = Doors(SystemClock(), SystemRandom(), nothing, dirs, "here", nothing)
        found = await take_dirs(doors)
        await sign_dirs(doors, found, ME, "cluster")
        async with asyncio.TaskGroup() as tasks:
            replicas = ReplicaManager(
                ME, doors, settings, dirs=found, tasks=tasks, isr_changes=Proposals()
            )
            await replicas.open()
            all_are_led = asyncio.Event()
            left = iter(range(count - 1))
            replicas.roles.on_elected.append(
                lambda _: next(left, None) is None and all_are_led.set()
            )
            partitions = [TopicPartition(f"topic-{it % LOGS}", it // LOGS) for it in range(count)]
            await replicas.apply_leader_and_isr([word(it) for it in partitions])
            await all_are_led.wait()  # the answer does not wait for as many as these
            begin_start()
            CountedDisk.is_slow = True
            await talk(replicas, settings, partitions)
            CountedDisk.is_slow = False
            await replicas.close(BrokerEpoch(7))


async def leaderships(
    replicas: ReplicaManager, _: Settings, partitions: Sequence[TopicPartition]
) -> None:
    """Each round is a newer leader epoch of all, then the checkpoints of all."""
    times, counts = [], []
    for epoch in range(1, ROUNDS + 1):
        CountedDisk.syncs, started = 0, perf_counter()
        assert not await replicas.apply_leader_and_isr([word(it, epoch=epoch) for it in partitions])
        assert all(led.leader_epoch == epoch for led in replicas.all_led())
        times.append(perf_counter() - started)
        for log_dir in replicas.dirs.online:
            log_dir.checkpoint().run()
        counts.append(CountedDisk.syncs)
    print(f"LeaderAndIsr for {LEADERS} leaders: {spread(times, 1)} s, at most {max(counts)} syncs")


async def settings_changed(
    replicas: ReplicaManager, settings: Settings, _: Sequence[TopicPartition]
) -> None:
    """As a broker acts on it."""
    settings.broker_watchers.append(lambda _: replicas.on_topic_settings(None))
    entity = Entity(EntityType.BROKERS, DEFAULT_ENTITY)
    times = []
    for number in range(ROUNDS * 4):
        started = perf_counter()
        settings.on_entity(entity, {"log.retention.ms": str(60_000 + number)})
        times.append(perf_counter() - started)
    print(f"one changed broker setting with {LOGS} logs: {spread(times, 1_000)} ms")


def state_changed() -> None:
    """Of one partition in a topic of 10,000."""
    cluster = MetadataCache()
    at_once(update_metadata.apply(cluster, metadata(*range(LEADERS))))
    times = []
    for number in range(CHANGES):
        request = metadata(number * 17 % LEADERS, leader=2)
        started = perf_counter()
        at_once(update_metadata.apply(cluster, request))
        times.append(perf_counter() - started)
    print(f"one partition's change in a topic of {LEADERS}: {spread(times, 1_000)} ms")


def spread(times: list[float], scale: int) -> str:
    """The middle, and both ends."""
    ends = (statistics.median(times), min(times), max(times))
    return "median {:.3f}, min {:.3f}, max {:.3f}".format(*(it * scale for it in ends))


def main() -> None:
    """All three."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(with_logs(LEADERS, leaderships))
    asyncio.run(with_logs(LOGS, settings_changed))
    state_changed()


if __name__ == "__main__":
    main()
