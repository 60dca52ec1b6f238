"""All timers of a shard in one heap: values with a deadline, no task for any of them.

Heartbeats put deadlines off all the time. So a later deadline is only noted: the entry in the heap
stays where it is, and moves on when its first deadline has come. Putting off costs one look-up.
"""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count

from odradek.model.units import Millis

STALE_MAX = 64  # entries without a timer that are not worth a sweep


class Deadlines:
    """Which timers run, and which are due. Those of one deadline are due as they were set."""

    __slots__ = ("_arrival", "_due", "_heap", "_queued")

    def __init__(self) -> None:
        self._due: dict[Hashable, Millis] = {}  # when it shall ring
        self._queued: dict[Hashable, Millis] = {}  # where its live entry stands: never later
        self._heap: list[tuple[Millis, int, Hashable]] = []
        self._arrival = count()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, timer: Hashable) -> bool:
        return timer in self._due

    def set(self, timer: Hashable, deadline: Millis) -> None:
        """Starts the timer, or gives it another deadline."""
        self._due[timer] = deadline
        queued = self._queued.get(timer)
        if queued is None or deadline < queued:
            self._push(timer, deadline)

    def cancel(self, timer: Hashable) -> None:
        """The timer does not ring; nor is it an error if it does not run."""
        self._due.pop(timer, None)
        if len(self._heap) > 2 * len(self._due) + STALE_MAX:
            self._sweep()

    def next(self) -> Millis | None:
        """No timer is due before this."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: Millis) -> Iterator[Hashable]:
        """Stops and yields each timer whose deadline has come, the earliest first.

        Timers may be set and cancelled while it runs; one that is set to be due is yielded too.
        """
        while self._heap and self._heap[0][0] <= now:
            queued, _, timer = heappop(self._heap)
            if self._queued.get(timer) != queued:
                continue  # it was set to an earlier deadline, and has rung since
            del self._queued[timer]
            due = self._due.get(timer)
            if due is None:
                continue
            if due > now:
                self._push(timer, due)
                continue
            del self._due[timer]
            yield timer

    def _push(self, timer: Hashable, deadline: Millis) -> None:
        self._queued[timer] = deadline
        heappush(self._heap, (deadline, next(self._arrival), timer))

    def _sweep(self) -> None:
        """Forgets entries whose timer was cancelled, or stands elsewhere in the heap."""
        self._heap = [
            entry
            for entry in self._heap
            if entry[2] in self._due and self._queued.get(entry[2]) == entry[0]
        ]
        heapify(self._heap)
        self._queued = {timer: queued for queued, _, timer in self._heap}
