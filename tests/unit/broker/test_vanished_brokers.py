"""A broker hears that the process of another one has ended, before anybody has decided anything."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.vanished_brokers import DECISION_MS_MAX, VanishedBrokers
from odradek.config.listeners import SecurityProtocol
from odradek.metadata.image import ClusterImage
from odradek.metadata.nouns import Broker, Endpoint
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.peers.connection import Connection
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.unit.peers.kafka_process import PORT, KafkaProcess

OTHER = BrokerId(2)
PLAINTEXT = "PLAINTEXT"


class Stage:
    """A broker with a connection to another one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.process = KafkaProcess(world, "b2")
        self.process.answers[ApiVersionsRequest] = lambda _: ApiVersionsResponse()
        self.cluster = MetadataCache()
        self.cluster.me = BrokerId(1)
        self.vanished: VanishedBrokers
        world.machine("b1").start(self._live)
        world.run(millis=50)

    async def _live(self, machine: Machine) -> None:
        async with asyncio.TaskGroup() as tasks:
            doors = machine.network, machine.clock
            self.vanished = VanishedBrokers(self.cluster, doors, PLAINTEXT, tasks)
            self.cluster.watchers += [self.vanished.on_image]
            on_end = self.vanished.watch(OTHER, self.process.address)
            connection = Connection(machine.clock, self.process.address, "b1", on_end)
            await connection.open(machine.network)
            await asyncio.get_running_loop().create_future()

    def registers(self, life: int, port: int = PORT) -> None:
        """The controller tells of the other broker."""
        at = Endpoint(PLAINTEXT, self.process.address[0], port, SecurityProtocol.PLAINTEXT)
        broker = Broker(OTHER, (at,), epoch=BrokerEpoch(life))
        self.cluster.update(ClusterImage(brokers={OTHER: broker}))

    def hears_of_its_end(self) -> None:
        """By the connection on which it fetched."""

        async def hear() -> None:
            self.vanished.on_follower_gone(OTHER)

        _ = self.world.machine("b1").spawn(hear())

    def hang_up(self) -> None:
        """The process closes all connections, or its kernel does."""
        for link in tuple(self.process.links):
            link.stream.abort()

    def has_vanished(self, millis: int) -> bool:
        """So much later."""
        self.world.run(millis=millis)
        return OTHER in self.cluster.vanished


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A world with both."""
    with World(3) as world:
        yield Stage(world)


def test_a_process_that_only_closes_a_connection_is_there(stage: Stage) -> None:
    """It answers on the next one."""
    stage.hang_up()
    assert not stage.has_vanished(50)


def test_a_process_that_refuses_connections_is_gone(stage: Stage) -> None:
    """For as long as an election may take: without one it is the leader again."""
    stage.process.machine.kill()
    assert stage.has_vanished(50)
    assert stage.has_vanished(DECISION_MS_MAX - 100)
    assert not stage.has_vanished(100)


def test_a_dying_process_may_still_take_connections(stage: Stage) -> None:
    """Its kernel closes what it had open one by one: it is asked until it answers, or refuses."""

    def dies(_: Any) -> ApiVersionsResponse:
        stage.process.mute = True
        stage.hang_up()
        return ApiVersionsResponse()

    stage.process.answers[ApiVersionsRequest] = dies
    stage.hang_up()
    assert stage.has_vanished(60)
    stage.process.machine.kill()
    assert stage.has_vanished(60)


def test_a_process_that_says_nothing_is_believed_for_a_moment_only(stage: Stage) -> None:
    """It may hang; nobody can have elected another leader by then."""
    stage.process.mute = True
    stage.hang_up()
    assert stage.has_vanished(50)
    assert not stage.has_vanished(DECISION_MS_MAX)


def test_a_second_death_is_waited_for_as_long_as_the_first(stage: Stage) -> None:
    """It was back and led again in between: what the first death began does not end the second."""
    stage.registers(1)
    stage.process.machine.kill()
    assert stage.has_vanished(50)
    stage.registers(2)
    assert not stage.has_vanished(250)
    stage.hears_of_its_end()
    assert stage.has_vanished(DECISION_MS_MAX - 50)
    assert not stage.has_vanished(100)


def test_the_end_of_a_connection_to_an_address_of_before_says_nothing(stage: Stage) -> None:
    """It is registered at another one by now, where nobody has hung up."""
    stage.registers(1, PORT + 1)
    stage.process.machine.kill()
    assert not stage.has_vanished(50)


def test_a_connection_that_takes_long_is_within_the_bound(stage: Stage) -> None:
    """The answer on it has the time that is left."""
    there, here = (stage.world.machine(name).host for name in ("b2", "b1"))
    stage.world.wires.link(here, there).delay = (400_000, 400_000)
    stage.process.mute = True
    stage.hang_up()
    assert stage.has_vanished(DECISION_MS_MAX - 50)
    assert not stage.has_vanished(100)


def test_a_process_that_closes_every_connection_is_asked_ever_more_slowly(stage: Stage) -> None:
    """It lives and has no room for more, perhaps; each question costs it another connection."""

    def closes(_: Any) -> ApiVersionsResponse:
        stage.process.mute = True
        stage.hang_up()
        return ApiVersionsResponse()

    stage.process.answers[ApiVersionsRequest] = closes
    stage.hang_up()
    assert stage.has_vanished(DECISION_MS_MAX - 50)
    assert len(stage.process.heard) < 10
    assert not stage.has_vanished(100)
