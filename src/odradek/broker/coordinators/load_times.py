"""How long partitions of a coordinator took to load lately, as Kafka measures it."""

from collections import deque
from typing import Final

from odradek.model.units import SECOND, Millis

WINDOW: Final = Millis(30 * SECOND)


class LoadTimes:
    """Those of the last half minute."""

    __slots__ = ("_loaded",)

    def __init__(self) -> None:
        self._loaded: deque[tuple[Millis, int]] = deque()  # when, and how long it took

    def note(self, began: Millis, now: Millis) -> None:
        """A partition is loaded."""
        self._forget(now)
        self._loaded.append((now, now - began))

    def longest_and_mean(self, now: Millis) -> tuple[int, float]:
        """Of those that count still; 0 where there are none."""
        self._forget(now)
        times = [time for _, time in self._loaded]
        return max(times, default=0), sum(times) / max(len(times), 1)

    def _forget(self, now: Millis) -> None:
        while self._loaded and self._loaded[0][0] < now - WINDOW:
            self._loaded.popleft()
