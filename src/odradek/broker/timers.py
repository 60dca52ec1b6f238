"""Many deadlines, one timer of the loop.

Requests that wait have a deadline each, and nearly all are answered before it. So a deadline is
cheap to set and cheaper to cancel: a cancelled one stays in the heap until it is the first there,
or until most of the heap is of its kind.
"""

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final

from odradek.model.units import Millis
from odradek.ports import Clock

CANCELLED_MIN: Final = 16
"""Fewer are not worth a look at the whole heap."""


class Timer:
    """Something to be done at a moment, unless it is cancelled before."""

    __slots__ = ("_timers", "call")

    def __init__(self, timers: "Timers", call: Callable[[], None]) -> None:
        self._timers = timers
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """It will not be done. Once it was done, or cancelled, this says nothing."""
        if self.call is not None:
            self.call = None
            self._timers.forget_one()


class Timers:
    """All deadlines of a broker. Equal ones are kept in the order in which they were set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[Millis, int, Timer]] = []
        self._arrivals = 0
        self._cancelled = 0
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_at = Millis(0)

    def at(self, deadline: Millis, call: Callable[[], None]) -> Timer:
        """Calls once the clock has reached the deadline, in a turn of its own."""
        timer = Timer(self, call)
        self._arrivals += 1
        heappush(self._heap, (deadline, self._arrivals, timer))
        if self._handle is None or deadline < self._wakes_at:
            self._arm_for_next()
        return timer

    def after(self, pause: Millis, call: Callable[[], None]) -> Timer:
        """Calls so long from now on."""
        return self.at(Millis(self._clock.monotonic() + pause), call)

    def close(self) -> None:
        """Nothing more is done."""
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def forget_one(self) -> None:
        """One more of those in the heap was cancelled."""
        self._cancelled += 1
        if self._cancelled > CANCELLED_MIN and 2 * self._cancelled > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].call is not None]
            heapify(self._heap)
            self._cancelled = 0

    def _arm_for_next(self) -> None:
        """What was set while another rang may be later than what waits already."""
        deadline = self._next()
        if deadline is not None and (self._handle is None or deadline < self._wakes_at):
            self._arm(deadline)

    def _next(self) -> Millis | None:
        """The first deadline that was not cancelled; those before it are removed."""
        heap = self._heap
        while heap and heap[0][2].call is None:
            heappop(heap)
            self._cancelled = max(self._cancelled - 1, 0)
        return heap[0][0] if heap else None

    def _arm(self, deadline: Millis) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._wakes_at = deadline
        seconds = max(deadline - self._clock.monotonic(), 0) / 1_000
        self._handle = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._handle = None
        now = self._clock.monotonic()
        try:
            while (deadline := self._next()) is not None and deadline <= now:
                timer = heappop(self._heap)[2]
                call, timer.call = timer.call, None
                assert call is not None, "only those that were not cancelled are next"
                call()
        finally:
            self._arm_for_next()  # one that failed does not hold up the others
