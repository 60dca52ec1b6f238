"""What a broker has of the world: handed in once, at its birth."""

import errno
from collections.abc import Callable
from typing import NamedTuple

from odradek.ports import Clock, Disk, Journal, Network, Random, Worker


class Dir(NamedTuple):
    """One log dir: the disk, and who goes there."""

    disk: Disk
    worker: Worker  # owns the logs: what is appended, and all that changes them
    background: Worker  # what takes long, and no append shall wait for: copies, syncs, deletions


class DiskCounters(NamedTuple):
    """What the system has counted of one disk; all of them only grow."""

    operations: int
    millis: int  # that these took together
    errors: int


def _no_file(path: str) -> bytes:
    raise FileNotFoundError(errno.ENOENT, "no such file", path)


class Doors(NamedTuple):
    """The doors of `ports`, as this broker finds them."""

    clock: Clock
    random: Random
    network: Network
    dirs: tuple[Dir, ...]
    hostname: str  # how others find this machine, if no setting says it
    journal: Callable[[], Journal]  # opened only where the embedded ZooKeeper is wanted
    process_figures: Callable[[], dict[str, float]] = dict
    """What the system knows of this process, by metric."""
    disk_counters: Callable[[str], DiskCounters | None] | None = None
    """Of the disk of a log dir; it may block. None: it is not known."""
    read_file: Callable[[str], bytes] = _no_file
    """A whole file that a setting names: a certificate. At a start, or beside the loop."""
