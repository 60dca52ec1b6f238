"""Refusals and failed changes that the audit log leaves out, so that no client fills a disk.

Each minute begins anew: so many lines about one client, so many about all, by kind of event. What
is left out is counted, and the counts are lines of their own at the end of the minute.
"""

from collections import Counter
from typing import Final, NamedTuple

EACH_MAX: Final = 100
"""Lines a minute about one client."""
ALL_MAX: Final = 1_000
"""Lines a minute about all of them, of one kind of event."""
COUNTED_MAX: Final = 1_000
"""Clients that have a count of their own; those after them share one."""


class Refused(NamedTuple):
    """Who, at what: a client that connects again is the same one."""

    event: str
    principal: str | None
    host: str | None  # None: of many clients


class Repeats:
    """Of one minute."""

    def __init__(self) -> None:
        self._told: Counter[Refused] = Counter()
        self._told_of_all: Counter[str] = Counter()
        self._left_out: Counter[Refused] = Counter()

    def admit(self, refused: Refused) -> bool:
        """Whether this one is written; if not, it is counted."""
        event = refused.event
        if self._told_of_all[event] < ALL_MAX and self._told[refused] < EACH_MAX:
            self._told_of_all[event] += 1
            self._told[refused] += 1
            return True
        if refused not in self._left_out and len(self._left_out) >= COUNTED_MAX:
            refused = Refused(event, None, None)
        self._left_out[refused] += 1
        return False

    def end(self) -> list[tuple[Refused, int]]:
        """What was left out of this minute; the next one begins."""
        left_out = list(self._left_out.items())
        self._told.clear()
        self._told_of_all.clear()
        self._left_out.clear()
        return left_out
