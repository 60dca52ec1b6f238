"""How long requests take, by API: counted on the hot path, read by the metrics page.

A time falls into one of the buckets that double from a microsecond on, so a quantile is known to
within a factor of two at worst, and better where the bucket is interpolated.
"""

from typing import Final

from odradek.broker.exchange import Exchange
from odradek.ports import Clock
from odradek.wire.apis import APIS

BUCKETS: Final = 40  # the last one begins at six days
QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)


class Times:
    """Of one API."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0  # microseconds
        self.buckets = [0] * BUCKETS

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
    """Of all APIs: from the read that brought a request to the write of its answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.by_key: dict[int, Times] = {key: Times() for key in APIS}

    def answered(self, exchange: Exchange) -> None:
        """An answer leaves."""
        took = self._clock.micros() - exchange.arrived_at
        times = self.by_key[exchange.api.key]
        times.count += 1
        times.total += took
        times.buckets[took.bit_length()] += 1
