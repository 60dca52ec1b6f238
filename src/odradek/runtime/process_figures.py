"""What the system knows of this process, under the names of Prometheus' client libraries."""

import resource
import sys
import time
from pathlib import Path
from typing import Final

BEGAN: Final = time.time()
SELF: Final = Path("/proc/self")


def process_figures() -> dict[str, float]:
    """Read when somebody asks; where there is no `/proc`, what `getrusage` tells."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "process_cpu_seconds_total": round(used.ru_utime + used.ru_stime, 3),
        "process_max_fds": float(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        "process_start_time_seconds": round(BEGAN, 3),
    }
    try:
        virtual, resident = map(int, (SELF / "statm").read_text().split()[:2])
        open_files = sum(1 for _ in (SELF / "fd").iterdir()) - 1  # the listing has one open, too
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1_024
        return {**figures, "process_resident_memory_bytes": float(used.ru_maxrss * unit)}
    page = resource.getpagesize()
    return {
        **figures,
        "process_virtual_memory_bytes": float(virtual * page),
        "process_resident_memory_bytes": float(resident * page),
        "process_open_fds": float(open_files),
    }
