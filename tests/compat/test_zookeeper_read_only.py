"""Our client and a real server that is cut off from its ensemble."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.units import SECOND, Millis
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import NotReadOnly
from odradek.zookeeper.client.session import Session, SessionSettings
from odradek.zookeeper.client.states import Status, StatusChanged
from tests.compat.zookeeper_arena import on_a_loop
from tests.external.ports import free_port
from tests.external.zookeeper import Place, RealZookeeper
from tests.unit.zookeeper.client_talk import Highest

SECONDS_MAX = 30


@pytest.fixture(scope="module")
def cut_off(
    kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealZookeeper]:
    """One of two, of which the other is not there: it only reads."""
    place = Place(1, ((free_port(), free_port()), (free_port(), free_port())), reads_alone=True)
    server = RealZookeeper(kafka_classpath, tmp_path_factory.mktemp("cut-off"), place=place)
    server.start()
    yield server
    server.stop()


class Owner:
    """Keeps what the client tells."""

    def __init__(self, connect: str) -> None:
        settings = SessionSettings(Millis(10 * SECOND), read_only=True)
        session = Session(Ensemble.parse(connect), Highest(), settings)  # in the order named
        self.client = ZooKeeperClient(session, SystemNetwork(), SystemClock(), self._hear)
        self.statuses: asyncio.Queue[Status] = asyncio.Queue()

    def _hear(self, news: News) -> None:
        if isinstance(news, StatusChanged):
            self.statuses.put_nowait(news.status)


@asynccontextmanager
async def owner_of(connect: str) -> AsyncIterator[Owner]:
    """From the first connection to the goodbye."""
    owner = Owner(connect)
    async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as tasks:
        tasks.create_task(owner.client.run())
        owner.client.begin()
        yield owner
        await owner.client.close()


@on_a_loop
async def reading(connect: str) -> None:
    """Where there is no other server."""
    async with owner_of(connect) as owner:
        assert await owner.statuses.get() is Status.READ_ONLY
        assert "zookeeper" in (await owner.client.children("/")).names
        with pytest.raises(NotReadOnly):
            await owner.client.create("/read-only", b"")


@on_a_loop
async def moving(connect: str) -> None:
    """Where the second server writes."""
    async with owner_of(connect) as owner:
        assert await owner.statuses.get() is Status.READ_ONLY
        assert await owner.statuses.get() is Status.DISCONNECTED
        assert await owner.statuses.get() is Status.CONNECTED
        await owner.client.create("/read-only", b"")
        await owner.client.delete("/read-only")


def test_it_reads_and_cannot_write(cut_off: RealZookeeper) -> None:
    """The server says what it is, and the client tells its owner."""
    reading(cut_off.connect_string)


def test_it_moves_to_a_server_that_writes(
    cut_off: RealZookeeper, real_zookeeper: RealZookeeper
) -> None:
    """Both are asked over the wire which of the two they are."""
    moving(f"{cut_off.connect_string},{real_zookeeper.connect_string}")
