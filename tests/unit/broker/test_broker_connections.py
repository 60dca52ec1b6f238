"""What a broker asks of others: at the versions of brokers, and nobody waits for another."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from odradek.broker.control.broker_connections import BrokerConnections
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.config.listeners import SecurityProtocol
from odradek.metadata.image import Changes
from odradek.metadata.nouns import Broker, Endpoint
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND
from odradek.peers.errors import ClosedByPeer, ConnectionRefused, NotConnected
from odradek.sim.stage.world import World
from odradek.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from tests.unit.peers.kafka_process import PORT, KafkaProcess

FIRST, SECOND_ONE, UNKNOWN = BrokerId(2), BrokerId(3), BrokerId(9)
LISTENER = "PLAINTEXT"
REQUEST = AllocateProducerIdsRequest(1, 5)


class Stage:
    """A broker that asks, and two that answer."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.processes = {FIRST: KafkaProcess(world, "b2"), SECOND_ONE: KafkaProcess(world, "b3")}
        for process in self.processes.values():
            process.answers[AllocateProducerIdsRequest] = _answer
        self.cluster = MetadataCache()
        self.machine = world.machine("b1")
        self.machine.start(_for_ever)
        changes = Changes(self.cluster.image)
        changes.brokers(
            Broker(it, (Endpoint(LISTENER, f"b{it}", PORT, SecurityProtocol.PLAINTEXT),))
            for it in (FIRST, SECOND_ONE)
        )
        self.cluster.update(changes.image())
        machine = self.machine
        self.brokers = BrokerConnections(self.cluster, machine.network, machine.clock, LISTENER)

    def ask(self, conversation: Coroutine[Any, Any, Any]) -> Any:
        """On the asking machine."""
        return self.world.ask("b1", conversation)


def _answer(request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(producer_id_start=request.broker_id)


async def _for_ever(machine: Any) -> None:
    await asyncio.get_running_loop().create_future()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A world with all three."""
    with World(2) as world:
        yield Stage(world)


def test_one_connection_serves_many_requests(stage: Stage) -> None:
    """At a fixed version: brokers do not negotiate."""

    async def conversation() -> None:
        for _ in range(2):
            await asyncio.gather(*(stage.brokers.ask(FIRST, REQUEST) for _ in range(3)))

    stage.ask(conversation())
    assert len(stage.processes[FIRST].links) == 1
    assert set(stage.processes[FIRST].versions) == {(67, 0)}


def test_a_broker_that_cannot_be_reached_holds_up_no_other(stage: Stage) -> None:
    """Connecting to a machine without power takes ten seconds to fail."""

    async def conversation() -> int:
        clock = stage.machine.clock
        stage.processes[FIRST].machine.cut_power()
        lost = asyncio.ensure_future(stage.brokers.ask(FIRST, REQUEST))
        await asyncio.sleep(0.01)
        began = clock.monotonic()
        await stage.brokers.ask(SECOND_ONE, REQUEST)
        took = clock.monotonic() - began
        lost.cancel()
        return took

    assert stage.ask(conversation()) < SECOND


def test_a_connection_that_ended_is_opened_by_the_next_request(stage: Stage) -> None:
    """What was under way has failed, and was sent once."""

    async def conversation() -> None:
        process = stage.processes[FIRST]
        await stage.brokers.ask(FIRST, REQUEST)
        process.mute = True
        asking = asyncio.ensure_future(stage.brokers.ask(FIRST, REQUEST))
        await asyncio.sleep(0.01)
        process.machine.kill()
        with pytest.raises(ClosedByPeer):
            await asking
        with pytest.raises(ConnectionRefused):
            await stage.brokers.ask(FIRST, REQUEST)
        process.mute = False
        process.start()
        await asyncio.sleep(0.01)
        await stage.brokers.ask(FIRST, REQUEST)

    stage.ask(conversation())
    assert len(stage.processes[FIRST].heard) == 3


def test_a_broker_without_an_address_is_refused_at_once(stage: Stage) -> None:
    """It is not registered, or has no listener for brokers."""

    async def conversation() -> None:
        with pytest.raises(NotConnected, match="broker 9"):
            await stage.brokers.ask(UNKNOWN, REQUEST)

    stage.ask(conversation())
