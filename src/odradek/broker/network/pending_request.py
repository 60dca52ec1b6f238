"""One request and its answer.

Requests of a connection are begun in the order of their arrival, and answered in that order; but
the next one is begun before the last one is answered. So a request waits in its connection's
row until those before it were answered, with its own answer perhaps ready.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from odradek.broker.network.refused_batches import RefusedBatches
from odradek.broker.network.session import Session
from odradek.broker.slices import Slices, Steps, at_once, dropped
from odradek.model.units import Micros, Millis
from odradek.ports import Address, Chunk
from odradek.security.principal import Principal
from odradek.wire.headers import response_frame, response_frame_in_slices
from odradek.wire.schema import Request, Response

NOTHING: Final[list[Chunk]] = []
"""What is sent to a producer that wants no answer."""


class Client(Protocol):
    """The connection, as far as a handler uses it."""

    listener: str  # the name of the one it came by
    software: tuple[str, str]  # name and version, as the client says; empty before
    principal: Principal  # who the client is, as it has proven
    session: Session | None  # in which the name may be proven again
    at_end: Callable[[], None] | None  # is called once it has ended

    @property
    def refused(self) -> RefusedBatches:
        """Batches of its producer that may come again."""
        ...

    @property
    def peer(self) -> Address:
        """The client's address."""
        ...

    @property
    def local(self) -> Address:
        """The broker's address to which the client connected."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the client has disconnected."""
        ...

    def waits(self, pending: "PendingRequest") -> None:
        """The request waits for others, or for time, from now on."""
        ...

    def answered(self, pending: "PendingRequest") -> None:
        """An answer is ready; it is sent after those of earlier requests."""
        ...

    def hang_up(self, reason: str) -> None:
        """Closes the connection at once; open requests are not answered."""
        ...

    def close(self) -> None:
        """Reads no more; open requests are still answered."""
        ...

    def hold(self) -> None:
        """The next requests of this client are not begun."""
        ...

    def release(self) -> None:
        """They are, now."""
        ...

    def note_bug(self, api: str, error: Exception) -> None:
        """A handler has failed in a way that is no client's fault."""
        ...


class Charge(Protocol):
    """What a client with limits is charged with (`quotas`)."""

    told: Millis  # for how long the client has to pause, once it was answered

    def fetch_max(self) -> int:
        """How many bytes may be sent at once, whatever was sent before."""
        ...

    def may_fetch(self, size: int) -> bool:
        """Whether so many bytes may be sent; if not, none are, and they are not counted."""
        ...

    def mutate(self, partitions: int, *, is_strict: bool) -> None:
        """Counts partitions that are made or deleted; refused, if strict, after too many before."""
        ...

    def on_answer(self, pending: "PendingRequest", response: Response | None) -> None:
        """Counts it, and tells the client how long it has to wait."""
        ...

    def timed(self, answer: Awaitable[Response]) -> Awaitable[Response]:
        """The same answer; the time of the loop that it takes is counted."""
        ...


class PendingRequest:
    """One request of one connection. `answer` is called once, now or later.

    Nothing that it holds holds it: it is freed with its frame at once, by no collector.
    """

    __slots__ = (
        "arrived_at",
        "begun_at",
        "beside",
        "charge",
        "chunks",
        "client_id",
        "connection",
        "correlation_id",
        "frame",
        "key",
        "on_gone",
        "ready_at",
        "request",
        "rewrite",
        "sent_at",
        "slices",
        "tells",
        "version",
        "waits_from",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - made for every request, and keywords cost
        self,
        connection: Client,
        key: int,
        version: int,
        correlation_id: int,
        client_id: str,
        frame: bytearray,
        arrived_at: Micros,
        begun_at: Micros,
    ) -> None:
        self.connection = connection
        self.key = key  # of the API
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.frame = frame  # batches in the request are views into it
        self.arrived_at = arrived_at
        self.begun_at = begun_at
        self.waits_from: Micros | None = None  # if it did
        self.ready_at = begun_at  # once the answer is there
        self.sent_at = begun_at  # once its turn to leave has come
        self.chunks: list[Chunk] | None = None  # the answer, once it is there
        self.slices: Slices | None = None  # where its answer is encoded, if it is a large request
        self.request: Request | None = None  # a large one, until it is answered
        self.rewrite: Callable[[Response], Steps[None]] | None = None  # for an old client
        self.beside: Callable[[Response], None] | None = None  # adds what was refused
        self.tells: Callable[[PendingRequest, Response], Steps[None]] | None = None  # an audit
        self.on_gone: Callable[[], None] | None = None  # the client has disconnected
        self.charge: Charge | None = None  # where clients have limits

    def wait(self, on_gone: Callable[[], None]) -> None:
        """It is answered later; `on_gone` is called if the client disconnects before."""
        self.on_gone = on_gone
        self.connection.waits(self)

    def answer(self, response: Response) -> None:
        """Answers it."""
        if self.beside is not None:
            self.beside(response)
        if self.charge is not None:
            self.charge.on_answer(self, response)
        if self.slices is None:
            if self.rewrite is not None or self.tells is not None:
                at_once(self._finished(response))
            self.send(response_frame(response, self.version, self.correlation_id))
            return
        self.on_gone = None
        self.slices.begin(self._encoded(response), lambda: self.connection.is_over)

    def _encoded(self, response: Response) -> Steps[None]:
        """A large request as a rule has a large answer."""
        number = self.correlation_id
        try:
            yield from self._finished(response)
            self.send((yield from response_frame_in_slices(response, self.version, number)))
            yield from dropped(response)
            if self.request is not None:
                yield from dropped(self.request)
        except Exception as error:  # noqa: BLE001 - no caller would see it
            self.connection.note_bug(type(response).__name__, error)
            self.connection.hang_up("internal error, logged as request.failed")

    def _finished(self, response: Response) -> Steps[None]:
        """As its client reads it, and told to the audit log."""
        if self.rewrite is not None:
            yield from self.rewrite(response)
        if self.tells is not None:
            yield from self.tells(self, response)

    def answer_nothing(self) -> None:
        """Ends a request whose client wants no answer."""
        if self.charge is not None:
            self.charge.on_answer(self, None)
        self.send(NOTHING)

    def send(self, chunks: list[Chunk]) -> None:
        """Answers it with a whole frame."""
        assert self.chunks is None, "a request is answered once"
        self.chunks = chunks
        self.on_gone = None
        self.connection.answered(self)
