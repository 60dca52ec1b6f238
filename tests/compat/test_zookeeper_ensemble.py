"""Our client and a real ensemble of three: what a cluster in production relies on."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from odradek.zookeeper.client.errors import ConnectionLost, OutcomeUnknown
from odradek.zookeeper.protocol.codes import CreateMode, EventType
from tests.compat.zookeeper_arena import on_a_loop
from tests.compat.zookeeper_drivers import OurDriver, ours
from tests.external.zookeeper import RealEnsemble, RealZookeeper

WRITES = 400


@pytest.fixture(scope="module")
def ensemble(
    kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealEnsemble]:
    """All three are there at the beginning."""
    ensemble = RealEnsemble(kafka_classpath, tmp_path_factory.mktemp("ensemble"), 3)
    ensemble.start()
    yield ensemble
    ensemble.stop()


@asynccontextmanager
async def away(server: RealZookeeper) -> AsyncIterator[None]:
    """Killed, and started again at the end."""
    server.kill()
    try:
        yield
    finally:
        server.launch()
        assert await asyncio.to_thread(server.answers), server.log()[-4000:]


class Counter:
    """Writes by version, one after the other, and reads back what nobody can know."""

    def __init__(self, driver: OurDriver) -> None:
        self.done = 0
        self.in_doubt = 0
        self.busy = asyncio.Event()  # a while after `count_to` has begun
        self._client = driver.client

    async def count_to(self, end: int) -> None:
        """One write for each number."""
        middle = (self.done + end) // 2
        while self.done < end:
            if self.done == middle:
                self.busy.set()
            data = b"%d" % self.done
            try:
                await self._client.set("/count", data, self.done)
            except ConnectionLost as error:
                self.in_doubt += isinstance(error, OutcomeUnknown)
                if not await self._was_done(data):
                    continue
            self.done += 1

    async def _was_done(self, data: bytes) -> bool:
        while True:
            try:
                await self._client.connected()
                await self._client.sync("/count")
                found = await self._client.get("/count")
            except ConnectionLost:
                continue
            assert found.stat.version in {self.done, self.done + 1}
            return found.data == data


@on_a_loop
async def conversation(ensemble: RealEnsemble) -> None:
    """Each server is killed once, the leader first, while somebody writes."""
    async with ours(ensemble.connect_string) as one, ours(ensemble.connect_string) as other:
        await one.create("/count")
        await one.create("/alive", mode=CreateMode.EPHEMERAL)
        await other.sync("/")
        stat = await other.exists("/alive", watch=True)
        assert stat is not None
        assert stat.ephemeral_owner == one.identity[0]
        counter = Counter(one)
        leader = ensemble.leader()
        victims = [leader, *[server for server in ensemble.servers if server is not leader]]
        for number, victim in enumerate(victims, 1):
            counter.busy.clear()
            counting = asyncio.create_task(counter.count_to(number * WRITES))
            await counter.busy.wait()
            async with away(victim):
                await counting
        assert counter.in_doubt
        assert (await one.get("/count"))[1].version == counter.done
        await other.sync("/")
        stat = await other.exists("/alive")
        assert stat is not None
        assert stat.ephemeral_owner == one.identity[0]
        assert other.events == []
        await one.client.close()
        await other.until(lambda: bool(other.events))
        assert [event.kind for event in other.events] == [EventType.NODE_DELETED]


def test_a_session_outlives_every_server_of_an_ensemble(ensemble: RealEnsemble) -> None:
    """With its ephemeral nodes and watches; what was answered is there, and nothing twice."""
    conversation(ensemble)
