"""Talking to ZooKeeper directly: what can be done only there, or before the first broker starts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from odradek.cli.failing import UNREACHABLE, Failed
from odradek.ensemble.client import ZooKeeperClient
from odradek.runtime.chance import SystemRandom
from odradek.runtime.clock import SystemClock
from odradek.runtime.network import SystemNetwork
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import NoNode
from odradek.zookeeper.client.session import Session
from odradek.zookeeper.protocol.codes import KeeperError

CONNECT_SECONDS: Final = 30.0

T = TypeVar("T")


async def in_tree(connect: str, work: Callable[[ZooKeeperClient], Awaitable[T]]) -> T:
    """Does it with a session of its own."""
    try:
        async with _client(connect) as client:
            return await work(client)
    except BaseExceptionGroup as group:  # of the client's own task
        (error,) = group.exceptions
        raise _failed(connect, error) from None


@asynccontextmanager
async def _client(connect: str) -> AsyncIterator[ZooKeeperClient]:
    session = Session(Ensemble.parse(connect), SystemRandom())
    client = ZooKeeperClient(session, SystemNetwork(), SystemClock(), lambda _: None)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.run())
        client.begin()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await client.connected()
            yield client
        finally:
            await client.close()


def _failed(connect: str, error: BaseException) -> BaseException:
    """For a person; a mistake of ours stays what it is."""
    match error:
        case TimeoutError():
            text = f"ZooKeeper does not answer at {connect} within {CONNECT_SECONDS:g} s"
            return Failed(text, code=UNREACHABLE)
        case NoNode():
            return Failed(f"there is no cluster of brokers at {connect}: {error}")
        case KeeperError():
            return Failed(f"ZooKeeper: {error}", "call it again")
    return error
