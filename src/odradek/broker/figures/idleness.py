"""How much of its time the loop has left; a broker that has none is at its end."""

from collections import deque
from typing import Final

from odradek.model.units import SECOND, Micros
from odradek.ports import Clock

SPAN: Final = Micros(60_000 * SECOND)
"""Over about the last minute, if somebody looks so often."""
LOOKS_MAX: Final = 64


class Idleness:
    """Between looks: each look tells the share since the oldest that is not too old."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks = deque([(clock.micros(), clock.worked())], LOOKS_MAX)

    def idle_share(self) -> float:
        """From 0 to 1."""
        now, worked = self._clock.micros(), self._clock.worked()
        while len(self._looks) > 1 and self._looks[1][0] <= now - SPAN:
            self._looks.popleft()
        since, worked_before = self._looks[0]
        self._looks.append((now, worked))
        if now <= since:
            return 1.0
        return max(1 - (worked - worked_before) / (now - since), 0.0)
