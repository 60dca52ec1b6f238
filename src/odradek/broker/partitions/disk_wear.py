"""Early warning: disks that become slower, or whose errors grow, before one of our calls fails.

The operating system counts operations of each device, the time that they took, and errors that it
mended or hid. A device shared by several log dirs warns for each. What is slow is measured against
the same disk's last two hours, for nothing else says what is usual for it.
"""

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Final

import structlog

from odradek.broker.doors import DiskCounters
from odradek.broker.jobs import off_loop
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import StorageError

LOOK: Final = Millis(30 * SECOND)
OPERATIONS_MIN: Final = 20
"""With fewer between two looks a mean says nothing."""
KEPT: Final = 240
RECENT: Final = 5
USUAL_MIN: Final = 20
"""Looks before anything can be called slow."""
SLOWER: Final = 4
SLOW_MS: Final = 20.0
"""A disk that is faster is never slow, whatever it was before."""

log = structlog.get_logger()


class DiskTrend:
    """What one disk's counters mean."""

    def __init__(self) -> None:
        self._first: DiskCounters | None = None
        self._last: DiskCounters | None = None
        self._means: deque[float] = deque(maxlen=KEPT)  # milliseconds an operation, by look

    def on_counters(self, now: DiskCounters) -> str:
        """What is to be feared; empty if nothing is."""
        first, last = self._first or now, self._last or now
        self._first, self._last = first, now
        operations = now.operations - last.operations
        if operations >= OPERATIONS_MIN:
            self._means.append((now.millis - last.millis) / operations)
        errors = now.errors - first.errors
        if errors > 0:
            return f"the system has counted {errors} errors of the disk since the broker started"
        return self._slowness()

    def _slowness(self) -> str:
        if len(self._means) < USUAL_MIN:
            return ""
        recent, usual = median(list(self._means)[-RECENT:]), median(self._means)
        if recent < max(SLOW_MS, SLOWER * usual):
            return ""
        return f"an operation of the disk takes {recent:.0f} ms; {usual:.1f} ms were usual"


class DiskWear:
    """The disks of all log dirs."""

    def __init__(
        self, replicas: ReplicaManager, clock: Clock, counters: Callable[[str], DiskCounters | None]
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._counters = counters
        self._trends: dict[str, DiskTrend] = {}

    def on_dir_replaced(self, fresh: LogDir) -> None:
        """What is known is of the disk that was there before."""
        self._trends.pop(fresh.name, None)
        self._replicas.logs.warnings.pop(fresh.name, None)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._clock.sleep_until(Millis(self._clock.monotonic() + LOOK))
            for log_dir in self._replicas.dirs.online:
                if log_dir.name not in self._replicas.logs.stuck:
                    await self._look(log_dir.name)

    async def _look(self, name: str) -> None:
        found: list[DiskCounters | None] = []
        worker, warnings = self._replicas.logs.workers[name], self._replicas.logs.warnings
        try:
            await off_loop(worker, lambda: found.append(self._counters(name)))
        except (OSError, StorageError):
            return
        (counters,) = found
        if counters is None:
            return
        warning = self._trends.setdefault(name, DiskTrend()).on_counters(counters)
        if not warning:
            warnings.pop(name, None)
        else:
            if name not in warnings:
                log.warning("log_dir.wears_out", log_dir=name, reason=warning)
            warnings[name] = warning
