"""What a run does while a broker, registry, catalog or store is away: it waits, and says so."""

import logging
from threading import Event
from typing import Final

from odradek.model.units import HOUR, MINUTE, SECOND, Millis
from odradek.pipelines.errors import Away

PAUSE_MS_MIN: Final = Millis(SECOND)
PAUSE_MS_MAX: Final = Millis(MINUTE)
SAID_EVERY_MS: Final = Millis(5 * MINUTE)
ONCE_MS_MAX: Final = Millis(2 * HOUR)
"""For so long a run waits that was told to end: the next one finds all as this one does."""

log = logging.getLogger("odradek.pipelines")


class Waiting:
    """Of one run. Nothing is waited for before something was there once: it may be mistyped."""

    def __init__(self, give_up_ms: Millis | None) -> None:
        self._give_up_ms = give_up_ms
        self._has_begun = False
        self._since_ms: int | None = None
        self._said_ms = 0
        self._pause_ms = PAUSE_MS_MIN

    @property
    def is_on(self) -> bool:
        """Whether something is away."""
        return self._since_ms is not None

    def begun(self) -> None:
        """The brokers have answered: what is away from now on was there."""
        self._has_begun = True

    def answered(self, now_ms: int) -> None:
        """All that is needed is there."""
        if self._since_ms is not None:
            log.warning("the run goes on after %d s", (now_ms - self._since_ms) // SECOND)
        self._since_ms, self._pause_ms = None, PAUSE_MS_MIN

    def wait(self, error: Away, now_ms: int, stopping: Event) -> None:
        """Until it is worth another try, or raises what is wrong."""
        if self._since_ms is None:
            self._since_ms, self._said_ms = now_ms, now_ms - SAID_EVERY_MS
        is_over = self._give_up_ms is not None and now_ms - self._since_ms > self._give_up_ms
        if not self._has_begun or is_over:
            raise error
        if now_ms - self._said_ms >= SAID_EVERY_MS:
            log.warning("the run waits: %s", error)
            self._said_ms = now_ms
        stopping.wait(self._pause_ms / SECOND)
        self._pause_ms = Millis(min(2 * self._pause_ms, PAUSE_MS_MAX))
