"""A server that goes and comes again: what a client had, it has; what is over, it hears."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.zookeeper.client.session import WatchEvent
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import AddWatchMode, CreateMode, EventType
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Connect, Create2
from tests.compat.zookeeper_arena import Arena, on_a_loop, raw
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.zookeeper import RealZookeeper


class Restarts:
    """One conversation, with a server that the test may stop and start."""

    @on_a_loop
    async def test_sessions_and_watches_live_on(
        self, arena: Arena, restart: Callable[[], None]
    ) -> None:
        """Of each kind of watch; and who does not come back is declared dead all the same."""
        async with arena.ours() as a, raw(arena.address) as silent:
            await silent.greet(Connect(0, 3_000))
            gone = Create2(f"{arena.root}/gone", b"", OPEN_ACL, CreateMode.EPHEMERAL)
            await silent.ask(1, gone)
            await a.create("/mine", mode=CreateMode.EPHEMERAL)
            for path in ("/data", "/list", "/tree", "/one"):
                await a.create(path)
            await a.get("/data", watch=True)
            await a.children("/list", watch=True)
            await a.exists("/gone", watch=True)
            await a.client.add_watch("/tree", AddWatchMode.PERSISTENT_RECURSIVE)
            await a.client.add_watch("/one")
            before, identity = await a.set("/one", b""), a.identity
            await a.settle()
            a.events.clear()

            restart()

            await a.until(lambda: bool(a.events))
            assert a.events == [WatchEvent(EventType.NODE_DELETED, "/gone")]
            assert a.identity == identity
            assert a.statuses == [Status.CONNECTED, Status.DISCONNECTED, Status.CONNECTED]
            mine = await a.exists("/mine")
            assert mine is not None
            assert mine.ephemeral_owner == identity[0]
            assert (await a.set("/data", b"")).mzxid > before.mzxid
            await a.create("/list/node")
            await a.create("/tree/node")
            await a.create("/one/node")
            await a.settle()
            assert a.events[1:] == [
                WatchEvent(EventType.NODE_DATA_CHANGED, "/data"),
                WatchEvent(EventType.NODE_CHILDREN_CHANGED, "/list"),
                WatchEvent(EventType.NODE_CREATED, "/tree/node"),
                WatchEvent(EventType.NODE_CHILDREN_CHANGED, "/one"),
            ]


class TestARealServerRestarts(Restarts):
    """The conversation is right, and so is our client."""

    @pytest.fixture
    def server(self, kafka_classpath: str, tmp_path: Path) -> Iterator[RealZookeeper]:
        """One that nobody else needs."""
        server = RealZookeeper(kafka_classpath, tmp_path)
        server.start()
        yield server
        server.stop()

    @pytest.fixture
    def arena(self, server: RealZookeeper) -> Arena:
        """Where it is."""
        return Arena((server.host, server.port))

    @pytest.fixture
    def restart(self, server: RealZookeeper) -> Callable[[], None]:
        """Without a goodbye."""

        def restart() -> None:
            server.kill()
            server.start()

        return restart


class TestOurServerRestarts(Restarts):
    """And so is our server."""

    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[OurZookeeper]:
        """One that nobody else needs."""
        server = OurZookeeper(tmp_path)
        server.start()
        yield server
        server.stop()

    @pytest.fixture
    def arena(self, server: OurZookeeper) -> Arena:
        """Where it is."""
        return Arena(server.address)

    @pytest.fixture
    def restart(self, server: OurZookeeper) -> Callable[[], None]:
        """In good order; for the other way see `tests/crash`."""

        def restart() -> None:
            server.stop()
            server.start()

        return restart
