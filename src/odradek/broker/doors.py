"""What a broker has of the world: handed in once, at its birth."""

import asyncio
import errno
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from odradek.config.kinds import Secret
from odradek.ports import Clock, Disk, Journal, Network, Random, Worker
from odradek.security.token_endpoint import Post


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


class Lines(Protocol):
    """A file that lines are added to, beside the loop."""

    def write(self, line: str) -> None:
        """Takes it; what cannot be written is counted and told."""
        ...

    def close(self) -> None:
        """Writes what is left."""
        ...


def _no_lines(path: str) -> Lines:
    raise FileNotFoundError(errno.ENOENT, "no such file", path)


def _no_post(url: str, form: bytes, head: Mapping[str, Secret]) -> bytes:
    del form, head
    raise FileNotFoundError(errno.ENOENT, "no such address", url)


def _at_once(call: Callable[[], Any]) -> "asyncio.Future[Any]":
    """Where there are no threads."""
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    found.set_result(call())
    return found


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
    read_https: Callable[[str], bytes] = _no_file
    """A document that a setting names, at its address: an issuer's keys. It may block."""
    add_lines: Callable[[str], Lines] = _no_lines
    """Opens a file that a setting names, at a start: the audit log."""
    post_https: Post = _no_post
    """The answer to a form, at an address that a setting names: a token. It blocks."""
    in_thread: Callable[[Callable[[], Any]], "asyncio.Future[Any]"] = _at_once
    """A call that blocks, in a thread of its own."""
