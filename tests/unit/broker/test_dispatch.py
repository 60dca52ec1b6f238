"""From frames to answers: order, versions, and what is done with requests that make no sense."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.dispatch import Dispatch
from odradek.broker.handlers import api_versions
from odradek.broker.handlers.api import Api, Refusal
from odradek.broker.network.connection import Connection
from odradek.broker.network.line_limit import LineLimit
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.network.quotas import Quotas
from odradek.broker.network.request_memory import RequestMemory
from odradek.broker.services import Services
from odradek.broker.timers import Timers
from odradek.config.broker import Layers, read
from odradek.config.findings import Given
from odradek.model.errors import ErrorCode, MalformedRequest
from odradek.model.limits import FRAME_BYTES_MAX
from odradek.model.units import Bytes, Micros, Millis, Timestamp
from odradek.ports import Chunk, Clock
from odradek.wire.framing import Scratch
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.schema import Request


class Hands:
    """A stream that keeps what it is given: the client's end, within reach."""

    peer = ("10.0.0.9", 41_000)
    local = ("10.0.0.1", 9_092)

    def __init__(self) -> None:
        self.sent = bytearray()
        self.waiting = 0
        self.paused = self.closed = self.aborted = False

    def send(self, chunks: Sequence[Chunk]) -> None:
        """At once."""
        for chunk in chunks:
            self.sent += cast("bytes", chunk)

    @property
    def unsent(self) -> int:
        """As the test says."""
        return self.waiting

    def pause(self) -> None:
        """Noted."""
        self.paused = True

    def resume(self) -> None:
        """Noted."""
        self.paused = False

    def close(self) -> None:
        """Noted."""
        self.closed = True

    def abort(self) -> None:
        """Noted."""
        self.aborted = True


class StillClock:
    """It is always the same time."""

    def monotonic(self) -> Millis:
        """Five."""
        return Millis(5)

    def micros(self) -> Micros:
        """Five thousand."""
        return Micros(5_000)

    def worked(self) -> Micros:
        """None."""
        return Micros(0)

    def wall(self) -> Timestamp:
        """None."""
        return Timestamp(0)

    async def sleep_until(self, deadline: Millis) -> None:
        """No time passes."""
        del deadline


def few(**parts: object) -> Services:
    """What these handlers need of a broker: no access rules, and no client with a quota."""
    config, _ = read(Layers(static={"zookeeper.connect": Given("zookeeper:2181", "here")}))
    clock: Clock = StillClock()
    quotas = Quotas(config, clock, Timers(clock))
    return cast("Services", SimpleNamespace(**parts, access=None, audit=None, quotas=quotas))


def opened(services: Services, api: Api) -> Dispatch:
    """One that serves clients already."""
    dispatch = Dispatch(services, {api.key: api})
    dispatch.open()
    return dispatch


class Desk:
    """What the connections have in common, and the handler of Heartbeat in our own hands."""

    def __init__(
        self,
        answer: Callable[[PendingRequest, Any], None] | None = None,
        memory: int | None = None,
        refuse: Refusal | None = None,
    ) -> None:
        self.scratch = Scratch()
        self.clock: Clock = StillClock()
        self.lines = LineLimit(self.clock)
        self.memory = RequestMemory(None if memory is None else Bytes(memory))
        self.frame_bytes_max: int = FRAME_BYTES_MAX
        self.open: list[PendingRequest] = []
        self.forgotten: list[Connection] = []
        heartbeat = Api(12, range(2, 5), self._handle, refuse or _refuse, (), offered_from=0)
        self._answer = answer
        offered = {12: heartbeat, 18: api_versions.API}
        self.dispatch = Dispatch(few(offered=tuple(offered.values())), offered)
        self.dispatch.open()
        self.on_frame = self.dispatch.on_frame

    def _handle(self, services: Services, pending: PendingRequest, request: Any) -> None:
        del services
        self.open.append(pending)
        if self._answer is not None:
            self._answer(pending, request)

    def on_answer(self, pending: PendingRequest) -> None:
        """No figures are kept here."""
        del pending

    def forget(self, connection: Connection) -> None:
        """Noted."""
        self.forgotten.append(connection)


def _refuse(request: Any, version: int, code: ErrorCode, message: str) -> HeartbeatResponse:
    del request, version, message
    return HeartbeatResponse(error_code=code)


