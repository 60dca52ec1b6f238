"""How long the copy of a replica rests, so that producers do not wait for it.

A copy is reads, checks and writes as fast as they go: it wants the disk, a core, and the lock that
the loop shares with all threads. What is appended meanwhile waits for its turn at each of them,
so the copy works for a few milliseconds and then leaves all of them alone for half as long: it
needs half as much time again, and an append waits for a few milliseconds of it at most. What is
slow, such as a disk that is busy already, is left alone for longer. While nothing is appended it
does not rest.
"""

from typing import Final

from odradek.model.units import SECOND, Millis

WORK: Final = Millis(5)
"""So long it goes on without a rest: shorter ones are not worth a turn of the loop."""
WORK_FOR_A_REST: Final = 2
REST_MAX: Final = Millis(100)
IDLE: Final = Millis(SECOND)
"""Without an append for so long there is no producer to leave room for."""


class CopyPace:
    """Of one copy. The count of appends may be any number that grows with each of them."""

    def __init__(self, appends: int, now: Millis) -> None:
        self._appends = appends
        self._appended_at = now
        self._working_since = now

    def rest_after(self, appends: int, now: Millis) -> Millis:
        """The pause that is due now."""
        if appends != self._appends:
            self._appends, self._appended_at = appends, now
        if now - self._appended_at >= IDLE:
            self._working_since = now
        worked = now - self._working_since
        if worked < WORK:
            return Millis(0)
        return min(Millis(worked // WORK_FOR_A_REST), REST_MAX)

    def rested(self, now: Millis) -> None:
        """It goes on."""
        self._working_since = now
