"""The connection on the loop: what its end proves, and that everybody hears of it at once."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from odradek.model.units import SECOND, Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import (
    ClosedByPeer,
    ClosedByUs,
    ConnectionGone,
    ConnectionRefused,
    NotConnected,
    TimedOut,
    UnexpectedAnswer,
    connecting_failed,
)
from odradek.peers.requests import encode_request
from odradek.sim.stage.world import World
from odradek.wire.headers import response_frame
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.unit.peers.kafka_process import KafkaProcess

HEARTBEAT = HeartbeatRequest("shop", 1, "m")


class Stage:
    """One process that is asked, and a machine that asks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.process = KafkaProcess(world, "b1")
        self.process.answers[HeartbeatRequest] = lambda request: HeartbeatResponse(0, 0)
        self.asker = world.machine("asker")
        self.asker.start(_for_ever)
        self.ends: list[tuple[Millis, ConnectionGone]] = []

    def talk(self, conversation: Callable[[Connection], Coroutine[Any, Any, Any]]) -> Any:
        """On the asker's machine, over one open connection."""

        async def run() -> Any:
            return await conversation(await self.connection().open(self.asker.network))

        return self.world.ask("asker", run())

    def connection(self) -> Connection:
        """Not open yet."""
        clock = self.asker.clock

        def on_end(reason: ConnectionGone) -> None:
            self.ends.append((clock.monotonic(), reason))

        return Connection(clock, self.process.address, "asker", on_end)


async def _for_ever(machine: Any) -> None:
    await asyncio.get_running_loop().create_future()


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A world with both."""
    with World(1) as world:
        yield Stage(world)


def test_who_needs_no_future_is_told_of_the_answer_or_of_why_there_is_none(stage: Stage) -> None:
    """Once for each request, whether the connection ends before the answer or not."""
    told: list[tuple[int | None, type | None]] = []

    def on_answer(response: HeartbeatResponse | None, error: ConnectionGone | None) -> None:
        code = None if response is None else response.error_code
        told.append((code, None if error is None else type(error)))

    async def conversation(connection: Connection) -> None:
        connection.send_then(encode_request(HEARTBEAT, 4), on_answer)
        await connection.ask(HEARTBEAT, 4)
        assert told == [(0, None)]
        connection.send_then(encode_request(HEARTBEAT, 4), on_answer)
        connection.close()

    stage.talk(conversation)
    assert told == [(0, None), (None, ClosedByUs)]


def test_requests_are_pipelined_and_answered_in_order(stage: Stage) -> None:
    """The second is there before the first is answered."""
    codes = iter((1, 2, 3))
    stage.process.answers[HeartbeatRequest] = lambda request: HeartbeatResponse(0, next(codes))

    async def conversation(connection: Connection) -> list[int]:
        asks = [connection.ask(HEARTBEAT, 4) for _ in range(3)]
        return [it.error_code for it in await asyncio.gather(*asks)]

    assert stage.talk(conversation) == [1, 2, 3]


def test_an_answer_that_nobody_asked_for_ends_the_connection(stage: Stage) -> None:
    """Not the client's loop: whoever waits is told by name."""

    async def conversation(connection: Connection) -> None:
        await connection.ask(HEARTBEAT, 4)
        stage.process.mute = True
        asking = connection.ask(HEARTBEAT, 4)
        stage.process.links[0].stream.send(response_frame(HeartbeatResponse(), 4, 99))
        await asking

    with pytest.raises(UnexpectedAnswer, match="99"):
        stage.talk(conversation)
    stage.world.run(millis=10)
    assert [type(reason) for _, reason in stage.ends] == [UnexpectedAnswer]