class Client:
    """One connection to the desk."""

    def __init__(self, desk: Desk) -> None:
        self.hands = Hands()
        self.connection = Connection(desk, self.hands, "PLAINTEXT")

    def send(self, request: Request, version: int, number: int) -> None:
        """One whole request."""
        self.send_raw(b"".join(cast("list[bytes]", request_frame(request, version, number, "me"))))

    def send_raw(self, data: bytes) -> None:
        """Bytes, however they fall."""
        while data:
            room = self.connection.buffer()
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            self.connection.received(count)

    def frames(self) -> list[bytearray]:
        """What came back."""
        sent, frames = self.hands.sent, []
        while sent:
            size = int.from_bytes(sent[:4], "big")
            frames.append(sent[4 : 4 + size])
            sent = sent[4 + size :]
        return frames

    def numbers(self) -> list[int]:
        """The correlation ids of what came back."""
        return [int.from_bytes(frame[:4], "big") for frame in self.frames()]


def test_answers_leave_in_the_order_of_requests() -> None:
    """The second may be ready first; it waits for its turn."""
    desk = Desk()
    client = Client(desk)
    client.send(HeartbeatRequest("g"), 4, 1)
    client.send(HeartbeatRequest("g"), 4, 2)
    first, second = desk.open
    second.answer(HeartbeatResponse())
    assert client.numbers() == []
    first.answer(HeartbeatResponse())
    assert client.numbers() == [1, 2]


def test_a_client_that_is_ahead_of_its_versions_is_told_the_table() -> None:
    """ApiVersions of a version from the future is answered at version 0 (KIP-511)."""
    client = Client(Desk())
    client.send_raw(bytes.fromhex("0000000a 0012 0063 00000007 ffff"))
    header, table = read_response(ApiVersionsResponse, 0, client.frames()[0])
    assert header.correlation_id == 7
    assert table.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.min_version, row.max_version) for row in table.api_keys] == [
        (12, 0, 4),
        (18, 0, 4),
    ]


def test_a_version_that_is_only_named_is_refused_politely() -> None:
    """Old versions stand in the table for the sake of old clients; who uses one learns better."""
    desk = Desk()
    client = Client(desk)
    client.send(HeartbeatRequest("g"), 1, 3)
    _, answer = read_response(HeartbeatResponse, 1, client.frames()[0])
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert desk.open == []


def test_what_is_not_offered_ends_the_connection() -> None:
    """As with Kafka: there is no response that the client could read."""
    desk = Desk()
    client = Client(desk)
    client.send_raw(bytes.fromhex("0000000a 0003 0001 00000007 ffff"))
    assert client.hands.aborted
    assert desk.forgotten == [client.connection]


def test_a_body_that_cannot_be_read_ends_the_connection() -> None:
    """A count that promises more than there is."""
    client = Client(Desk())
    client.send_raw(bytes.fromhex("0000000e 000c 0000 00000007 ffff 7fffffff"))
    assert client.hands.aborted


def test_a_frame_that_cannot_be_is_answered_for_what_came_before() -> None:
    """The requests before it are good; then nothing more is read, and the connection closes."""
    desk = Desk()
    client = Client(desk)
    client.send(HeartbeatRequest("g"), 4, 1)
    client.send_raw(b"GET / HTTP/1.1\r\n")
    assert client.hands.paused
    assert not client.hands.closed
    desk.open[0].answer(HeartbeatResponse())
    assert client.numbers() == [1]
    assert client.hands.closed


def test_our_own_mistake_is_an_unknown_error_to_the_client() -> None:
    """Whatever a handler raises, the client hears of it, and the connection goes on."""

    def stumble(pending: PendingRequest, request: Any) -> None:
        del pending, request
        raise ZeroDivisionError

    client = Client(Desk(stumble))
    client.send(HeartbeatRequest("g"), 4, 1)
    _, answer = read_response(HeartbeatResponse, 4, client.frames()[0])
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert not client.hands.aborted


def test_an_answer_that_cannot_be_written_ends_the_connection() -> None:
    """Neither it nor the refusal: the client must not wait, and nobody else must notice."""

    def answer_nonsense(pending: PendingRequest, request: Any) -> None:
        del request
        pending.answer(HeartbeatResponse(error_code=1 << 20))

    desk = Desk(answer_nonsense, refuse=lambda *_: HeartbeatResponse(error_code=1 << 20))
    client = Client(desk)
    client.send(HeartbeatRequest("g"), 4, 1)
    assert client.hands.aborted
    assert desk.forgotten == [client.connection]


