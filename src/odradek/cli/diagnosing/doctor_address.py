"""One address, from here: its name, its port, what speaks there, and whether it lets us in."""

import asyncio
import errno
import os
import socket
import threading
from typing import Final, NamedTuple

from odradek.cli.diagnosing.doctor_finding import Finding, Level, NoAnswer, answered
from odradek.cli.reaching.wrong_port import ANOTHER_PORT, NEXT_STEPS, spoken_at
from odradek.client.connection import Connection
from odradek.peers.errors import NotAuthenticated, TlsFailed
from odradek.ports import Address, Clock, Network
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest

CLIENT_ID: Final = "odradek-doctor"
ADDRESSES_MAX: Final = 8
SILENT: Final = (
    "look at its process: a broker that is stopped (SIGSTOP), has no file left to open"
    " (ulimit -n) or hangs; else name another port"
)
"""Of one name; who has more is a service, and the first ones tell enough."""


class World(NamedTuple):
    """By what a client here reaches brokers."""

    network: Network
    clock: Clock
    has_tls: bool
    has_login: bool


class Reached(NamedTuple):
    """A broker that answered: what it said of the cluster, and the open connection."""

    connection: Connection
    metadata: MetadataResponse


class Unreached(Exception):
    """Why no broker can be talked to there, and what to do."""

    def __init__(self, check: str, cause: str, next_step: str = "") -> None:
        super().__init__(cause)
        self.check = check
        self.next_step = next_step


def text(address: Address) -> str:
    """As people write it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def look(world: World, address: Address) -> tuple[Reached, list[Finding]]:
    """What answers there; the findings tell of ways that lead nowhere beside it."""
    ways = await _resolved(address)
    doubts = await _closed_ways(address, ways)
    return await _let_in(world, address), doubts


# The name


async def _resolved(address: Address) -> list[str]:
    try:
        found = await answered(_addresses(address))
    except NoAnswer as why:
        raise Unreached(
            "name",
            f"no address is found for {address[0]}: {why}",
            "a name that is known here, or an entry for it in /etc/hosts or DNS",
        ) from None
    return list(dict.fromkeys(found))[:ADDRESSES_MAX]


def _addresses(address: Address) -> "asyncio.Future[list[str]]":
    """In a thread that no end of the loop waits for: a resolver may be silent for long."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str], error: OSError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(found)
        else:
            future.set_exception(error)

    def ask() -> None:
        found: list[str] = []
        failed = None
        try:
            rows = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
            found = [str(row[4][0]) for row in rows]
        except OSError as error:
            failed = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, found, failed)

    threading.Thread(target=ask, name=f"resolve {address[0]}", daemon=True).start()
    return future


# The port


async def _closed_ways(address: Address, ways: list[str]) -> list[Finding]:
    """Raises where none is open."""
    port = address[1]
    told = await asyncio.gather(*(_knocked((way, port)) for way in ways))
    closed = {way: error for way, error in zip(ways, told, strict=True) if error is not None}
    if len(closed) == len(ways):
        raise Unreached("port", _shut(closed), _open_it(address, closed))
    return [
        Finding(
            Level.WARNING,
            "port",
            text(address),
            f"{address[0]} is {way}, too, and there: {_words(error)}",
            "clients that try this address first wait for it, or fail: listen there, or name "
            "the other address",
        )
        for way, error in closed.items()
        if error.errno not in {errno.ENETUNREACH, errno.EADDRNOTAVAIL}
    ]


async def _knocked(address: Address) -> OSError | None:
    try:
        _, writer = await answered(asyncio.open_connection(*address))
    except NoAnswer as why:
        return why.__cause__ if isinstance(why.__cause__, OSError) else TimeoutError(str(why))
    writer.close()
    return None


def _words(error: OSError) -> str:
    # asyncio's text is "[Errno 111] Connect call failed (...)"
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _shut(closed: dict[str, OSError]) -> str:
    by_words: dict[str, list[str]] = {}
    for way, error in closed.items():
        by_words.setdefault(_words(error), []).append(way)
    return "; ".join(f"{words} ({', '.join(ways)})" for words, ways in by_words.items())


def _open_it(address: Address, closed: dict[str, OSError]) -> str:
    if any(it.errno == errno.ECONNREFUSED for it in closed.values()):
        return (
            f"the machine is there and nobody listens at port {address[1]}: odradek up starts a "
            "broker; of a container the port must be published"
        )
    return "a firewall, a wrong address, or a machine that is down"


# What speaks there


async def _let_in(world: World, address: Address) -> Reached:
    try:
        connection = await answered(Connection.open(world.network, world.clock, address, CLIENT_ID))
    except NoAnswer as why:
        raise await _not_spoken(world, address, why) from None
    try:
        metadata = await answered(
            connection.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False))
        )
    except NoAnswer as why:
        connection.close()
        raise await _not_served(world, address, why) from None
    return Reached(connection, metadata)


async def _not_spoken(world: World, address: Address, why: NoAnswer) -> Unreached:
    if isinstance(why.__cause__, NotAuthenticated):
        return Unreached(
            "login", str(why), "sasl.mechanism and sasl.jaas.config; odradek user list elsewhere"
        )
    spoken = await spoken_at(address, in_tls=world.has_tls)
    if spoken is not None:
        return Unreached("protocol", spoken.value, NEXT_STEPS.get(spoken, ANOTHER_PORT))
    if isinstance(why.__cause__, TlsFailed):
        return Unreached(
            "tls", str(why), "ssl.truststore.location must hold who signed the broker's certificate"
        )
    if isinstance(why.__cause__, TimeoutError):
        return Unreached("protocol", f"something listens and does not answer: {why}", SILENT)
    return Unreached("protocol", f"something listens, and no broker: {why}", "another port")


async def _not_served(world: World, address: Address, why: NoAnswer) -> Unreached:
    """It told its versions and nothing more: a listener with SASL does so before a login."""
    mechanisms = [] if world.has_login else await _mechanisms(world, address)
    if mechanisms:
        protocol = "SASL_SSL" if world.has_tls else "SASL_PLAINTEXT"
        return Unreached(
            "login",
            f"it wants a login: {', '.join(mechanisms)}",
            f"-X security.protocol={protocol}, sasl.mechanism and sasl.jaas.config",
        )
    return Unreached("protocol", f"a broker that does not answer: {why}", "its events tell why")


async def _mechanisms(world: World, address: Address) -> list[str]:
    """Those that it names when it is offered one that there is not."""
    connection = None
    try:
        connection = await answered(Connection.open(world.network, world.clock, address, CLIENT_ID))
        answer = await answered(connection.ask(SaslHandshakeRequest("none"), 1))
    except NoAnswer:
        return []
    finally:
        if connection is not None:
            connection.close()
    return list(answer.mechanisms)
