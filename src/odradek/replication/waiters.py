"""Who waits for which offset: the next ones to be woken are found without a look at the others.

A heap, ordered by offset and then by arrival. One that gives up is only marked, and swept out once
such marks are the majority, so that giving up costs next to nothing, too.
"""

from heapq import heapify, heappop, heappush
from typing import Final

from odradek.model.positions import Offset

MARKS_MIN: Final = 16
"""Fewer marks than these are not worth a sweep."""

Ticket = object
"""Whatever the shell finds the waiting one by; nothing here looks into it."""


class Waiter:
    """One that waits, and may be given up."""

    __slots__ = ("_arrival", "_waiters", "end", "over", "ticket")

    def __init__(self, end: Offset, ticket: Ticket, waiters: "Waiters", arrival: int) -> None:
        self.end = end
        self.ticket = ticket
        self.over = False  # woken, or given up
        self._waiters = waiters
        self._arrival = arrival

    def __lt__(self, other: "Waiter") -> bool:
        """The lower offset first, and of equals the first to come."""
        return (self.end, self._arrival) < (other.end, other._arrival)

    def give_up(self) -> None:
        """Will not be woken any more; nothing happens to one that was."""
        if not self.over:
            self.over = True
            self._waiters.on_given_up()


class Waiters:
    """Those who wait for an end offset to be reached."""

    __slots__ = ("_arrivals", "_heap", "_marks")

    def __init__(self) -> None:
        self._heap: list[Waiter] = []
        self._arrivals = 0
        self._marks = 0  # in the heap, but given up

    def __len__(self) -> int:
        """How many still wait."""
        return len(self._heap) - self._marks

    def add(self, end: Offset, ticket: Ticket) -> Waiter:
        """Waits until `end` is reached: everything below it is there."""
        self._arrivals += 1
        waiter = Waiter(end, ticket, self, self._arrivals)
        heappush(self._heap, waiter)
        return waiter

    def reached(self, end: Offset) -> tuple[Ticket, ...]:
        """Wakes all who wait for this end or a lower one, in order."""
        if not self._heap or self._heap[0].end > end:
            return ()
        woken = []
        while self._heap and self._heap[0].end <= end:
            waiter = heappop(self._heap)
            if waiter.over:
                self._marks -= 1
            else:
                waiter.over = True
                woken.append(waiter.ticket)
        return tuple(woken)

    def everybody(self) -> tuple[Ticket, ...]:
        """Wakes all, in order: there is nothing to wait for any more."""
        return self.reached(max(self._heap).end) if self._heap else ()

    def on_given_up(self) -> None:
        """One of them gave up; sweeps where such marks are the majority."""
        self._marks += 1
        if self._marks >= MARKS_MIN and self._marks * 2 > len(self._heap):
            self._heap = [waiter for waiter in self._heap if not waiter.over]
            heapify(self._heap)
            self._marks = 0
