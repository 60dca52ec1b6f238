"""Our client and a real server that is cut off from its ensemble."""

import asyncio
from collections.abc import Iterator

import pytest

from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.units import SECOND, Millis
from odradek.runtime.clock import SystemClock
from odradek.runtime.network import SystemNetwork
from odradek.zookeeper.client_address import Ensemble
from odradek.zookeeper.client_errors import NotReadOnly
from odradek.zookeeper.client_session import Session, SessionSettings
from odradek.zookeeper.client_states import Status, StatusChanged
from tests.external.zookeeper import RealZookeeper
from tests.unit.zookeeper.client_talk import Highest

SECONDS_MAX = 30


@pytest.fixture(scope="module")
def cut_off(
    kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealZookeeper]:
    """A server that only reads."""
    server = RealZookeeper(kafka_classpath, tmp_path_factory.mktemp("cut-off"), cut_off=True)
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


def test_it_reads_there_and_moves_to_one_that_writes(
    cut_off: RealZookeeper, real_zookeeper: RealZookeeper
) -> None:
    """Both say over the wire which of the two they are; a write is refused until then."""

    async def conversation() -> None:
        owner = Owner(f"{cut_off.connect_string},{real_zookeeper.connect_string}")
        client = owner.client
        async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as tasks:
            tasks.create_task(client.run())
            client.begin()
            assert await owner.statuses.get() is Status.READ_ONLY
            assert "zookeeper" in (await client.children("/")).names
            with pytest.raises(NotReadOnly):
                await client.create("/read-only", b"")
            assert await owner.statuses.get() is Status.DISCONNECTED
            assert await owner.statuses.get() is Status.CONNECTED
            await client.create("/read-only", b"")
            await client.delete("/read-only")
            await client.close()

    asyncio.run(conversation())