def test_a_request_that_makes_no_sense_ends_the_connection() -> None:
    """A handler may find out what the decoder could not."""

    def object_to(pending: PendingRequest, request: Any) -> None:
        del pending, request
        raise MalformedRequest("no")

    client = Client(Desk(object_to))
    client.send(HeartbeatRequest("g"), 4, 1)
    assert client.hands.aborted


def test_a_client_with_too_many_open_requests_is_not_read() -> None:
    """It is read again as soon as one was answered."""
    desk = Desk()
    client = Client(desk)
    for number in range(64):
        client.send(HeartbeatRequest("g"), 4, number)
    assert client.hands.paused
    desk.open[0].answer(HeartbeatResponse())
    assert not client.hands.paused


def test_a_client_that_does_not_take_its_answers_is_not_read() -> None:
    """Its answers are bounded; the kernel slows it down."""
    desk = Desk()
    client = Client(desk)
    client.hands.waiting = 2 << 20
    client.send(HeartbeatRequest("g"), 4, 1)
    desk.open[0].answer(HeartbeatResponse())
    assert client.hands.paused
    client.hands.waiting = 0
    client.connection.drained()
    assert not client.hands.paused


def test_who_waits_learns_that_the_client_is_gone() -> None:
    """Nobody works for a closed connection, and nothing of it is kept."""
    desk = Desk()
    client = Client(desk)
    client.send(HeartbeatRequest("g"), 4, 1)
    gone: list[int] = []
    desk.open[0].on_gone = lambda: gone.append(1)
    client.connection.closed(None)
    assert gone == [1]
    assert desk.forgotten == [client.connection]
    desk.open[0].answer(HeartbeatResponse())
    assert client.numbers() == []


@pytest.mark.parametrize("name", ["", "-", "librdkafka ", "a" * 3 + "\x00"])
def test_a_software_name_that_is_none_is_refused(name: str) -> None:
    """KIP-511: letters, digits, dashes and dots, none of the latter at either end."""
    client = Client(Desk())
    client.send(ApiVersionsRequest(name, "1"), 3, 1)
    _, table = read_response(ApiVersionsResponse, 3, client.frames()[0])
    assert table.error_code == ErrorCode.INVALID_REQUEST


def test_a_request_that_comes_while_the_broker_ends_is_not_begun() -> None:
    """Its client is sent away, and tries another broker."""

    async def handle(
        services: Services, pending: PendingRequest, request: Any
    ) -> HeartbeatResponse:
        raise AssertionError((services, pending, request))

    async def talk() -> Client:
        async with asyncio.TaskGroup() as tasks:
            pass
        desk = Desk()
        services = few(tasks=tasks)
        desk.on_frame = opened(services, Api(12, range(5), handle, _refuse, ())).on_frame
        client = Client(desk)
        client.send(HeartbeatRequest("g"), 4, 1)
        return client

    client = asyncio.run(talk())
    assert client.frames() == []
    assert client.connection.is_over


def test_a_coroutine_answers_with_what_it_returns() -> None:
    """For the requests that are rare: a task each."""

    async def talk() -> Client:
        async def handle(
            services: Services, pending: PendingRequest, request: Any
        ) -> HeartbeatResponse:
            del services, pending, request
            await asyncio.sleep(0)
            return HeartbeatResponse(throttle_time_ms=7)

        async with asyncio.TaskGroup() as tasks:
            desk = Desk()
            services = few(tasks=tasks)
            desk.on_frame = opened(services, Api(12, range(5), handle, _refuse, ())).on_frame
            client = Client(desk)
            client.send(HeartbeatRequest("g"), 4, 1)
        return client

    client = asyncio.run(talk())
    _, answer = read_response(HeartbeatResponse, 4, client.frames()[0])
    assert answer.throttle_time_ms == 7


def test_a_client_that_comes_before_the_broker_knows_the_cluster_is_served_once_it_does() -> None:
    """Requests of brokers are served meanwhile: without them it would never know."""
    desk = Desk(lambda pending, _: pending.answer(HeartbeatResponse()))
    services = few(offered=())
    heartbeat = Api(12, range(5), desk._handle, _refuse, ())
    desk.on_frame = (dispatch := Dispatch(services, {12: heartbeat, 18: api_versions.API})).on_frame
    client, broker = Client(desk), Client(desk)
    client.send(HeartbeatRequest("g"), 4, 1)
    client.send(HeartbeatRequest("g"), 4, 2)
    broker.send(ApiVersionsRequest(), 0, 1)
    assert (client.frames(), client.hands.paused, len(broker.frames())) == ([], True, 1)
    dispatch.open()
    assert (len(client.frames()), client.hands.paused) == (2, False)
