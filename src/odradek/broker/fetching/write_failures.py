"""What followers could not write, told once a minute for each log dir.

A full disk refuses every write of every replica that it has, and each of them tries again, at least
every ten seconds. The first is told at once, those that follow are counted.
"""

from typing import Final, NamedTuple

import structlog

from odradek.model.ids import TopicPartition
from odradek.model.units import MINUTE, Millis

PAUSE: Final = MINUTE

log = structlog.get_logger()


class _Untold(NamedTuple):
    """Since a line about a log dir was written."""

    told_at: Millis
    failures: int = 0
    partitions: frozenset[TopicPartition] = frozenset()


class WriteFailures:
    """Of all followers of a broker."""

    def __init__(self) -> None:
        self._untold: dict[str, _Untold] = {}

    def failed(self, log_dir: str, partition: TopicPartition, error: str, now: Millis) -> None:
        """This replica in this log dir could not write what it had fetched."""
        before = self._untold.get(log_dir)
        failures, partitions = 1, frozenset({partition})
        if before is not None:
            failures += before.failures
            partitions |= before.partitions
            if now - before.told_at < PAUSE:
                self._untold[log_dir] = _Untold(before.told_at, failures, partitions)
                return
        self._untold[log_dir] = _Untold(now)
        log.error(
            "follower.not_written",
            log_dir=log_dir,
            partition=str(partition),
            error=error,
            partitions=len(partitions),
            failures=failures,
        )
