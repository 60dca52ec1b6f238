"""Log lines that clients cause: a client that is refused a thousand times a second writes no log.

Each kind of event has a burst, and then a line for each second; the next line that is written says
how many were left out before it.
"""

from collections import Counter
from typing import Any, Final

import structlog

from odradek.model.units import SECOND, Micros
from odradek.ports import Clock

BURST: Final = 50
EVERY: Final = Micros(1_000 * SECOND)

log = structlog.get_logger()


class LineLimit:
    """Writes events, and leaves out those that come too fast."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[str, int] = {}  # when those so far would have come, one every second
        self._left_out: Counter[str] = Counter()

    def info(self, event: str, **fields: Any) -> None:
        """Something that a client brought upon itself."""
        if (left_out := self._admit(event)) is not None:
            log.info(event, **fields, **left_out)

    def error(self, event: str, **fields: Any) -> None:
        """A bug that a client has found."""
        if (left_out := self._admit(event)) is not None:
            log.error(event, **fields, **left_out)

    def _admit(self, event: str) -> dict[str, int] | None:
        now = self._clock.micros()
        due = max(self._due.get(event, now), now)
        if due - now >= BURST * EVERY:
            self._left_out[event] += 1
            return None
        self._due[event] = due + EVERY
        left_out = self._left_out.pop(event, 0)
        return {"left_out": left_out} if left_out else {}
