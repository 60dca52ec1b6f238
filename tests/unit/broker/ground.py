"""A broker's log dirs on simulated disks, with the parts above them left to the test."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self

from odradek.broker.control.identity import sign_dirs, take_dirs
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Dir, Doors
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import (
    EPOCH_DURING_DELETION,
    LeaderAndIsrState,
    StopState,
)
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.config.broker import BrokerConfig, Layers, read
from odradek.config.findings import Given
from odradek.config.topic import TopicConfig
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset, PartitionEpoch
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.replication.isr import IsrProposal
from odradek.replication.leadership import Leadership
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.lending import looking_on
from odradek.sim.doors.loop import SECOND
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

ME = BrokerId(1)
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = TopicId(bytes(range(16)))
GONE = StopState(EPOCH_DURING_DELETION, delete=True)


class PlainSettings:
    """The defaults, and what a test says of its topics."""

    def __init__(self, topics: dict[str, dict[str, str]], broker: dict[str, str]) -> None:
        layers = Layers(static={name: Given(it, "here") for name, it in broker.items()})
        self.broker: BrokerConfig = read(layers)[0]
        self.topics = topics

    def topic(self, name: str) -> TopicConfig:
        """With the test's own settings."""
        return self.broker.topic_defaults.checked(self.topics.get(name, {}))


def word(
    partition: TopicPartition = ORDERS, *, epoch: int = 0, leader: BrokerId | None = ME
) -> LeaderAndIsrState:
    """The controller's, on a partition with one replica."""
    leadership = Leadership(LeaderEpoch(epoch), PartitionEpoch(epoch), (ME,), (ME,))
    return LeaderAndIsrState(partition, TOPIC_ID, leader, leadership, is_new=not epoch)


def batch_of(*values: str, producer_id: int = -1, base_sequence: int = -1) -> bytearray:
    """A batch as a producer sends it."""
    return build_batch(
        [Record(at, 1_700_000_000_000, None, value.encode()) for at, value in enumerate(values)],
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=base_sequence,
    )


Talk = Callable[[ReplicaManager], Coroutine[Any, Any, None]]


class Proposals:
    """Keeps what leaders propose; no controller answers."""

    def __init__(self) -> None:
        self.made: list[IsrProposal] = []

    def propose(self, replica: LeadingReplica, proposal: IsrProposal) -> None:
        """One more."""
        self.made.append(proposal)


class Ground:
    """One machine with two log dirs, through several lives."""

    def __init__(self, broker: dict[str, str] | None = None, **topics: dict[str, str]) -> None:
        self.settings = PlainSettings(topics, broker or {})
        self.cluster = MetadataCache()
        self.cluster.me, self.cluster.is_whole = ME, True
        self.proposals = Proposals()
        self.world = World(1)
        self.machine = self.world.machine("broker")

    def __enter__(self) -> Self:
        self.world.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.world.__exit__(None, None, None)

    def live(self, talk: Talk, *, cleanly: bool = True) -> None:
        """One life: opens the dirs, talks, and closes them or loses power."""
        ended: list[bool] = []

        async def main(machine: Machine) -> None:
            doors = self.doors(machine)
            dirs = await take_dirs(doors)
            await sign_dirs(doors, dirs, ME, "cluster")
            async with asyncio.TaskGroup() as tasks:
                replicas = ReplicaManager(
                    self.cluster,
                    doors,
                    self.settings,
                    dirs=dirs,
                    tasks=tasks,
                    isr_changes=self.proposals,
                )
                await replicas.open()
                await talk(replicas)
                if cleanly:
                    await replicas.close(BrokerEpoch(7))
            ended.append(True)

        self.machine.start(main)
        self.world.run(seconds=30)
        assert ended, "the talk did not come to its end"
        if not cleanly:
            self.machine.cut_power()

    def doors(self, machine: Machine) -> Doors:
        """Of this life."""
        workers = {
            name: SimulatedWorker(faults=machine.disk(name).faults) for name in ("disk-a", "disk-b")
        }
        dirs = tuple(
            Dir(machine.disk(name), worker, SimulatedWorker(worker))
            for name, worker in workers.items()
        )
        return Doors(machine.clock, machine.random, machine.network, dirs, "broker", _no_journal)


def _no_journal() -> Any:
    raise AssertionError("there is no ZooKeeper here")


def pausing(machine: Machine, *calls: str, path: str = "*", skip: int = 0) -> list[Fault]:
    """The next job that makes such a call stops there for a second, on either disk."""
    rows = [Fault(0, frozenset(calls), path, skip=skip, times=1, pause=SECOND) for _ in ("a", "b")]
    for name, row in zip(("disk-a", "disk-b"), rows, strict=True):
        machine.disk(name).faults.rows.append(row)
    return rows


async def until(condition: Callable[[], bool]) -> None:
    """Turn by turn, up to a bound."""
    for _ in range(10_000):
        with looking_on():
            if condition():
                return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


class Appender:
    """Appends in the order of its calls, and remembers what it was told."""

    def __init__(self, led: LeadingReplica) -> None:
        self.led = led
        self.told: list[Offset | ErrorCode] = []

    def append(self, batch: bytearray) -> None:
        """Told later."""
        self.led.append_own(batch, self._done)

    def _done(self, outcome: Offset | BrokerError) -> None:
        self.told.append(outcome.code if isinstance(outcome, BrokerError) else outcome)
