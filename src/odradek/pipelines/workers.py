"""What our code does in a Python worker of Spark, so that its tasks are short.

Java sends a task in two parts, and the kernel holds the second back until the first one is
acknowledged (Nagle's algorithm, which Spark leaves on). Linux acknowledges after 40 ms what is not
answered, so what a worker unpickles of ours, between the two, has it acknowledged at once.

The eight megabytes of an answer stay the worker's for the next one. Otherwise Linux takes and
clears them every time, a third of what reading costs the system.

After each task, and each plan, Spark's worker collects garbage, and walks through every object of
every module that was imported: 40 ms of processor time, more than a small task takes. What is there
when the first one ends stays until the process ends, so the collector is told not to look at it
again.
"""

import gc
import socket
from pathlib import Path
from typing import Any, Final

from odradek.memory import keep_freed_memory
from odradek.model.units import MIB, Bytes

KEPT_BYTES: Final = Bytes(64 * MIB)
DESCRIPTORS: Final = Path("/proc/self/fd")
TCP: Final = {(it, socket.SOCK_STREAM) for it in (socket.AF_INET, socket.AF_INET6)}

_frozen = False
"""Noted here because `gc.get_freeze_count` goes through all objects: 10 ms of each task."""


class SentToWorkers:
    """What Spark sends to its workers in the first part of a task."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A worker has it, and is about to wait for the second part."""
        self.__dict__.update(state)
        keep_freed_memory(KEPT_BYTES)
        acknowledge_all()


def acknowledge_all() -> None:
    """Acknowledges what has come through any TCP connection of this process; on Linux alone."""
    quickack = getattr(socket, "TCP_QUICKACK", None)
    if quickack is None or not DESCRIPTORS.is_dir():
        return
    for descriptor in DESCRIPTORS.iterdir():
        try:
            connection = socket.socket(fileno=int(descriptor.name))
        except OSError:  # no socket
            continue
        try:
            if (connection.family, connection.type) in TCP:
                connection.setsockopt(socket.IPPROTO_TCP, quickack, 1)
        finally:
            connection.detach()  # it is another's


def freeze_once() -> None:
    """To be called when work is done; only the first call in a process does something."""
    global _frozen  # noqa: PLW0603
    if not _frozen:
        _frozen = True
        gc.freeze()
