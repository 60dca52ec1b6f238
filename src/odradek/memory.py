"""How a process is kept from pauses: what it holds for good is no garbage.

Measured: the collector's defaults cost a busy broker 80 ms at the 99th percentile, and glibc's
a fifth of its system time, since it gives freed frames back to the system only to fault them in
again. A start makes a great deal and drops nothing, so it runs with the collector off.
"""

import ctypes
import gc
from typing import Final

from odradek.model.units import MIB, Bytes

GC_THRESHOLDS: Final = (5_000, 3, 6_000)
"""Looking a tree or a log's tail through costs pauses: five thousand new objects some milliseconds,
and twenty thousand that have stayed the next step. All that came since the start is hardly ever
looked through.
"""

# Of glibc's `malloc.h`, with the values that we give them. A larger MMAP threshold old ones refuse.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
TRIM_BYTES: Final = Bytes(256 * MIB)  # so much may lie free at the heap's end
MMAP_BYTES: Final = Bytes(32 * MIB)  # what is smaller comes from the heap, and is used again


def begin_start() -> None:
    """From here on until `calm_collector` nothing is looked through."""
    gc.disable()
    keep_freed_memory()


def calm_collector() -> None:
    """What there is now stays, and what comes is looked through seldom."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


def keep_freed_memory(trim: Bytes = TRIM_BYTES) -> bool:
    """Has glibc use freed memory again instead of giving it back; False where there is none."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    taken = {mallopt(_M_TRIM_THRESHOLD, trim), mallopt(_M_MMAP_THRESHOLD, MMAP_BYTES)}
    return taken == {1}