def test_a_process_that_dies_is_heard_of_at_once_and_refuses_the_next(stage: Stage) -> None:
    """Closed, and a fresh connection refused: together they prove that it is gone."""

    async def conversation(connection: Connection) -> Millis:
        await connection.ask(HEARTBEAT, 4)
        stage.world.after(1_000, stage.process.machine.kill)
        died = stage.asker.clock.monotonic()
        stage.process.mute = True
        with pytest.raises(ClosedByPeer):
            await connection.ask(HEARTBEAT, 4)
        with pytest.raises(ConnectionRefused):
            await stage.connection().open(stage.asker.network)
        return died

    died = stage.talk(conversation)
    ((when, reason),) = stage.ends
    assert isinstance(reason, ClosedByPeer)
    assert when - died < 50


def test_a_silent_process_is_not_a_dead_one(stage: Stage) -> None:
    """Power lost, or a network that is cut: only time passes, and that proves nothing."""

    async def conversation(connection: Connection) -> Millis:
        await connection.ask(HEARTBEAT, 4)
        stage.process.machine.cut_power()
        began = stage.asker.clock.monotonic()
        asks = [connection.ask(HEARTBEAT, 4, timeout_ms=Millis(it * SECOND)) for it in (9, 2)]
        for outcome in await asyncio.gather(*asks, return_exceptions=True):
            assert isinstance(outcome, TimedOut)
        assert not connection.is_open
        with pytest.raises(TimedOut):
            await connection.ask(HEARTBEAT, 4)
        with pytest.raises(TimedOut, match="no connection in 3000 ms"):
            await stage.connection().open(stage.asker.network, Millis(3 * SECOND))
        return began

    began = stage.talk(conversation)
    (when, reason), *_ = stage.ends
    assert isinstance(reason, TimedOut)
    assert 2 * SECOND <= when - began < 2 * SECOND + 200


def test_one_timer_serves_many_requests(stage: Stage) -> None:
    """A late one is noticed although many on time were answered since the timer was set."""

    async def conversation(connection: Connection) -> None:
        clock = stage.asker.clock
        for _ in range(20):
            await connection.ask(HEARTBEAT, 4, timeout_ms=Millis(500))
            await clock.sleep_until(Millis(clock.monotonic() + 100))
        stage.process.mute = True
        began = clock.monotonic()
        with pytest.raises(TimedOut):
            await connection.ask(HEARTBEAT, 4, timeout_ms=Millis(500))
        assert 500 <= clock.monotonic() - began < 600

    stage.talk(conversation)


def test_who_gives_up_waiting_does_not_take_the_next_answer(stage: Stage) -> None:
    """An answer to a request that was cancelled is dropped."""
    codes = iter((1, 2))
    stage.process.answers[HeartbeatRequest] = lambda request: HeartbeatResponse(0, next(codes))

    async def conversation(connection: Connection) -> int:
        stage.process.mute = True
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await connection.ask(HEARTBEAT, 4)
        stage.process.speak()
        found: int = (await connection.ask(HEARTBEAT, 4)).error_code
        return found

    assert stage.talk(conversation) == 2


def test_who_closes_is_not_told_that_the_peer_did(stage: Stage) -> None:
    """And requests in flight fail at once."""

    async def conversation(connection: Connection) -> None:
        stage.process.mute = True
        asking = connection.ask(HEARTBEAT, 4)
        closing = asyncio.get_running_loop().call_later(0.01, connection.close)
        with pytest.raises(ClosedByUs):
            await asking
        assert closing.when()
        with pytest.raises(ClosedByUs):
            await connection.ask(HEARTBEAT, 4)

    stage.talk(conversation)
    assert [type(reason) for _, reason in stage.ends] == [ClosedByUs]


def test_why_no_connection_was_made_is_told_apart() -> None:
    """Only a refusal says something of the other process."""
    errors = {
        ConnectionRefusedError(111, "refused"): ConnectionRefused,
        TimeoutError(110, "silent"): TimedOut,
        OSError(113, "no route"): TimedOut,
        OSError(24, "too many open files"): NotConnected,
        OSError(-2, "unknown name"): NotConnected,
    }
    for error, kind in errors.items():
        assert type(connecting_failed(("b1", 9092), error)) is kind
