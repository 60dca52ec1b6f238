"""The Clock door on the machine's clocks."""

import asyncio
from pathlib import Path
from time import monotonic_ns, thread_time_ns, time_ns
from typing import Final

from odradek.model.units import Micros, Millis, Timestamp

SCHEDULED: Final = Path("/proc/thread-self/schedstat")
"""Nanoseconds on a processor, nanoseconds ready and waiting for one, turns."""


class SystemClock:
    """Whole milliseconds, rounded down."""

    def monotonic(self) -> Millis:
        """Since some moment before this process; goes on while the wall clock is set."""
        return Millis(monotonic_ns() // 1_000_000)

    def micros(self) -> Micros:
        """As `monotonic`, a thousand times finer."""
        return Micros(monotonic_ns() // 1_000)

    def worked(self) -> Micros:
        """Of the loop, where it is asked on the loop."""
        return Micros((thread_time_ns() + _waited_ns()) // 1_000)

    def wall(self) -> Timestamp:
        """Since 1970."""
        return Timestamp(time_ns() // 1_000_000)

    async def sleep_until(self, deadline: Millis) -> None:
        """Never returns early; lets others run once even when the deadline has passed."""
        while True:
            left = deadline - self.monotonic()
            await asyncio.sleep(max(left, 0) / 1_000)
            if left <= 0:
                return


def _waited_ns() -> int:
    """How long this thread was ready while others ran; 0 where Linux does not count it."""
    try:
        counted = SCHEDULED.read_text().split()
    except OSError:
        return 0
    return int(counted[1]) if len(counted) > 1 else 0
