"""A name that is proven again on an open connection (KIP-368)."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.units import Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import ConnectionGone, NotAuthenticated
from odradek.peers.login import Login
from odradek.peers.requests import encode_request
from odradek.peers.secured_network import Outgoing, SecuredNetwork
from odradek.security.mechanisms.plain import PlainClient
from odradek.sim.stage.world import World
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.unit.peers.kafka_process import KafkaProcess

SESSION_MS = 10_000
HEARTBEAT = HeartbeatRequest("shop", 1, "m")


class Stage:
    """A process that believes a name for ten seconds, and a machine that logs in there."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.process = KafkaProcess(world, "b1")
        self.is_believed = True
        answers = self.process.answers
        answers[HeartbeatRequest] = lambda _: HeartbeatResponse(0, 0)
        answers[SaslHandshakeRequest] = lambda _: SaslHandshakeResponse(0, ["PLAIN"])
        answers[SaslAuthenticateRequest] = lambda _: self._proof()
        self.asker = world.machine("asker")
        self.asker.start(_for_ever)
        login = Login("PLAIN", lambda: PlainClient("broker", "secret"))
        self.network = SecuredNetwork(self.asker.network, Outgoing(login=login))
        self.ends: list[ConnectionGone] = []

    def _proof(self) -> SaslAuthenticateResponse:
        if not self.is_believed:
            code = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(code, "the token has ended")
        return SaslAuthenticateResponse(session_lifetime_ms=SESSION_MS)

    async def open(self) -> Connection:
        """A connection whose name is proven."""
        connection = Connection(self.asker.clock, self.process.address, "x", self.ends.append)
        return await connection.open(self.network)

    async def passes(self, millis: int) -> None:
        """So much time."""
        clock = self.asker.clock
        await clock.sleep_until(Millis(clock.monotonic() + millis))

    @property
    def kinds(self) -> list[str]:
        """What the process has heard, in order."""
        return [type(it).__name__.removesuffix("Request") for it in self.process.heard]


async def _for_ever(_: Any) -> None:
    await asyncio.get_running_loop().create_future()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A world with both."""
    with World(1) as world:
        yield Stage(world)


def test_an_idle_connection_proves_its_name_in_time(stage: Stage) -> None:
    """Again and again, and stays the same connection."""

    async def conversation() -> None:
        connection = await stage.open()
        await stage.passes(5 * SESSION_MS)
        await connection.ask(HEARTBEAT, 4)

    stage.world.ask("asker", conversation())
    assert stage.kinds.count("SaslAuthenticate") == 1 + 5
    assert len(stage.process.links) == 1


def test_what_is_asked_meanwhile_waits_and_keeps_its_order(stage: Stage) -> None:
    """A Kafka takes nothing else between the handshake and the last token."""

    async def conversation() -> None:
        connection = await stage.open()
        await stage.passes(int(SESSION_MS * 0.85) - 10)
        stage.process.mute = True
        before = [connection.send(_heartbeat(it)) for it in range(3)]
        await stage.passes(20)
        after = [connection.send(_heartbeat(it)) for it in range(3, 6)]
        assert connection.in_flight == 3 + 1 + 3
        stage.process.speak()
        await asyncio.gather(*before, *after)

    stage.world.ask("asker", conversation())
    ended = stage.process.heard[2:]
    generations = [it.generation_id for it in ended if isinstance(it, HeartbeatRequest)]
    assert generations == list(range(6))
    kinds = stage.kinds[2:]
    assert kinds == ["Heartbeat"] * 3 + ["SaslHandshake", "SaslAuthenticate"] + ["Heartbeat"] * 3


def _heartbeat(number: int) -> Any:
    return encode_request(HeartbeatRequest("shop", number, "m"), 4)


def test_a_name_that_is_not_believed_again_ends_the_connection(stage: Stage) -> None:
    """What waits is told why."""

    async def conversation() -> None:
        connection = await stage.open()
        stage.is_believed = False
        await stage.passes(int(SESSION_MS * 0.85) - 1)
        stage.process.mute = True
        await stage.passes(10)
        waiting = connection.send(_heartbeat(1))
        stage.process.speak()
        with pytest.raises(NotAuthenticated, match="the token has ended"):
            await waiting

    stage.world.ask("asker", conversation())
    stage.world.run(millis=10)
    assert [type(it) for it in stage.ends] == [NotAuthenticated]


def test_a_connection_that_ends_proves_nothing_more(stage: Stage) -> None:
    """Closed while what was asked waits: all are told once."""

    async def conversation() -> None:
        connection = await stage.open()
        await stage.passes(int(SESSION_MS * 0.85) - 1)
        stage.process.mute = True
        await stage.passes(10)
        waiting = connection.send(_heartbeat(1))
        connection.close()
        with pytest.raises(ConnectionGone):
            await waiting
        await stage.passes(2 * SESSION_MS)

    stage.world.ask("asker", conversation())
    assert stage.kinds.count("Heartbeat") == 0
