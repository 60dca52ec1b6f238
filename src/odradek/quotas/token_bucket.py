"""Alterations of the cluster, which come in bursts: as Kafka's `TokenBucket` counts them (KIP-599).

Credit grows with time, up to what all windows together allow. A client that has some left may take
more than that, and waits until it is paid back.
"""

from odradek.model.units import SECOND, Millis


class TokenBucket:
    """The credit of one client."""

    __slots__ = ("_at", "_burst_seconds", "_tokens", "limit")

    def __init__(self, limit: float, burst_seconds: float, now: Millis) -> None:
        self.limit = limit  # tokens a second
        self._burst_seconds = burst_seconds
        self._tokens = limit * burst_seconds
        self._at = now

    def take(self, count: float, now: Millis) -> None:
        """So many, whether they are there or not."""
        self._refill(now)
        self._tokens = min(self._tokens - count, self.limit * self._burst_seconds)

    def pause(self, now: Millis) -> Millis:
        """How long until nothing is owed."""
        self._refill(now)
        if self._tokens >= 0:
            return Millis(0)
        return Millis(round(-self._tokens / self.limit * SECOND))

    def is_full(self, now: Millis) -> bool:
        """Whether a new one would be the same."""
        self._refill(now)
        return self._tokens >= self.limit * self._burst_seconds

    def _refill(self, now: Millis) -> None:
        grown = self._tokens + self.limit * (now - self._at) / SECOND
        self._tokens = min(grown, self.limit * self._burst_seconds)
        self._at = now
