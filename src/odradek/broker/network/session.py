"""For how long a proven name is believed on one connection (KIP-368)."""

from collections.abc import Callable
from typing import Final

from odradek.broker.timers import Timer, Timers
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock
from odradek.security.mechanisms.server_exchange import Outcome, Reply, SaslRequest, ServerExchange

PROOF_MS_MAX: Final = Millis(10 * SECOND)
"""Who has begun in time gets so long: the answer may wait behind that to an earlier request."""


class Session:
    """The name may be proven again on the connection; if it is not by then, `on_over` is called."""

    __slots__ = ("_clock", "_exchange", "_on_over", "_timer", "_timers")

    def __init__(
        self, exchange: ServerExchange, doors: tuple[Clock, Timers], on_over: Callable[[], None]
    ) -> None:
        self._clock, self._timers = doors
        self._exchange = exchange
        self._on_over = on_over
        self._timer: Timer | None = None
        self._arm()

    @property
    def refused(self) -> str | None:
        """Why a name was not proven again, where the client asks to hear it."""
        return self._exchange.refused

    def handle(self, request: SaslRequest) -> Reply:
        """Proves the name again."""
        reply = self._exchange.handle(request)
        if reply.outcome is Outcome.PROVEN:
            self.end()
            self._arm()
        return reply

    def end(self) -> None:
        """The connection is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        if self._exchange.session_ms is not None:
            self._wait(self._exchange.session_ms, self._on_deadline)

    def _on_deadline(self) -> None:
        if self._exchange.is_under_way:
            self._wait(PROOF_MS_MAX, self._on_over)
        else:
            self._on_over()

    def _wait(self, time: Millis, then: Callable[[], None]) -> None:
        self._timer = self._timers.at(Millis(self._clock.monotonic() + time), then)
