"""One connection to a broker: requests go out one behind the other, answers come in that order.

The version of a request is the newest that both sides know, but no newer than what this client
understands the meaning of: from topic ids on, Produce and Fetch name topics in another way.
"""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.limits import FRAME_BYTES_MAX
from odradek.ports import Address, Network, Stream
from odradek.wire.apis import APIS
from odradek.wire.framing import Framer, Scratch
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.schema import Request

VERSIONS_MAX: Final[Mapping[int, int]] = MappingProxyType({0: 9, 1: 12, 8: 9, 9: 9})
"""Beyond these, topics are named by their ids."""
ANSWER_SECONDS: Final = 30
"""How long an answer may take. A machine that lost its power, or is cut off, never says so."""
ALLOWANCE_SECONDS: Final = 5
"""What is added to the time for which a request asks to be kept."""
KEPT: Final = ("timeout_ms", "max_wait_ms", "rebalance_timeout_ms")
"""Fields of requests that say how long they may be kept."""


class Refused(BrokerError):
    """What a broker answered, if it was an error."""

    def __init__(self, code: int, text: str | None = None) -> None:
        self.code = ErrorCode(code)  # type: ignore[misc]  # each has its own
        super().__init__(f"{text}: {self.code.sentence}" if text else self.code.sentence)


class ConnectionGone(BrokerError):
    """The broker cannot be reached, has hung up, or is silent; what was asked may be done."""

    code = ErrorCode.NETWORK_EXCEPTION


def check(code: int, text: str | None = None) -> None:
    """Raises what an answer says, if it is an error."""
    if code:
        raise Refused(code, text)


def patience(request: Request) -> float:
    """For how many seconds an answer is waited for."""
    kept = max((getattr(request, name, 0) for name in KEPT), default=0)
    return max(ANSWER_SECONDS, kept / 1_000 + ALLOWANCE_SECONDS)


class Connection:
    """Asks one broker; the receiver of its stream."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._stream: Stream | None = None
        self._framer = Framer(Scratch(), limit=FRAME_BYTES_MAX, eager=FRAME_BYTES_MAX)
        self._number = 0
        self._waiting: dict[int, tuple[type[Any], int, asyncio.Future[Any]]] = {}
        self._versions: Mapping[int, range] = {}

    @classmethod
    async def open(cls, network: Network, address: Address, client_id: str) -> "Connection":
        """Connects, and learns what the broker speaks."""
        connection = cls(client_id)
        try:
            await network.connect(address, connection._attach)
        except OSError as error:
            raise ConnectionGone(f"{address[0]}:{address[1]}: {error}") from error
        try:
            answer = await connection.ask(ApiVersionsRequest(), 0)
            check(answer.error_code)
        except BaseException:
            connection.close()  # whoever has given up would leave it open for ever
            raise
        connection._versions = {
            row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys
        }
        return connection

    @property
    def is_open(self) -> bool:
        """Whether it may be asked."""
        return self._stream is not None

    def close(self) -> None:
        """Hangs up."""
        if self._stream is not None:
            self._stream.close()

    def newest(self, request: Request) -> int:
        """The version in which a request goes out."""
        known, theirs = APIS[request.KEY].versions, self._versions.get(request.KEY)
        last = min(known.stop - 1, VERSIONS_MAX.get(request.KEY, known.stop))
        if theirs is None or theirs.start > last:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION, f"the broker does not speak {APIS[request.KEY].name}"
            )
        return min(theirs.stop - 1, last)

    async def ask(self, request: Request, version: int | None = None) -> Any:
        """The answer to a request."""
        if self._stream is None:
            raise ConnectionGone("the connection is closed")
        if version is None:
            version = self.newest(request)
        self._number += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = (APIS[request.KEY].response, version, future)
        self._stream.send(request_frame(request, version, self._number, self._client_id))
        try:
            async with asyncio.timeout(patience(request)):
                return await future
        except TimeoutError as error:
            if self._stream is not None:
                self._stream.abort()
            raise ConnectionGone("no answer has come") from error

    async def tell(self, request: Request) -> None:
        """A request that is not answered: Produce with acks=0."""
        if self._stream is None:
            raise ConnectionGone("the connection is closed")
        self._number += 1
        version = self.newest(request)
        self._stream.send(request_frame(request, version, self._number, self._client_id))

    # The receiver

    def _attach(self, stream: Stream) -> "Connection":
        self._stream = stream
        return self

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        return self._framer.buffer()

    def received(self, count: int) -> None:
        """Whole answers go to those who wait for them."""
        for frame in self._framer.received(count):
            number = int.from_bytes(frame[:4], "big", signed=True)
            response, version, future = self._waiting.pop(number)
            if not future.done():
                try:
                    future.set_result(read_response(response, version, frame)[1])
                except BrokerError as error:
                    future.set_exception(error)
        if self._framer.fault is not None and self._stream is not None:
            self._stream.abort()

    def drained(self) -> None:
        """Nobody waits for this."""

    def closed(self, error: OSError | None) -> None:
        """Whoever waits for an answer learns that none will come."""
        self._stream = None
        waiting, self._waiting = self._waiting, {}
        text = "the broker has hung up" if error is None else str(error)
        for _, _, future in waiting.values():
            if not future.done():
                future.set_exception(ConnectionGone(text))
