"""A group coordinator on the simulated log dirs of `ground`, and clients that ask it.

One partition of `__consumer_offsets` is led; what a controller would say is said by the test.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.coordinators.group_coordinator import GroupCoordinator
from odradek.broker.coordinators.record_topics import CoordinatorDeps
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.network.refused_batches import RefusedBatches
from odradek.broker.network.session import Session
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.timers import Timers
from odradek.coordinator.groups.requests import FetchOffsets
from odradek.metadata.image import Changes, PartitionImage
from odradek.metadata.nouns import Assignment, PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.positions import ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.model.units import Micros, Millis
from odradek.security.principal import ANONYMOUS
from odradek.sim.stage.machine import Machine
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.unit.broker.ground import ME, Ground, word

PLACE = TopicPartition(GROUP_METADATA_TOPIC, 0)
GROUP = "readers"
API = Api(8, range(10), lambda *_: None, lambda *_: OffsetCommitResponse(), ())


class Visitor:
    """A connection as handlers see it."""

    listener = "PLAINTEXT"
    software = ("", "")
    peer = ("10.0.0.9", 41_000)
    local = ("10.0.0.1", 9_092)
    is_over = False
    principal = ANONYMOUS
    session: Session | None = None
    at_end: Callable[[], None] | None = None

    @cached_property
    def refused(self) -> RefusedBatches:
        """None yet."""
        return RefusedBatches()

    def close(self) -> None:
        """Not from here."""
        raise AssertionError

    def answered(self, pending: PendingRequest) -> None:
        """Answers are taken before they are put on a wire."""

    def waits(self, pending: PendingRequest) -> None:
        """Nobody looks at the clock."""

    def hang_up(self, reason: str) -> None:
        """Not from here."""
        raise AssertionError(reason)

    def hold(self) -> None:
        """There is no other request."""

    def release(self) -> None:
        """There is no other request."""

    def note_bug(self, api: str, error: Exception) -> None:
        """A test is not served by a dispatcher."""
        raise AssertionError(api) from error


class Known(MetadataCache):
    """The cluster as the test says."""

    def __init__(self, **topics: int) -> None:
        super().__init__()
        self.me = ME
        for name, partitions in topics.items():
            self.add(name, partitions)

    def add(self, name: str, partitions: int, life: int = 0) -> None:
        """A topic; another life is another id."""
        images = {number: PartitionImage(Assignment((ME,))) for number in range(partitions)}
        topic_id = TopicId(bytes([life]) + name.encode().ljust(15)[:15])
        self.update(Changes(self.image).topic(name, topic_id, images).image())

    def lead(self, name: str, *leaders: BrokerId | None) -> None:
        """The topic's partitions, in order, are led by these."""
        states = {
            number: PartitionImage(
                Assignment((ME,)),
                PartitionState(
                    leader, LeaderEpoch(0), (ME,), PartitionEpoch(0), ControllerEpoch(1)
                ),
            )
            for number, leader in enumerate(leaders)
        }
        self.update(Changes(self.image).topic(name, TopicId(b"t" * 16), states).image())

    def remove(self, name: str) -> None:
        """It is deleted."""
        self.update(Changes(self.image).remove_topic(name).image())


class Desk:
    """Asks, and remembers what was answered."""

    def __init__(
        self, machine: Machine, replicas: ReplicaManager, known: Known, ground: Ground
    ) -> None:
        self.machine = machine
        self.replicas = replicas
        self.known = known
        self.ground = ground
        self.groups: GroupCoordinator
        self.may_answer = True
        self.timers = Timers(machine.clock)

    async def elect(self, isr: tuple[int, ...] = ()) -> LeadingReplica:
        """It is led from now on, and loading has begun. With an ISR, there are two copies."""
        said = word(PLACE)
        if isr:
            members = tuple(map(BrokerId, isr))
            leadership = said.leadership._replace(replicas=(ME, BrokerId(2)), isr=members)
            said = said._replace(leadership=leadership)
        assert not await self.replicas.apply_leader_and_isr([said])
        return self.replicas.led(PLACE)

    async def active(self) -> LeadingReplica:
        """It is led, and all was loaded."""
        led = await self.elect()
        while self.groups.list_groups((), ())[1]:
            await self.seconds(0.001)
        return led

    async def seconds(self, seconds: float) -> None:
        """Time passes."""
        clock = self.machine.clock
        await clock.sleep_until(Millis(clock.monotonic() + int(seconds * 1_000)))

    def ask(self, *requests: Any, version: int = 8) -> "Asked":
        """Each request is about the group that it names."""
        asked = Asked(version)
        parts = [(request.group_id, request) for request in requests]
        self.groups.ask(asked.pending, parts, asked.tell)
        return asked

    async def commit(self, offset: int, topic: str = "orders", partitions: int = 1) -> ErrorCode:
        """What the first partition was answered."""
        (response,) = await self.ask(commit(offset, topic, partitions)).answers()
        return ErrorCode(response.topics[0].partitions[0].error_code)

    async def fetch(self, group: str = GROUP) -> dict[str, int] | ErrorCode:
        """The offsets of all partitions."""
        (found,) = await self.ask(FetchOffsets(group, None)).answers()
        if found.error_code:
            return ErrorCode(found.error_code)
        return {
            f"{topic.name}-{one.partition_index}": one.committed_offset
            for topic in found.topics
            for one in topic.partitions
        }


class Asked:
    """One request of a client that may go away."""

    def __init__(self, version: int = 8) -> None:
        self.pending = PendingRequest(
            Visitor(), 8, version, 1, "app", bytearray(), Micros(0), Micros(0)
        )
        self.told: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()

    def tell(self, answers: list[Any]) -> None:
        """Once."""
        self.told.set_result(answers)

    async def answers(self) -> list[Any]:
        """To each part."""
        return await self.told

    def go_away(self) -> None:
        """The connection ends."""
        gone = self.pending.on_gone
        assert gone is not None, "nobody would hear of it"
        gone()


def commit(
    offset: int, topic: str = "orders", partitions: int = 1, group: str = GROUP
) -> OffsetCommitRequest:
    """Of a simple consumer."""
    every = [OffsetCommitRequestPartition(number, offset) for number in range(partitions)]
    return OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, partitions=every)])


Talk = Callable[[Desk], Coroutine[Any, Any, None]]


def live(ground: Ground, talk: Talk, known: Known | None = None, *, cleanly: bool = True) -> None:
    """One life of a broker with a group coordinator."""

    async def main(replicas: ReplicaManager) -> None:
        machine, cluster = ground.machine, known or Known(orders=4, **{GROUP_METADATA_TOPIC: 1})
        desk = Desk(machine, replicas, cluster, ground)
        async with asyncio.TaskGroup() as tasks:
            deps = CoordinatorDeps(
                machine.clock, desk.timers, tasks, replicas, lambda: desk.may_answer
            )
            desk.groups = GroupCoordinator(ground.settings, cluster, machine.random, deps)
            cluster.watchers += [desk.groups.on_image]
            replicas.roles.on_elected += [desk.groups.on_elected]
            replicas.roles.on_resigned += [desk.groups.on_resigned]
            await talk(desk)
            desk.groups.close()

    ground.live(main, cleanly=cleanly)
