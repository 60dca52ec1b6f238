"""The time by which producers are silent: a wall clock that is set forward makes none so.

What a producer wrote last is stamped by the wall clock, and lies so in snapshots. Where that clock
is set forward, or the machine was suspended, by more than producers may be silent, all of them
would be forgotten in the next round, and what they send again be written twice. So the time of a
jump does not count for those who wrote before it: it is taken off, until as much time has really
passed as they may be silent for. Each jump has its own end: who wrote after it was silent for no
longer by then, however many others there were, as on a machine that sleeps every night.

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

    __slots__ = ("_clock", "_jumps", "_monotonic", "_wall")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall, self._monotonic = clock.wall(), clock.monotonic()
        self._jumps: list[tuple[Millis, int]] = []  # when, and how far, where that counts still

    def now(self, after: Millis) -> Timestamp:
        """With it silence is measured that ends after so long."""
        wall, monotonic = self._clock.wall(), self._clock.monotonic()
        jump = (wall - self._wall) - (monotonic - self._monotonic)
        self._wall, self._monotonic = wall, monotonic
        self._jumps = [it for it in self._jumps if monotonic - it[0] < after]
        if jump >= JUMP_MS_MIN:
            self._jumps.append((monotonic, jump))
        elif jump <= -JUMP_MS_MIN:
            self._take_back(-jump)
        return Timestamp(wall - sum(far for _, far in self._jumps))

    def _take_back(self, far: int) -> None:
        """The clock was set back so far: the newest jumps were mistakes."""
        while far > 0 and self._jumps:
            at, jumped = self._jumps.pop()
            if jumped > far:
                self._jumps.append((at, jumped - far))
            far -= jumped
