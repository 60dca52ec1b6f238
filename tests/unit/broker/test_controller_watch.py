"""Every broker notices at once that the controller's process has died."""

from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.control.controller_watch import ControllerWatch, OnProcess
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.config.listeners import SecurityProtocol
from odradek.metadata.image import Changes
from odradek.metadata.nouns import Broker, Endpoint
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.sim.stage.world import World
from tests.unit.peers.kafka_process import PORT, KafkaProcess

ME, FIRST, SECOND = BrokerId(1), BrokerId(2), BrokerId(3)
LISTENER = "PLAINTEXT"


class Stage:
    """A broker that watches, and two that can be controllers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.processes = {FIRST: KafkaProcess(world, "b2"), SECOND: KafkaProcess(world, "b3")}
        self.gone: list[tuple[Millis, BrokerId]] = []
        self.there: list[BrokerId] = []
        self.cluster = MetadataCache()
        self.cluster.me = ME
        self.machine = world.machine("b1")
        self.machine.start(self._live)
        self.run(10)

    async def _live(self, machine: Any) -> None:
        def gone(broker: BrokerId) -> None:
            self.gone.append((machine.clock.monotonic(), broker))

        doors = machine.network, machine.clock
        on_process = OnProcess(gone, self.there.append)
        watch = ControllerWatch(self.cluster, doors, LISTENER, on_process)
        self.cluster.watchers += [watch.on_image]
        await watch.run()

    def run(self, millis: int) -> None:
        """Time passes."""
        self.world.run(millis=millis)

    def told(self, controller: BrokerId, *, port: int = PORT) -> None:
        """By UpdateMetadata."""
        changes = Changes(self.cluster.image)
        changes.brokers(
            Broker(it, (Endpoint(LISTENER, f"b{it}", port, SecurityProtocol.PLAINTEXT),))
            for it in (ME, FIRST, SECOND)
        )
        changes.controller(controller)
        self.cluster.update(changes.image())
        self.run(50)

    def connections(self) -> list[int]:
        """To each of the two."""
        return [len(it.links) for it in self.processes.values()]


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A world with all three."""
    with World(5) as world:
        yield Stage(world)


def test_the_controllers_death_is_told_at_once_and_once(stage: Stage) -> None:
    """Its kernel closes our connection, and refuses the next."""
    stage.told(FIRST)
    stage.run(2_000)
    died = stage.machine.clock.monotonic()
    stage.processes[FIRST].machine.kill()
    stage.run(3_000)
    ((when, broker),) = stage.gone
    assert broker == FIRST
    assert when - died < 50


def test_its_next_life_is_noticed(stage: Stage) -> None:
    """It is tried after its end: from then on it is waited for again."""
    stage.told(FIRST)
    stage.processes[FIRST].machine.kill()
    stage.run(1_000)
    stage.there.clear()
    stage.processes[FIRST].start()
    stage.run(500)
    assert stage.there == [FIRST]


def test_a_silent_controller_is_left_to_zookeeper(stage: Stage) -> None:
    """Its machine lost its power, or the network is cut: it may live."""
    stage.told(FIRST)
    stage.processes[FIRST].machine.cut_power()
    stage.run(60_000)
    assert stage.gone == []


def test_whoever_is_the_controller_is_watched(stage: Stage) -> None:
    """The last one no more; nobody watches himself."""
    assert stage.connections() == [0, 0]
    stage.told(FIRST)
    assert stage.connections() == [1, 0]
    stage.told(SECOND)
    assert stage.connections() == [0, 1]
    stage.told(ME)
    assert stage.connections() == [0, 0]
    stage.processes[FIRST].machine.kill()
    stage.processes[SECOND].machine.kill()
    stage.run(1_000)
    assert stage.gone == []


def test_other_news_leave_the_connection_alone(stage: Stage) -> None:
    """An image changes often; a new address of the controller is another connection."""
    stage.told(FIRST)
    (link,) = stage.processes[FIRST].links
    stage.told(FIRST)
    assert stage.processes[FIRST].links == [link]
    stage.told(FIRST, port=PORT + 1)
    assert stage.connections() == [0, 0]
    stage.told(FIRST)
    assert stage.connections() == [1, 0]


def test_a_controller_that_cannot_be_reached_yet_is_not_dead(stage: Stage) -> None:
    """Nothing was connected that could have ended."""
    stage.processes[FIRST].machine.kill()
    stage.told(FIRST)
    stage.run(2_000)
    assert stage.gone == []
    stage.processes[FIRST].start()
    stage.run(500)
    assert stage.connections() == [1, 0]
