"""Three brokers and one topic of very many partitions: what is done for each is done for all.

Brokers and ZooKeeper are killed, lose power, stand still and are cut off, as in `cluster`; here the
promises are few and cheap, so that the number can be large: every record that was acknowledged is
read where it was put, and soon after the last fault each partition leads, and all are in sync.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Final

from odradek.controller.decisions import elections
from odradek.sim.disk_misfortunes import SlowDisk
from odradek.sim.faults import (
    BrokenConnections,
    Cut,
    Fault,
    Kill,
    LostReplies,
    Pause,
    PowerCut,
    SlowLinks,
)
from odradek.sim.invariants import Invariant
from odradek.sim.simulation import Knob
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.sim.worlds.broker.clients import DURABLE, SEGMENT, Clients, Topic, Users, durably
from odradek.sim.worlds.broker.insides import RequestsAreUnderstood
from odradek.sim.worlds.broker.promises import AcknowledgedRecordsSurvive, ClientsAreToldOneStory
from odradek.sim.worlds.cluster.misfortunes.faults import ControlledShutdown, ExpiredSessions
from odradek.sim.worlds.cluster.promises.progress import without_leader
from odradek.sim.worlds.cluster.promises.settled import unsettled
from odradek.sim.worlds.cluster.view import ClusterView
from odradek.sim.worlds.three_brokers import BOOTSTRAP, BROKERS, CLIENTS, ThreeBrokers

PRODUCERS: Final = 6
PROGRESS_SECONDS: Final = 40
RECOVERY_SECONDS: Final = 70
SETTINGS: Final[Mapping[str, str]] = {
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "log.retention.ms": "-1",
    "replica.lag.time.max.ms": "4000",
    "controlled.shutdown.retry.backoff.ms": "200",
    "leader.imbalance.check.interval.seconds": "10",
}


_writes = elections._writes  # noqa: SLF001 - of the product, for a mistake


def _only_the_first(*args: Any) -> Any:
    """Of the partitions that something happens to, a hundred; the others are forgotten."""
    context, partitions, rule = args
    first = list(islice(partitions, 100))
    for _ in partitions:
        pass
    return (yield from _writes(context, iter(first), rule))


MISTAKES: Final[Mapping[str, Knob]] = {
    "the-rest-is-forgotten": Knob(elections, "_writes", _only_the_first),
}


class ProducersAndReader(Clients):
    """No groups, and no administrator of topics."""

    async def run(self) -> None:
        """For ever."""
        (topic,) = self._users.topics
        async with asyncio.TaskGroup() as tasks:
            for number in range(topic.producers):
                produce = partial(self._produce, topic)
                tasks.create_task(self._live(f"producer-{number}", produce))
            tasks.create_task(self._live("reader", self._read))


class ThousandPartitions(ThreeBrokers):
    """The kind; `partitions` says how many."""

    name: ClassVar = "thousand-partitions"
    settings: ClassVar = SETTINGS
    partitions: ClassVar = 1_000
    fault_seconds: ClassVar = 40
    healing_seconds: ClassVar = 2
    floors: ClassVar = {"client.acked": 100, "client.end": 100}
    floors_under_faults: ClassVar = {"client.acked": 20}
    controls: ClassVar = tuple(MISTAKES)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        settings = {"flush.before.ack": "true", **SEGMENT}
        topic = Topic(DURABLE, self.partitions, settings, durably, PRODUCERS, len(BROKERS))
        users = Users(BOOTSTRAP, (topic,))
        self._users = ProducersAndReader(world, self.clients, users)
        self._view = ClusterView(self.zookeeper, self.brokers)

    def is_warm(self) -> bool:
        """Somebody has used it."""
        return bool(self.world.history.counts["client.acked"])

    def faults(self) -> Sequence[Fault]:
        """What moves leaders and controllers."""
        names = [broker.machine.name for broker in self.brokers.values()]
        brokers, servers = (self.world, names), (self.world, [ZOOKEEPER, *names])
        everybody = (self.world, [ZOOKEEPER, *names, CLIENTS])
        return (
            PowerCut(*servers),
            Kill(*servers),
            Pause(*servers),
            Cut(*everybody),
            BrokenConnections(*everybody),
            LostReplies(*everybody),
            SlowLinks(*everybody),
            SlowDisk(*brokers),
            ControlledShutdown(self.world, list(self.brokers.values())),
            ExpiredSessions(self.world, self.zookeeper),
        )

    def invariants(self) -> Sequence[Invariant]:
        """What clients are told; that all agree is asked in the end."""
        return (AcknowledgedRecordsSurvive(), ClientsAreToldOneStory(), RequestsAreUnderstood())

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return [MISTAKES[self.control]] if self.control else []

    def recover(self) -> str:
        """Each partition leads, then all agree, and everything can be read."""
        return (
            self._stays(without_leader, PROGRESS_SECONDS)
            or self._stays(unsettled, RECOVERY_SECONDS)
            or self._audit()
        )

    def _stays(self, complaint: Callable[[ClusterView], str], seconds: int) -> str:
        for _ in range(seconds):
            if not complaint(self._view):
                return ""
            self.world.run(seconds=1)
        found = complaint(self._view)
        return f"{seconds} seconds later {found}" if found else ""

    def _audit(self) -> str:
        self.world.ask(CLIENTS, self._users.audit())
        return ""

    async def use(self, machine: Machine) -> None:
        """Produces and reads."""
        del machine
        await self._users.run()


KIND: Final = ThousandPartitions
