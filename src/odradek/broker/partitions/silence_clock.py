"""The time by which producers are silent: a wall clock that is set forward makes none so.

What a producer wrote last is stamped by the wall clock, and lies so in snapshots. Where that clock
is set forward, or the machine was suspended, by more than producers may be silent, all of them
would be forgotten in the next round, and what they send again be written twice. So the time of a
jump does not count for those who wrote before it: it is taken off, until as much time has really
passed as they may be silent for.

Where the clock is set back producers are remembered for longer. Of a jump between two lives of a
broker nothing is known.
"""

from typing import Final

from odradek.model.units import MINUTE, Millis, Timestamp
from odradek.ports import Clock

JUMP_MS_MIN: Final = Millis(MINUTE)
"""Less is no jump: a clock that is slow or fast is corrected so."""


class SilenceClock:
    """Of a broker; it is to be looked at more often than producers are forgotten."""

    __slots__ = ("_clock", "_jumped", "_jumped_at", "_monotonic", "_wall")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall, self._monotonic = clock.wall(), clock.monotonic()
        self._jumped = 0  # how far, where that counts still
        self._jumped_at = self._monotonic

    def now(self, after: Millis) -> Timestamp:
        """With it silence is measured that ends after so long."""
        wall, monotonic = self._clock.wall(), self._clock.monotonic()
        jump = (wall - self._wall) - (monotonic - self._monotonic)
        self._wall, self._monotonic = wall, monotonic
        if jump >= JUMP_MS_MIN:
            self._jumped, self._jumped_at = self._jumped + jump, monotonic
        elif jump <= -JUMP_MS_MIN:
            self._jumped = max(self._jumped + jump, 0)
        is_over = monotonic - self._jumped_at >= after
        return Timestamp(wall if is_over else wall - self._jumped)
