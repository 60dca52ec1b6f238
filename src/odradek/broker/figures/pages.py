"""The admin listener: `/metrics`, `/health/live` and `/health/ready`, over HTTP or HTTPS.

As much of HTTP/1.1 as probes and scrapers need: one GET, one answer, and the connection is closed.
Live means that the process does its work, also while it still reads its logs; ready, that traffic
is accepted. Where a token is set, metrics need it; probes never do. Any other request, or one that
is too long, is refused, or its connection is closed. Where there are too many visitors the oldest
gives way.
"""

import asyncio
import hmac
import ssl
from collections.abc import Callable, Coroutine, Mapping
from typing import Final, NamedTuple

import structlog

from odradek.broker.jobs import begin
from odradek.broker.timers import Timer, Timers
from odradek.model.units import KIB, SECOND, Bytes, Millis
from odradek.peers.tls_stream import TlsEnd, TlsStream
from odradek.ports import Address, Clock, Listener, Network, Receiver, Stream
from odradek.wire.framing import Scratch

REQUEST_BYTES_MAX: Final = Bytes(8 * KIB)
PATIENCE: Final = Millis(10 * SECOND)
CONNECTIONS_MAX: Final = 64

log = structlog.get_logger()


class Page(NamedTuple):
    """An answer."""

    status: str
    content: str
    kind: str = "text/plain; charset=utf-8"
    more: str = ""  # lines of its head


class Guard(NamedTuple):
    """How visits are protected."""

    context: Callable[[], ssl.SSLContext] | None = None  # of each visit; None: no TLS
    token: str | None = None  # that pages need, beside those of `UNGUARDED`


Pages = Mapping[str, Callable[[], Coroutine[None, None, Page]]]

NOT_FOUND: Final = Page("404 Not Found", "there are /metrics, /health/live and /health/ready\n")
FAILED: Final = Page("500 Internal Server Error", "a bug in Odradek; its log has the stack trace\n")
NOT_ALLOWED: Final = Page("405 Method Not Allowed", "only GET and HEAD\n")
UNGUARDED: Final = frozenset({"/health/live", "/health/ready"})
NO_TOKEN: Final = Page(
    "401 Unauthorized", "this page needs a token\n", more="WWW-Authenticate: Bearer\r\n"
)
BAD: Final = Page("400 Bad Request", "this is not HTTP\n")


class PageServer:
    """Serves pages to a bounded number of visitors."""

    def __init__(self, network: Network, clock: Clock, timers: Timers) -> None:
        self.clock = clock
        self.timers = timers
        self.pages: Pages = {}
        self.guard = Guard()
        self.scratch = Scratch()
        self.visits: dict[_Visit, None] = {}  # the oldest first
        self.tasks: asyncio.TaskGroup
        self._network = network
        self._listener: Listener | None = None

    async def listen(self, address: Address, tasks: asyncio.TaskGroup) -> None:
        """From now on; a page that takes its time is made by a task of its own."""
        self.tasks = tasks
        self._listener = await self._network.listen(address, self._accept, uses_reserve=True)

    @property
    def address(self) -> Address | None:
        """Where, if it does."""
        return None if self._listener is None else self._listener.address

    def close(self) -> None:
        """No more visitors."""
        if self._listener is not None:
            self._listener.close()

    def _accept(self, stream: Stream) -> Receiver:
        if len(self.visits) >= CONNECTIONS_MAX:
            next(iter(self.visits)).give_way()
        visit = _Visit(self, stream)
        context = self.guard.context
        if context is None:
            return visit
        end = TlsEnd(context(), self.scratch.view, is_server=True)
        return TlsStream(stream, end, on_secured=visit.secured, on_failed=visit.closed)


class _Visit:
    """One connection."""

    def __init__(self, server: PageServer, stream: Stream) -> None:
        server.visits[self] = None
        self._server = server
        self._stream = stream
        self._room = bytearray(REQUEST_BYTES_MAX)
        self._filled = 0
        deadline = Millis(server.clock.monotonic() + PATIENCE)
        self._accepted = stream  # below TLS
        self._timer: Timer = server.timers.at(deadline, stream.abort)

    def secured(self, stream: Stream) -> "_Visit":
        """It goes on within TLS; its time goes on, too."""
        self._stream = stream
        return self

    def buffer(self) -> memoryview:
        """The rest of the room for a request."""
        return memoryview(self._room)[self._filled :]

    def received(self, count: int) -> None:
        """Answers as soon as the head of the request is whole."""
        self._filled += count
        head, found, _ = bytes(self._room[: self._filled]).partition(b"\r\n\r\n")
        if found:
            self._answer(head)
        elif self._filled == len(self._room):
            self._send(BAD)

    def _answer(self, head: bytes) -> None:
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/"):
            self._send(BAD)
            return
        method, path = words[0], words[1].partition(b"?")[0].decode("latin-1")
        if method not in {b"GET", b"HEAD"}:
            self._send(NOT_ALLOWED)
            return
        make = self._server.pages.get(path)
        if make is None:
            self._send(NOT_FOUND, with_content=method == b"GET")
        elif path not in UNGUARDED and not self._has_token(head):
            self._send(NO_TOKEN, with_content=method == b"GET")
        else:
            self._stream.pause()
            if not begin(self._server.tasks, self._make(make, with_content=method == b"GET")):
                self._stream.abort()

    def _has_token(self, head: bytes) -> bool:
        """Compared in the same time whatever it is."""
        wanted = self._server.guard.token
        if wanted is None:
            return True
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            scheme, _, token = value.strip().partition(b" ")
            if name.lower() == b"authorization" and scheme.lower() == b"bearer":
                return hmac.compare_digest(token.strip(), wanted.encode())
        return False

    async def _make(
        self, page: Callable[[], Coroutine[None, None, Page]], *, with_content: bool
    ) -> None:
        try:
            made = await page()
        except Exception as error:
            # A page that cannot be made must not end the broker.
            log.error("page.failed", exc_info=error)
            made = FAILED
        self._send(made, with_content=with_content)

    def _send(self, page: Page, *, with_content: bool = True) -> None:
        content = page.content.encode()
        head = (
            f"HTTP/1.1 {page.status}\r\nContent-Type: {page.kind}\r\n"
            f"Content-Length: {len(content)}\r\nConnection: close\r\n{page.more}\r\n"
        )
        self._stream.send([head.encode() + (content if with_content else b"")])
        self._stream.close()

    def drained(self) -> None:
        """Nothing waits for this."""

    def closed(self, error: OSError | None) -> None:
        """The visitor is gone."""
        del error
        self._over()

    def give_way(self) -> None:
        """To a newer one: who says nothing keeps no probe out."""
        self._over()
        self._accepted.abort()

    def _over(self) -> None:
        self._server.visits.pop(self, None)
        self._timer.cancel()
