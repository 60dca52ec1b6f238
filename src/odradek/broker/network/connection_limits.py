"""How many connections are let in, and how fast; whoever is too much waits before the gate.

A listener that may take no more is paused, so those who wait cost the kernel a place in its backlog
and us nothing. There is a bound and a rate for the whole broker, and one of each for a listener.
After a quiet time a second's worth is let in at once.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.broker.timers import Timer, Timers
from odradek.config.broker import BrokerConfig
from odradek.config.rows.network import MAX_CONNECTION_CREATION_RATE, MAX_CONNECTIONS
from odradek.model.units import SECOND, Micros, Millis
from odradek.ports import Clock, Listener

BURST: Final = Micros(1_000 * SECOND)
EVERYWHERE: Final = ""
"""The broker itself, among the names of its listeners."""


class Bound(NamedTuple):
    """Of one listener, or of all together."""

    open_max: int
    rate_max: int  # in a second


class ConnectionLimits:
    """Pauses listeners, and lets them go on."""

    def __init__(self, clock: Clock, timers: Timers) -> None:
        self._clock = clock
        self._timers = timers
        self._timer: Timer | None = None  # for the first that waits for its rate
        self._listeners: dict[str, Listener] = {}
        self._paused: set[str] = set()
        self._bounds: Mapping[str, Bound] = {}
        self._open: Counter[str] = Counter()
        self._due: dict[str, Micros] = {}  # when those who came would have come at their rate

    def watch_over(self, listeners: Mapping[str, Listener], config: BrokerConfig) -> None:
        """These are the broker's, and what the settings say now."""
        self._listeners = dict(listeners)
        opens, rates = MAX_CONNECTIONS, MAX_CONNECTION_CREATION_RATE
        own_opens, own_rates = config.on_listeners(opens), config.on_listeners(rates)
        self._bounds = {EVERYWHERE: Bound(config[opens], config[rates])} | {
            name: Bound(
                own_opens.get(name.upper(), opens.default),
                own_rates.get(name.upper(), rates.default),
            )
            for name in listeners
        }
        self._look()

    def entered(self, listener: str) -> None:
        """A connection came by this listener."""
        now = self._clock.micros()
        for name in (EVERYWHERE, listener):
            self._open[name] += 1
            bound = self._bounds.get(name)
            if bound is not None and bound.rate_max:
                due = max(self._due.get(name, now), now)
                self._due[name] = Micros(due + BURST // bound.rate_max)
        self._look()

    def left(self, listener: str) -> None:
        """It is over."""
        for name in (EVERYWHERE, listener):
            self._open[name] -= 1
        if self._paused:
            self._look()

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock.micros()
        waits = [
            wait
            for name, listener in self._listeners.items()
            if (wait := self._look_at(name, listener, now)) is not None
        ]
        if waits:
            after = Millis(min(waits) // 1_000 + 1)
            self._timer = self._timers.at(Millis(self._clock.monotonic() + after), self._look)

    def _look_at(self, name: str, listener: Listener, now: Micros) -> Micros | None:
        """Pauses it or not; how long it waits for its rate alone."""
        wait = Micros(0)
        for each in (EVERYWHERE, name):
            bound = self._bounds[each]
            if self._open[each] >= bound.open_max or not bound.rate_max:
                wait = Micros(-1)
                break
            due = self._due.get(each, now) + BURST // bound.rate_max
            wait = max(wait, Micros(due - now - BURST))
        if wait:
            self._paused.add(name)
            listener.pause()
        elif name in self._paused:
            self._paused.discard(name)
            listener.resume()
        return wait if wait > 0 else None
