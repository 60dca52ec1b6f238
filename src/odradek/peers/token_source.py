"""The token that this process shows: one for all its connections, asked for before the last ends.

An issuer is asked when a connection is to be made and no token holds, and again when four fifths of
its time are over. A connection waits for an issuer only where there is no token that still holds.
An issuer that is away is asked again after pauses that grow; one whose token is refused is asked
for another, but not at once, so that a broker that refuses every token costs it little.
"""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Final

from odradek.model.units import SECOND, Millis, Timestamp
from odradek.ports import Clock
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import ClientMechanism

REFRESH: Final = 0.8
"""Of a token's time, when another is asked for; the rest is for an issuer that is away."""
PAUSE_MIN: Final = Millis(1 * SECOND)
PAUSE_MAX: Final = Millis(10 * SECOND)
REFUSED_PAUSE: Final = Millis(30 * SECOND)
"""So old is a refused token at least, before another is asked for."""
SECONDS_MAX: Final = 1 << 40

Fetch = Callable[[], "asyncio.Future[str]"]
"""Asks the issuer, beside the loop; AuthenticationFailed says why there is no token."""


class TokenSource:
    """Of one process; its timers run on the loop on which it is used.

    `on_failed` is told why no token can be had.
    """

    def __init__(
        self, clock: Clock, fetch: Fetch, on_failed: Callable[[str], None] = lambda _: None
    ) -> None:
        self._on_failed = on_failed
        self._clock = clock
        self._fetch = fetch
        self._token: str | None = None
        self._taken_at = Millis(0)
        self._holds_until = Millis(0)
        self._under_way: asyncio.Future[str] | None = None
        self._failure = ""
        self._pause = PAUSE_MIN
        self._not_before = Millis(0)  # no issuer is asked earlier
        self._timer: asyncio.TimerHandle | None = None

    def mechanism(self) -> ClientMechanism:
        """The client's side of a login, which shows the token."""
        from odradek.security.mechanisms.oauth import OAuthClient  # noqa: PLC0415 - few have a token

        if self._token is None:
            raise AuthenticationFailed(self._failure or "there is no token yet")
        return OAuthClient(self._token)

    async def ready(self) -> None:
        """Returns once there is a token; AuthenticationFailed says why there is none."""
        if self._clock.monotonic() < self._holds_until:
            return
        self._ask()
        if self._under_way is None:
            raise AuthenticationFailed(self._failure)
        await asyncio.shield(self._under_way)

    def refused(self) -> None:
        """The token was shown, and not believed; it may be another's turn."""
        if self._clock.monotonic() >= self._taken_at + REFUSED_PAUSE:
            self._ask()

    def close(self) -> None:
        """Asks no more."""
        self._stop_timer()

    def _ask(self) -> None:
        """One question at a time, and none within a pause."""
        if self._under_way is None and self._clock.monotonic() >= self._not_before:
            self._stop_timer()
            self._under_way = self._fetch()
            self._under_way.add_done_callback(self._answered)

    def _answered(self, answer: "asyncio.Future[str]") -> None:
        self._under_way = None
        now = self._clock.monotonic()
        error = None if answer.cancelled() else answer.exception()
        if error is None and not answer.cancelled():
            self._take(answer.result(), now)
            return
        self._failure = str(error or "the question was given up")
        self._on_failed(self._failure)
        self._wait(self._pause)
        self._pause = min(Millis(2 * self._pause), PAUSE_MAX)

    def _take(self, token: str, now: Millis) -> None:
        self._token, self._taken_at = token, now
        self._pause = PAUSE_MIN
        ends = end_of(token)
        left = 0 if ends is None else ends - self._clock.wall()
        self._holds_until = Millis(now + max(left, 0))
        if ends is None:  # it is asked for at each connection
            self._not_before = now
        elif left <= 0:
            self._on_failed("the token that was given has ended")
            self._wait(PAUSE_MAX)
            self._not_before = now
        else:
            self._wait(Millis(max(int(left * REFRESH), PAUSE_MIN)))
            self._not_before = Millis(now + PAUSE_MIN)

    def _wait(self, pause: Millis) -> None:
        """Asks by itself behind a pause."""
        self._not_before = Millis(self._clock.monotonic() + pause)
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(pause / SECOND, self._ask)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def end_of(token: str) -> Timestamp | None:
    """When a token says that it ends; who believes it decides. None: it does not say."""
    try:
        _, body, _ = token.split(".")
        seconds = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))["exp"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= SECONDS_MAX:
        return None
    return Timestamp(int(seconds * SECOND))
