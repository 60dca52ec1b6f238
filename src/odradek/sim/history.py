"""What happened: every event of the world, once, in order; its digest; its last lines.

Two runs are the same when their digests are. Invariants watch here, and a failing run shows from
here what each machine did last.
"""

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, NamedTuple

LAST_EVENTS_MAX: Final = 12  # of each machine, for the report of a failure


class Event(NamedTuple):
    """One fact. Details are numbers, words and short tuples: things that print alike anywhere."""

    moment: int  # microseconds of the loop
    who: str
    what: str
    details: tuple[Any, ...]

    def __str__(self) -> str:
        words = " ".join(map(str, self.details))
        return f"{self.moment / 1e6:11.6f}  {self.who:<12} {self.what} {words}".rstrip()


class History:
    """Takes notes as the world goes on."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._hash = blake2b(digest_size=16)
        self._watchers: list[Callable[[Event], None]] = []
        self.count = 0
        self.last: dict[str, deque[Event]] = {}
        self.timeline: list[Event] | None = None  # kept whole only when somebody wants to read it

    def note(self, who: str, what: str, *details: Any) -> None:
        """Something happened, now."""
        event = Event(self._now(), who, what, details)
        self.count += 1
        self._hash.update(repr(tuple(event)).encode())
        if who not in self.last:
            self.last[who] = deque(maxlen=LAST_EVENTS_MAX)
        self.last[who].append(event)
        if self.timeline is not None:
            self.timeline.append(event)
        for watcher in self._watchers:
            watcher(event)

    def watch(self, watcher: Callable[[Event], None]) -> None:
        """It is told each event, after it is written down."""
        self._watchers.append(watcher)

    def digest(self) -> str:
        """Equal for equal histories."""
        return self._hash.hexdigest()
