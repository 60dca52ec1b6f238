"""Connections that this process makes, secured: TLS, then a name, and only then the real receiver.

A door around the `Network` door. Who connects by it sees a plain connection: it comes late, or it
fails with the reason. A refused connection stays one: no process listens there. A token that a
login needs is there before anything is connected: the other side waits for no issuer.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.model.errors import BrokerError
from odradek.model.units import Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import NotAuthenticated, TlsFailed
from odradek.peers.handover import Handover, deliver
from odradek.peers.login import Login
from odradek.peers.tls_stream import ROOM_BYTES, TlsEnd, TlsStream
from odradek.ports import Address, Listener, Network, Receiver, Stream
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.client_exchange import ClientExchange
from odradek.wire.framing import Framer, Scratch

ANSWER_BYTES_MAX: Final = 1 << 20
SCRATCH_BYTES: Final = 16_384


class Outgoing(NamedTuple):
    """How connections are secured that this process makes. Neither: not at all."""

    context: Callable[[], ssl.SSLContext] | None = None
    login: Login | None = None
    client_id: str | None = None


class SecuredNetwork:
    """A network whose connections are secured; it listens as the one below."""

    def __init__(self, below: Network, outgoing: Outgoing) -> None:
        self._below = below
        self._outgoing = outgoing
        self._room = memoryview(bytearray(ROOM_BYTES))

    async def listen(
        self, address: Address, accept: Callable[[Stream], Receiver], *, uses_reserve: bool = False
    ) -> Listener:
        """Without any of it."""
        return await self._below.listen(address, accept, uses_reserve=uses_reserve)

    async def connect(self, address: Address, attach: Callable[[Stream], Receiver]) -> Stream:
        """A connection over which a name was proven, if one is asked for."""
        login = self._outgoing.login
        if login is not None and login.source is not None:
            try:
                await login.source.ready()
            except AuthenticationFailed as error:
                raise _refused(address, error) from None
        if self._outgoing.context is None:
            if login is None:
                return await self._below.connect(address, attach)
            made = _Made(address)
            stream = await self._below.connect(address, made.plain)
        else:
            made = _Made(address)
            opened = await self._below.connect(
                address, made.encrypted(self._outgoing.context(), self._room)
            )
            stream = await made.secured(opened)
        try:
            if login is not None:
                await made.log_in(stream, login, self._outgoing.client_id)
        except BaseException:
            stream.abort()
            raise
        receiver = attach(stream)
        if login is not None and isinstance(receiver, Connection):
            receiver.is_believed(login, made.session_ms)
        made.hand_over(receiver)
        return stream


class _Made:
    """One connection, until it is handed over; its receiver meanwhile."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._handover = Handover(self)
        self._is_secured: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
        self._named: asyncio.Future[None] | None = None
        self._exchange: ClientExchange | None = None
        self._stream: Stream | None = None
        self._scratch = Scratch(SCRATCH_BYTES)
        self._framer = Framer(self._scratch, limit=ANSWER_BYTES_MAX)
        self._early = bytearray()  # what came behind the last answer
        self._error: OSError | None = None
        self._is_over = False

    def plain(self, stream: Stream) -> Receiver:
        """No TLS is below."""
        del stream
        return self._handover

    def encrypted(self, context: ssl.SSLContext, room: memoryview) -> Callable[[Stream], Receiver]:
        """TLS is below; its handshake begins at once."""

        def attach(below: Stream) -> Receiver:
            tls = TlsStream(
                below,
                TlsEnd(context, room, self._address[0].rstrip(".")),
                on_secured=self._on_secured,
                on_failed=self._on_failed,
            )
            tls.begin()
            return tls

        return attach

    def _on_secured(self, stream: TlsStream) -> Receiver:
        if not self._is_secured.done():
            self._is_secured.set_result(stream)
        return self._handover

    def _on_failed(self, error: OSError | None) -> None:
        if not self._is_secured.done():
            reason = _why(error) if error is not None else "the connection was closed"
            self._is_secured.set_exception(
                TlsFailed(f"{self._address[0]}:{self._address[1]}: TLS: {reason}")
            )

    async def secured(self, below: Stream) -> Stream:
        """The stream once its handshake is done."""
        try:
            return await self._is_secured
        except BaseException:
            below.abort()
            raise

    async def log_in(self, stream: Stream, login: Login, client_id: str | None) -> None:
        """Proves the name, or raises why not."""
        self._stream = stream
        try:
            self._exchange = ClientExchange(login.mechanism, login.make(), client_id)
        except BrokerError as error:
            raise _refused(self._address, error) from None
        self._named = asyncio.get_running_loop().create_future()
        if self._is_over:
            self._fail(_gone(self._address, self._error))
        stream.send(self._exchange.begin())
        try:
            await self._named
        except NotAuthenticated:
            login.refused()
            raise

    @property
    def session_ms(self) -> Millis:
        """For how long the name is believed; 0: without an end."""
        return Millis(0) if self._exchange is None else self._exchange.session_ms

    def hand_over(self, receiver: Receiver) -> None:
        """The real one; its stream may be over by now."""
        self._handover.to(receiver)
        if self._early:
            deliver(receiver, self._early)
        if self._is_over:
            asyncio.get_running_loop().call_soon(receiver.closed, self._error)

    # The receiver

    def buffer(self) -> memoryview:
        """Where answers are put."""
        return self._framer.buffer()

    def received(self, count: int) -> None:
        """Whole answers go to the exchange."""
        for frame in self._framer.received(count):
            self._answered(frame)
        if self._framer.fault is not None:
            self._fail(_refused(self._address, self._framer.fault))

    def _answered(self, frame: bytearray) -> None:
        if self._exchange is None or self._stream is None or self._exchange.is_done:
            self._early += len(frame).to_bytes(4, "big") + frame
            return
        try:
            chunks = self._exchange.received(frame)
        except BrokerError as error:
            self._fail(_refused(self._address, error))
            return
        if chunks:
            self._stream.send(chunks)
        elif self._named is not None and not self._named.done():
            self._named.set_result(None)

    def drained(self) -> None:
        """No caller waits for this."""

    def closed(self, error: OSError | None) -> None:
        """The other end is gone."""
        self._is_over, self._error = True, error
        self._fail(_gone(self._address, error))

    def _fail(self, error: BrokerError) -> None:
        if self._named is not None and not self._named.done():
            self._named.set_exception(error)


def _gone(address: Address, error: OSError | None) -> BrokerError:
    why = error or "the connection was closed before the login was done"
    return TlsFailed(f"{address[0]}:{address[1]}: {why}")


def _refused(address: Address, error: BrokerError) -> BrokerError:
    return NotAuthenticated(f"{address[0]}:{address[1]}: {error}")


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not believed: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return error.strerror or str(error)
