"""What Linux counts for the device of a directory; nothing where it does not."""

from pathlib import Path
from typing import Final

from odradek.broker.doors import DiskCounters

BLOCK: Final = Path("/sys/dev/block")
EXT4: Final = Path("/sys/fs/ext4")
OPERATIONS: Final = (0, 4, 15)  # reads, writes, flushes; discards are left out
MILLIS: Final = (3, 7, 16)


def disk_counters(directory: str) -> DiskCounters | None:
    """Of the device that holds it, since the system started."""
    number = Path(directory).stat().st_dev
    device = BLOCK / f"{number >> 8 & 0xFFF}:{number & 0xFF | number >> 12 & 0xFFF00}"
    try:
        fields = [int(it) for it in (device / "stat").read_text().split()]
        name = device.resolve().name
    except (OSError, ValueError):
        return None
    errors = sum(map(_number, (device / "device" / "ioerr_cnt", EXT4 / name / "errors_count")))
    return DiskCounters(_sum(fields, OPERATIONS), _sum(fields, MILLIS), errors)


def _sum(fields: list[int], which: tuple[int, ...]) -> int:
    return sum(fields[it] for it in which if it < len(fields))


def _number(file: Path) -> int:
    """SCSI's are hexadecimal."""
    try:
        return int(file.read_text().strip(), 0)
    except (OSError, ValueError):
        return 0
