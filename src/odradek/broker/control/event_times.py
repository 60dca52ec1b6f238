"""Where the controller's time goes: by kind of event, and within it by what was done.

The sums are metrics; an event that took long is logged with its parts, so that a slow failover
tells by itself whether ZooKeeper, the decisions or the messages were slow.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import structlog

from odradek.controller.steps import Attempt, Commit, Connect, Read, Send, Step, WriteStates
from odradek.model.units import Micros
from odradek.ports import Clock

SLOW: Final = Micros(100_000)
DECIDING: Final = "deciding"
PARTS: Final[Mapping[type[Step], str]] = MappingProxyType(
    {
        Read: "reading",
        Attempt: "writing",
        Commit: "writing",
        WriteStates: "writing",
        Connect: "sending",
        Send: "sending",
    }
)

log = structlog.get_logger()


class KindTimes:
    """Of one kind of event, since this broker has started."""

    __slots__ = ("count", "micros", "waited")

    def __init__(self) -> None:
        self.count = 0
        self.micros = 0  # from its beginning to its end
        self.waited = 0  # in the queue before


class EventTimes:
    """One event at a time."""

    def __init__(self, clock: Clock) -> None:
        self.by_kind: dict[str, KindTimes] = {}
        self._clock = clock
        self._kind = ""
        self._begun = Micros(0)
        self._parts: dict[str, int] = {}
        self._since = Micros(0)

    @property
    def now(self) -> Micros:
        """For an event that is posted."""
        return self._clock.micros()

    @property
    def kind(self) -> str:
        """Of the event that is being dealt with; empty between events."""
        return self._kind

    def begin(self, kind: str, posted: Micros) -> None:
        """An event is taken from the queue."""
        self._kind, self._begun, self._parts = kind, self.now, {}
        self.by_kind.setdefault(kind, KindTimes()).waited += self._begun - posted

    def resume(self) -> None:
        """A decision goes on."""
        self._since = self.now

    def spent(self, step: Step | None = None) -> None:
        """What was done since the last call: a step, or deciding which comes next."""
        now = self.now
        part = DECIDING if step is None else PARTS.get(type(step), DECIDING)
        self._parts[part] = self._parts.get(part, 0) + now - self._since
        self._since = now

    def end(self) -> None:
        """The event is over."""
        took = self.now - self._begun
        times = self.by_kind[self._kind]
        times.count += 1
        times.micros += took
        if took >= SLOW:
            parts = {f"{part}_ms": round(it / 1_000) for part, it in self._parts.items()}
            log.info("controller.slow_event", kind=self._kind, ms=round(took / 1_000), **parts)
        self._kind = ""
