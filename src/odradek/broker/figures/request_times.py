"""How long requests take, by API and by part: counted on the hot path, read by the metrics page.

A time falls into one of the buckets that double from a microsecond on, so a quantile is known to
within a factor of two at worst, and better where the bucket is interpolated. The whole is counted
for each request; its parts for some of many, which leaves their quantiles as they are.
"""

from enum import StrEnum
from typing import Final

from odradek.broker.network.pending_request import PendingRequest
from odradek.ports import Clock

BUCKETS: Final = 40  # the last one begins at six days
QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
ALL_COUNTED: Final = 64
"""So many requests of an API are looked at in all their parts,"""
COUNTED_MASK: Final = 15
"""and then one in sixteen."""


class Part(StrEnum):
    """From the read that brought a request to when its answer has left, and what lies between."""

    TOTAL = "totaltimems"
    QUEUE = "requestqueuetimems"  # requests that were read with it come first
    LOCAL = "localtimems"
    REMOTE = "remotetimems"  # it waits: for records, for members, for time to pass
    ANSWER_QUEUE = "responsequeuetimems"  # requests of its client that came before it are open
    SEND = "responsesendtimems"  # until the kernel has taken it


class Times:
    """Of one part, of one API."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0  # microseconds
        self.buckets = [0] * BUCKETS

    def add(self, took: int) -> None:
        """One more."""
        self.count += 1
        self.total += took
        self.buckets[took.bit_length()] += 1

    def quantile(self, share: float) -> float:
        """In milliseconds: so many of all requests took no longer."""
        rank, seen = share * self.count, 0
        for number, count in enumerate(self.buckets):
            if count and seen + count >= rank:
                low = (1 << number) >> 1
                return (low + (rank - seen) / count * ((1 << number) - low)) / 1_000
            seen += count
        return 0.0


class RequestTimes:
    """Of all APIs that were asked for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.by_key: dict[int, dict[Part, Times]] = {}

    def answered(self, pending: PendingRequest) -> None:
        """An answer has left."""
        now = self._clock.micros()
        try:
            parts = self.by_key[pending.key]
        except KeyError:
            parts = self.by_key[pending.key] = {part: Times() for part in Part}
        whole, took = parts[Part.TOTAL], now - pending.arrived_at
        whole.count += 1  # as `add`, without a call for each request
        whole.total += took
        whole.buckets[took.bit_length()] += 1
        if whole.count <= ALL_COUNTED or not whole.count & COUNTED_MASK:
            ready = pending.ready_at
            done = ready if pending.waits_from is None else pending.waits_from
            parts[Part.QUEUE].add(pending.begun_at - pending.arrived_at)
            parts[Part.LOCAL].add(done - pending.begun_at)
            parts[Part.REMOTE].add(ready - done)
            parts[Part.ANSWER_QUEUE].add(pending.sent_at - ready)
            parts[Part.SEND].add(now - pending.sent_at)
