"""A broker's process that dies is noticed by the end of a connection, and no other one is."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from odradek.model.units import Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import ClosedByPeer, ConnectionRefused, TimedOut
from odradek.peers.watched_connection import WatchedConnection
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.wire.messages.api_versions import ApiVersionsRequest
from tests.compat.broker_process import OdradekBroker

LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [
    asyncio.new_event_loop,
    uvloop.new_event_loop,
]
SECONDS_MAX = 10


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[OdradekBroker]:
    """It may be killed."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    yield broker
    broker.stop()


class Watch:
    """A connection that is kept, and what was said of the process behind it."""

    def __init__(self, broker: OdradekBroker) -> None:
        self.gone = asyncio.Event()
        self.doors = SystemNetwork(), SystemClock()
        self.address = broker.host, broker.port
        self.connection = WatchedConnection(self.doors, self.address, "watch", self.gone.set)

    async def fresh(self) -> Connection:
        """Another one to the same address."""
        network, clock = self.doors
        return await Connection(clock, self.address, "fresh").open(network)


@pytest.mark.parametrize("loop", LOOPS, ids=["asyncio", "uvloop"])
def test_a_killed_process_is_gone(
    own_broker: OdradekBroker, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """Idle or with a request in flight: closed first, then refused."""

    async def conversation() -> None:
        watch = Watch(own_broker)
        keeping = asyncio.ensure_future(watch.connection.keep())
        other = await watch.fresh()
        connection = await watch.connection.connected()
        await connection.ask(ApiVersionsRequest(), 0)
        assert not watch.gone.is_set()
        os.kill(own_broker.pid, signal.SIGSTOP)
        asking = other.ask(ApiVersionsRequest(), 0)
        os.kill(own_broker.pid, signal.SIGKILL)
        with pytest.raises(ClosedByPeer):
            await asking
        await asyncio.wait_for(watch.gone.wait(), SECONDS_MAX)
        with pytest.raises(ConnectionRefused):
            await watch.fresh()
        keeping.cancel()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(conversation())
    own_broker.kill()


def test_a_stopped_process_is_not_gone(own_broker: OdradekBroker) -> None:
    """A request to it is late, a fresh connection is taken by its kernel, and it goes on later."""

    async def conversation() -> None:
        watch = Watch(own_broker)
        keeping = asyncio.ensure_future(watch.connection.keep())
        connection = await watch.connection.connected()
        os.kill(own_broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(TimedOut):
                await connection.ask(ApiVersionsRequest(), 0, timeout_ms=Millis(300))
            again = await asyncio.wait_for(watch.connection.connected(), SECONDS_MAX)
            assert again is not connection
        finally:
            os.kill(own_broker.pid, signal.SIGCONT)
        await again.ask(ApiVersionsRequest(), 0)
        assert not watch.gone.is_set()
        keeping.cancel()

    asyncio.run(conversation())
