"""A name that is proven again on an open connection, before its time is over (KIP-368).

A Kafka process takes nothing but SASL between the handshake and the last token. So what is asked
meanwhile is held back, and sent in its order afterwards; what was asked before is still answered.
A process that does not believe it any more ends the connection, and so do we.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis
from odradek.peers.errors import ConnectionGone, NotAuthenticated
from odradek.peers.login import LOGIN_MS_MAX, Login
from odradek.ports import Address
from odradek.security.mechanisms.client_exchange import (
    ClientConversation,
    proven_again_in,
    version_of,
)
from odradek.wire.schema import Request


class Provable(Protocol):
    """A connection, as far as a name is proven on it."""

    address: Address

    def ask_now(
        self,
        request: Request,
        version: int,
        on_answer: Callable[[Any, ConnectionGone | None], None],
        timeout_ms: Millis,
    ) -> None:
        """Asks, though others are held back."""
        ...

    def hold(self) -> None:
        """What is asked from now on waits."""
        ...

    def release(self) -> None:
        """It is sent."""
        ...

    def end(self, reason: ConnectionGone) -> None:
        """The connection is over."""
        ...


class Reauthentication:
    """Of one connection."""

    def __init__(self, connection: Provable, login: Login, session_ms: Millis) -> None:
        self._connection = connection
        self._login = login
        self._conversation: ClientConversation | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._arm(session_ms)

    def stop(self) -> None:
        """The connection is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, session_ms: Millis) -> None:
        pause = proven_again_in(session_ms)
        if pause is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(pause / SECOND, self._begin)

    def _begin(self) -> None:
        self._timer = None
        try:
            mechanism = self._login.make()
        except BrokerError as error:
            self._refused(error)
            return
        self._conversation = ClientConversation(self._login.mechanism, mechanism)
        self._connection.hold()
        self._ask(self._conversation.begin())

    def _ask(self, request: Request) -> None:
        version = version_of(request)
        self._connection.ask_now(request, version, self._answered, LOGIN_MS_MAX)

    def _answered(self, response: Any, error: ConnectionGone | None) -> None:
        conversation = self._conversation
        if error is not None or conversation is None:
            return
        try:
            request = conversation.answered(response)
        except BrokerError as refusal:
            self._refused(refusal)
            return
        if request is not None:
            self._ask(request)
            return
        self._conversation = None
        self._connection.release()
        self._arm(conversation.session_ms)

    def _refused(self, error: BrokerError) -> None:
        host, port = self._connection.address
        self._login.refused()
        self._connection.end(NotAuthenticated(f"{host}:{port}: {error}"))
