"""What the server counts, for `srvr`, `stat` and `mntr`."""

from dataclasses import dataclass


@dataclass(slots=True)
class ServerStats:
    """Since the start."""

    received: int = 0  # packets
    sent: int = 0
    refused: int = 0  # connections
    expired: int = 0  # sessions
    latency_max: int = 0  # milliseconds, of an answer that waited for the journal
    _latency_sum: int = 0

    def took(self, latency: int) -> None:
        """An answer waited so many milliseconds for the journal."""
        self._latency_sum += latency
        self.latency_max = max(self.latency_max, latency)

    @property
    def latency_mean(self) -> float:
        """Of all that was sent, what had nothing to wait for included."""
        return self._latency_sum / self.sent if self.sent else 0.0
