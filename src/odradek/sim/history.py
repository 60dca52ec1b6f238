"""What happened: every event of the world, once, in order; its digest; its last lines.

Two runs are the same when their digests are. Invariants watch here, and a failing run shows from
here what each machine did last.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection
from hashlib import blake2b
from typing import Any, Final, NamedTuple

LAST_EVENTS_MAX: Final = 12  # of each machine, for the report of a failure
HASHED_AT_ONCE: Final = 256
TRAFFIC: Final = "data"  # its kind of event: counted and in the timeline, seen by no watcher


class Event(NamedTuple):
    """One fact. Details are numbers, words and short tuples: things that print alike anywhere."""

    moment: int  # microseconds of the loop
    who: str
    what: str
    details: tuple[Any, ...]

    def __str__(self) -> str:
        words = " ".join(map(str, self.details))
        return f"{self.moment / 1e6:11.6f}  {self.who:<12} {self.what} {words}".rstrip()


Watcher = Callable[[Event], None]


class History:
    """Takes notes as the world goes on."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._over = False
        self._hash = blake2b(digest_size=16)
        self._unhashed: list[tuple[int, str, str, tuple[Any, ...]]] = []
        self._watchers: list[tuple[Watcher, frozenset[str]]] = []
        self._by_kind: dict[str, tuple[Watcher, ...]] = {}
        self.counts: Counter[str] = Counter()  # events of each kind
        self.last: dict[str, deque[Event]] = {}
        self.timeline: list[Event] | None = None  # kept whole only when somebody wants to read it

    @property
    def count(self) -> int:
        """All events."""
        return self.counts.total()

    def note(self, who: str, what: str, *details: Any) -> None:
        """Something happened, now."""
        if self._over:
            return
        event = self._write(who, what, details)
        last = self.last.get(who)
        if last is None:
            last = self.last[who] = deque(maxlen=LAST_EVENTS_MAX)
        last.append(event)
        watchers = self._by_kind.get(what)
        if watchers is None:
            watchers = self._by_kind[what] = self._watching(what)
        for watcher in watchers:
            watcher(event)

    def note_traffic(self, who: str, *details: Any) -> None:
        """Bytes arrived: most of what happens, and the least of what a reader wants to know."""
        if self._over:
            return
        if self.timeline is not None:
            self._write(who, TRAFFIC, details)
            return
        self._unhashed.append((self.now(), who, TRAFFIC, details))
        if len(self._unhashed) >= HASHED_AT_ONCE:
            self._hash_rest()
        self.counts[TRAFFIC] += 1

    def _write(self, who: str, what: str, details: tuple[Any, ...]) -> Event:
        event = Event(self.now(), who, what, details)
        self._unhashed.append((event[0], who, what, details))
        if len(self._unhashed) >= HASHED_AT_ONCE:
            self._hash_rest()
        self.counts[what] += 1
        if self.timeline is not None:
            self.timeline.append(event)
        return event

    def watch(self, watcher: Watcher, kinds: Collection[str] = ()) -> None:
        """It is told each event of these kinds, or each event, after it is written down."""
        self._watchers.append((watcher, frozenset(kinds)))
        self._by_kind.clear()

    def end(self) -> None:
        """The world is being taken down: what its code says to that is no fact."""
        self._over = True

    def digest(self) -> str:
        """Equal for equal histories."""
        self._hash_rest()
        return self._hash.hexdigest()

    def _hash_rest(self) -> None:
        self._hash.update(repr(self._unhashed).encode())
        self._unhashed.clear()

    def _watching(self, what: str) -> tuple[Watcher, ...]:
        return tuple(watcher for watcher, kinds in self._watchers if not kinds or what in kinds)
