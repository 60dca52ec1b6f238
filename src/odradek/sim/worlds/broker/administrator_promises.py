"""What a broker promises an administrator: what was answered is so, whatever happens afterwards.

A request that was not answered may still be on its way, behind a cut, when the next one is: for a
while then nothing is known.
"""

from typing import Any, ClassVar, Final

from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant

DOUBT_MICROS: Final = 70 * SECOND  # longer than anything is on its way


class _Known:
    """What is known of one thing that a single client changes."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._tried: set[str] = set()  # and not answered yet
        self._doubt_until: dict[str, int] = {}

    def tries(self, name: str, now: int) -> None:
        """A change begins; if the last one got no answer, it may come at any time."""
        if name in self._tried:
            self._doubt_until[name] = now + DOUBT_MICROS
        self._tried.add(name)
        self._values.pop(name, None)

    def answered(self, name: str, value: object, now: int) -> None:
        """It is so now."""
        self._tried.discard(name)
        if now >= self._doubt_until.get(name, 0):
            self._values[name] = value

    def compare(self, name: str, value: object) -> None:
        """What is found is what was answered, where that is known."""
        known = self._values.get(name, value)
        assert value == known, f"{name} has {value}, and was given {known}"


class TopicsAreWhatTheyWereMade(Invariant):
    """A topic has the partitions that it was given, and is gone once it was deleted."""

    watches: ClassVar = frozenset(
        {"topic.tries", "topic.made", "topic.grown", "topic.deleted", "topic.seen"}
    )

    def __init__(self) -> None:
        self._counts = _Known()

    def on(self, event: Event) -> None:
        """Compares the count of partitions; that of a topic that is not there is 0."""
        name, *count = event.details
        if event.what == "topic.tries":
            self._counts.tries(name, event.moment)
        elif event.what == "topic.seen":
            self._counts.compare(name, count[0])
        else:
            self._counts.answered(name, count[0] if count else 0, event.moment)


class NewPartitionsAreEmpty(Invariant):
    """A partition that was made just now has nothing of an older one of its name."""

    watches: ClassVar = frozenset({"topic.first"})

    def on(self, event: Event) -> None:
        """Its first record is at offset 0."""
        partition, offset = event.details
        assert offset == 0, f"{partition} is new, and begins at {offset}"


class SettingsStay(Invariant):
    """A setting that was changed is what it was changed to."""

    watches: ClassVar = frozenset({"setting.tries", "setting.set", "setting.seen"})

    def __init__(self) -> None:
        self._values = _Known()

    def on(self, event: Event) -> None:
        """Compares the value."""
        name, *value = event.details
        if event.what == "setting.tries":
            self._values.tries(name, event.moment)
        elif event.what == "setting.seen":
            self._values.compare(name, value[0])
        else:
            self._values.answered(name, value[0], event.moment)
