"""The broker's session with ZooKeeper: who is told when it ends, and what follows."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from structlog.testing import capture_logs

from odradek.broker.control.broker_session import ALL_PATHS, BrokerSession
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.broker import Layers, read
from odradek.config.findings import Given
from odradek.config.listeners import SecurityProtocol
from odradek.metadata.nouns import Broker, BrokerMark, Endpoint
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.ports import Journal
from odradek.sim.stage.clients import Keeper
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ADDRESS, ZOOKEEPER, ZooKeeperMachine

ME = BrokerId(1)
PATH = BrokerZnode.path(ME)


def _no_journal() -> Journal:
    raise AssertionError("ZooKeeper runs elsewhere")


class SessionStage:
    """One broker of which there is nothing but its session, beside a ZooKeeper."""

    def __init__(self) -> None:
        self.world = World(1)
        self.told: list[str] = []
        self.cluster = MetadataCache()
        self.session: BrokerSession

    @contextmanager
    def lives(self) -> Iterator["SessionStage"]:
        """Everything runs."""
        with self.world:
            self.zookeeper = ZooKeeperMachine(self.world)
            self.zookeeper.start()
            self.keeper = Keeper(self.world, "operator", ADDRESS)
            self.world.machine("broker").start(self._live)
            self.run(2)
            yield self

    async def _live(self, machine: Machine) -> None:
        said = {"broker.id": str(ME), "zookeeper.connect": "zookeeper:2181"}
        config, _ = read(Layers(static={key: Given(it, "here") for key, it in said.items()}))
        doors = Doors(machine.clock, machine.random, machine.network, (), "here", _no_journal)
        self.cluster.me = ME
        self.session = session = BrokerSession(
            "zookeeper:2181", doors, Settings(config), self.cluster, is_given_up=lambda: False
        )
        session.on_session_over.append(lambda: self.told.append(f"over, {self.is_there()}"))
        session.on_tree_changed.append(self._on_tree_changed)
        at = Endpoint("PLAINTEXT", "broker", 9_092, SecurityProtocol.PLAINTEXT)
        async with asyncio.TaskGroup() as tasks:
            await session.connect(tasks)
            await session.register(Broker(ME, (at,), mark=BrokerMark("here", ())))
            tasks.create_task(session.listen())

    def _on_tree_changed(self, paths: frozenset[str]) -> None:
        if ALL_PATHS in paths:
            self.told.append("look at everything")

    def is_there(self) -> str:
        """Whether it is registered, as the server has it."""
        assert self.zookeeper.server is not None
        nodes = self.zookeeper.server.core.database.tree.nodes
        return "registered" if PATH in nodes else "gone"

    def run(self, seconds: float) -> None:
        """Time passes."""
        self.world.run(seconds=seconds)

    def owner(self) -> Any:
        """The session that holds the registration, if there is one."""
        found = self.keeper.does(self.keeper.zookeeper.exists(PATH))
        return None if found is None else found.ephemeral_owner


def test_an_expired_session_is_told_before_this_broker_registers_again() -> None:
    """What rested on it, the controllership above all, ends first; then everything is read anew."""
    with SessionStage().lives() as t:
        first, epoch = t.session.client.session_id, t.cluster.broker_epoch
        assert t.owner() == first
        t.told.clear()
        t.zookeeper.expire(first)
        t.run(2)
        assert t.told[0] == "over, gone"
        assert set(t.told[1:]) == {"look at everything"}
        assert t.session.client.session_id != first
        assert t.owner() == t.session.client.session_id
        assert t.cluster.broker_epoch > epoch


def test_a_connection_that_was_lost_ends_nothing() -> None:
    """The session lives: everything is read anew, and the registration is what it was.

    The log says it, although nothing was asked at that moment.
    """
    with SessionStage().lives() as t, capture_logs() as events:
        first, epoch = t.session.client.session_id, t.cluster.broker_epoch
        t.told.clear()
        t.world.wires.break_connections(t.world.machine("broker").host)
        t.run(2)
        assert set(t.told) == {"look at everything"}
        assert (t.owner(), t.cluster.broker_epoch) == (first, epoch)
        assert [it["event"] for it in events].count("zookeeper.interrupted") == 1


def test_a_registration_that_was_deleted_is_made_again() -> None:
    """The controller may have taken a living process for dead."""
    with SessionStage().lives() as t:
        epoch = t.cluster.broker_epoch
        t.keeper.does(t.keeper.zookeeper.delete(PATH))
        t.run(2)
        assert t.owner() == t.session.client.session_id
        assert t.cluster.broker_epoch > epoch


def test_a_registration_whose_answer_was_lost_begins_a_life() -> None:
    """Else this broker would name its former life for ever, and be refused by the controller."""
    with SessionStage().lives() as t:
        epoch = t.cluster.broker_epoch
        server, broker = t.world.machine(ZOOKEEPER).host, t.world.machine("broker").host
        answers = t.world.wires.link(server, broker)
        answers.delay = (50_000, 50_000)
        t.keeper.does(t.keeper.zookeeper.delete(PATH))
        while t.is_there() == "gone":
            t.world.run(millis=5)
        t.world.wires.break_connections(broker)
        answers.quicken()
        assert t.cluster.broker_epoch == epoch
        t.run(2)
        found = t.keeper.does(t.keeper.zookeeper.exists(PATH))
        assert found is not None
        assert t.cluster.broker_epoch == found.czxid > epoch


def test_a_broker_that_shuts_down_does_not_register_again() -> None:
    """Its leaderships were handed over: clients shall not find it once more."""
    with SessionStage().lives() as t:
        t.session.stop_registering()
        t.keeper.does(t.keeper.zookeeper.delete(PATH))
        t.run(2)
        assert t.owner() is None
