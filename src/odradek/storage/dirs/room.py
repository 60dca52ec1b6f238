"""How much room the volume of a log dir has, whatever uses it."""

from typing import NamedTuple

from odradek.model.units import Bytes
from odradek.storage.dirs.log_dir import LogDir


class Room(NamedTuple):
    """When it was looked at."""

    free: Bytes
    total: Bytes


def measure(log_dir: LogDir) -> Room:
    """As the disk says; the call may block."""
    with log_dir.failures.touching(log_dir.name):
        return Room(log_dir.disk.free_bytes(), log_dir.disk.total_bytes())
