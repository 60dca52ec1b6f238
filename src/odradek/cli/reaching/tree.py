"""Talking to ZooKeeper directly: what can be done only there, or before the first broker starts."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import click

from odradek.cli.words.failing import UNREACHABLE, Failed
from odradek.cli.words.grammar import DestroyingVerb, LocalVerb
from odradek.cli.words.options import how_long, of_the_cluster, options, without_asking
from odradek.config import sources
from odradek.ensemble.access import way_to
from odradek.ensemble.client import ZooKeeperClient
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.security.zookeeper_access import ZooKeeperAccess, zookeeper_access
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import NoNode
from odradek.zookeeper.client.session import Session, SessionSettings
from odradek.zookeeper.protocol.codes import KeeperError

T = TypeVar("T")


class TreeVerb(LocalVerb):
    """One that talks to ZooKeeper alone."""

    def more(self) -> list[click.Parameter]:
        """And `--timeout`."""
        return [how_long()]


class DestroyingTreeVerb(TreeVerb, DestroyingVerb):
    """One that asks brokers as well, and a person before records are lost."""

    def more(self) -> list[click.Parameter]:
        """Those of a verb of the cluster, and `--yes`."""
        return [without_asking(), *of_the_cluster()]


def connection(verb: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that talk to ZooKeeper."""
    verb = tls_option(verb)
    return click.option(
        "--connect",
        required=True,
        metavar="HOST:PORT,.../PATH",
        help="As zookeeper.connect has it.",
    )(verb)


def tls_option(verb: Callable[..., None]) -> Callable[..., None]:
    """Kafka's."""
    return click.option(
        "--zk-tls-config-file",
        "tls_file",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="A properties file with zookeeper.ssl.client.enable and the rest of zookeeper.ssl.*.",
    )(verb)


def access_by(tls_file: Path | None) -> ZooKeeperAccess:
    """As a process of Kafka's gets there: by `KAFKA_OPTS`, and a file with `zookeeper.ssl.*`.

    What is made by somebody with a name belongs to that name.
    """
    said = {} if tls_file is None else sources.from_file(tls_file.read_bytes(), str(tls_file))[0]
    texts = {name: given.text for name, given in said.items() if name.startswith("zookeeper.ssl.")}
    access = zookeeper_access(sources.of_java(os.environ) | texts, _read)
    return access._replace(protects=access.is_named)


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


async def in_tree(
    connect: str, work: Callable[[ZooKeeperClient], Awaitable[T]], access: ZooKeeperAccess
) -> T:
    """Does it with a session of its own."""
    try:
        async with _client(connect, access) as client:
            return await work(client)
    except BaseExceptionGroup as group:  # of the client's own task
        (error,) = group.exceptions
        raise _failed(connect, error) from None


@asynccontextmanager
async def _client(connect: str, access: ZooKeeperAccess) -> AsyncIterator[ZooKeeperClient]:
    random = SystemRandom()
    way = way_to(access, (SystemNetwork(), random, _read), SessionSettings())
    session = Session(Ensemble.parse(connect), random, way.settings)
    client = ZooKeeperClient(session, way.network, SystemClock(), lambda _: None)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.run())
        client.begin()
        try:
            async with asyncio.timeout(options().seconds):
                await client.connected()
            yield client
        finally:
            await client.close()


def _failed(connect: str, error: BaseException) -> BaseException:
    """For a person; a mistake of ours stays what it is."""
    match error:
        case TimeoutError():
            text = f"ZooKeeper does not answer at {connect} within {options().seconds:g} s"
            return Failed(text, "--connect takes what zookeeper.connect has", UNREACHABLE)
        case NoNode():
            return Failed(f"there is no cluster of brokers at {connect}: {error}")
        case KeeperError():
            return Failed(f"ZooKeeper: {error}", "call it again")
    return error
