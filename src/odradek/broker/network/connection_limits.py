"""How many connections are accepted, and how fast; those beyond the limits wait to be accepted.

A listener that has reached a limit is paused, so connections wait in the kernel's backlog and cost
the broker nothing. There is a maximum and a rate for the whole broker, and for each listener. After
a quiet time, the connections of one second are accepted at once. A limit of 0 for the whole broker
counts as 1, or no client could connect to take it back.
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
        self._timer: Timer | None = None  # for the first listener that waits for its rate
        self._listeners: dict[str, Listener] = {}
        self._paused: set[str] = set()
        self._bounds: Mapping[str, Bound] = {}
        self._open: Counter[str] = Counter()
        self._due: dict[str, Micros] = {}  # when as many connections would have come at the rate

    def configure(self, listeners: Mapping[str, Listener], config: BrokerConfig) -> None:
        """The broker's listeners, and the settings that hold now."""
        self._listeners = dict(listeners)
        opens, rates = MAX_CONNECTIONS, MAX_CONNECTION_CREATION_RATE
        own_opens, own_rates = config.on_listeners(opens), config.on_listeners(rates)
        everywhere = Bound(max(config[opens], 1), max(config[rates], 1))
        self._bounds = {EVERYWHERE: everywhere} | {
            name: Bound(
                own_opens.get(name.upper(), opens.default),
                own_rates.get(name.upper(), rates.default),
            )
            for name in listeners
        }
        self._apply()

    def entered(self, listener: str) -> None:
        """A connection was accepted on this listener."""
        now = self._clock.micros()
        for name in (EVERYWHERE, listener):
            self._open[name] += 1
            bound = self._bounds.get(name)
            if bound is not None and bound.rate_max:
                due = max(self._due.get(name, now), now)
                self._due[name] = Micros(due + BURST // bound.rate_max)
        self._apply()

    def left(self, listener: str) -> None:
        """A connection has ended."""
        for name in (EVERYWHERE, listener):
            self._open[name] -= 1
        if self._paused:
            self._apply()

    def _apply(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock.micros()
        waits = [
            wait
            for name, listener in self._listeners.items()
            if (wait := self._wait_of(name, listener, now)) is not None
        ]
        if waits:
            after = Millis(min(waits) // 1_000 + 1)
            self._timer = self._timers.at(Millis(self._clock.monotonic() + after), self._apply)

    def _wait_of(self, name: str, listener: Listener, now: Micros) -> Micros | None:
        """Pauses or resumes a listener; how long it waits for its rate, if only for that."""
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
