"""The requests in flight on one connection: the core that every shell drives. It does no IO.

A shell hands a request in and gets the frame to send; it reads into `buffer`, tells `received` how
much came, and gets the answers with the ticket that it gave for each. Deadlines are told, not
watched: a shell asks for the earliest one and says what time it is.

A Kafka process answers the requests of one connection in their order. So an answer belongs to the
oldest request in flight or to none, and then nothing after it can be believed.

Invariants: correlation ids in flight go up by one and wrap at 2^31; after a `fault` nothing is
received any more.
"""

from collections import deque
from typing import Any, Final, Generic, NamedTuple, TypeVar

from odradek.model.errors import BrokerError
from odradek.model.limits import FRAME_BYTES_MAX
from odradek.model.units import Millis
from odradek.peers.errors import ConnectionGone, MalformedAnswer, TimedOut, UnexpectedAnswer
from odradek.ports import Chunk
from odradek.wire.apis import APIS
from odradek.wire.codec import encoder
from odradek.wire.framing import Framer, Scratch, framed
from odradek.wire.headers import CORRELATION_ID_END, read_response_body, request_head
from odradek.wire.schema import Request

CORRELATION_IDS: Final = 1 << 31
ANSWER_BYTES_MAX: Final = (1 << 31) - 1
"""As many as a frame can announce: a batch that a broker took is also copied from it."""

T = TypeVar("T")


def _encoded_id(client_id: str | None) -> bytes:
    """With its length before it."""
    if client_id is None:
        return b"\xff\xff"
    text = client_id.encode()
    return len(text).to_bytes(2, "big") + text


class EncodedRequest(NamedTuple):
    """A request as bytes without its header, for as many connections as shall get it."""

    key: int
    version: int
    body: list[Chunk]


def encode_request(request: Request, version: int) -> EncodedRequest:
    """Encodes once what may be sent many times."""
    return EncodedRequest(request.KEY, version, encoder(type(request), version)(request))


class Answer(NamedTuple, Generic[T]):
    """What came, and the ticket of the request that it answers."""

    ticket: T
    response: Any


class _Expected(NamedTuple, Generic[T]):
    """One request in flight."""

    correlation_id: int
    key: int
    version: int
    deadline: Millis
    ticket: T


class RequestsInFlight(Generic[T]):
    """One connection's requests, oldest first.

    `fault` is why the connection must be closed, once the answers before it were dealt with.
    """

    def __init__(self, client_id: str | None) -> None:
        self.fault: ConnectionGone | None = None
        self._client_id = _encoded_id(client_id)
        self._framer: Framer | None = None  # made when bytes may come: it takes some memory
        self._next_id = 0
        self._expected: deque[_Expected[T]] = deque()

    def __len__(self) -> int:
        return len(self._expected)

    def send(self, request: EncodedRequest, deadline: Millis, ticket: T) -> list[Chunk]:
        """The frame of a request that will be answered."""
        number = self._next_id
        frame = self.post(request)
        expected = _Expected(number, request.key, request.version, deadline, ticket)
        self._expected.append(expected)
        return frame

    def post(self, request: EncodedRequest) -> list[Chunk]:
        """The frame of a request that gets no answer: Produce with acks=0."""
        key, version, body = request
        head = request_head(key, version, self._next_id, self._client_id)
        self._next_id = (self._next_id + 1) % CORRELATION_IDS
        return framed(head, body)

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        if self._framer is None:
            self._framer = Framer(Scratch(), limit=ANSWER_BYTES_MAX, eager=FRAME_BYTES_MAX)
        return self._framer.buffer()

    def received(self, count: int) -> list[Answer[T]]:
        """So many bytes were put there: the answers that are whole now, in order."""
        assert self._framer is not None, "bytes are put where `buffer` says"
        answers: list[Answer[T]] = []
        for frame in self._framer.received(count):
            if self.fault is None:
                answers += self.read(frame)
        if self.fault is None and self._framer.fault is not None:
            self.fault = MalformedAnswer(str(self._framer.fault))
        return answers

    def read(self, frame: bytes | bytearray) -> list[Answer[T]]:
        """The answer in a frame, for a shell that reads whole ones itself; none with a fault."""
        number = int.from_bytes(frame[:CORRELATION_ID_END], "big", signed=True)
        if not self._expected or number != self._expected[0].correlation_id:
            awaited = f"{self._expected[0].correlation_id} was next" if self._expected else "none"
            self.fault = UnexpectedAnswer(f"answer to request {number}; awaited: {awaited}")
            return []
        first = self._expected.popleft()
        api = APIS[first.key]
        try:
            response = read_response_body(api.response, first.version, frame)
        except BrokerError as error:
            self._expected.appendleft(first)
            self.fault = MalformedAnswer(f"{api.name} v{first.version}: {error}")
            return []
        return [Answer(first.ticket, response)]

    def deadline(self) -> Millis | None:
        """When the first of the requests in flight is overdue; None: there are none."""
        return min((it.deadline for it in self._expected), default=None)

    def overdue(self, now: Millis) -> TimedOut | None:
        """Why the connection must be closed now, if a deadline has passed.

        A request behind a late one is late with it, so one that is overdue ends them all.
        """
        for it in self._expected:
            if it.deadline <= now:
                return TimedOut(f"no answer to {APIS[it.key].name} in time")
        return None

    def abandon(self) -> list[T]:
        """The connection is over: the tickets of all requests that will not be answered."""
        tickets = [it.ticket for it in self._expected]
        self._expected.clear()
        return tickets
