"""Standard output and error of a server: they may be full, closed, or without a reader.

A server must not stop, wait or spin because its lines are not read. So a line is written when the
descriptor is ready for it, and waits in a bounded buffer otherwise; what does not fit is dropped
and counted, and the count is written as soon as lines go out again.
"""

import os
import select
from collections.abc import Callable
from typing import Final

from odradek.model.counting import counted
from odradek.model.units import KIB, Bytes

PENDING_BYTES_MAX: Final = Bytes(256 * KIB)
PIECE_BYTES: Final = select.PIPE_BUF
"""So much goes into a pipe that is ready for some without waiting."""

STDIN, STDOUT, STDERR = 0, 1, 2


def text_of_lost(count: int) -> str:
    """What tells a person that lines are missing."""
    return f"{counted(count, 'line')} could not be written\n"


class Output:
    """Writes lines to a descriptor; never raises, never waits."""

    def __init__(
        self,
        descriptor: int,
        *,
        lost: Callable[[int], str] = text_of_lost,
        pending_bytes_max: Bytes = PENDING_BYTES_MAX,
    ) -> None:
        self._descriptor = descriptor
        self._say_lost = lost
        self._pending_bytes_max = pending_bytes_max
        self._pending = bytearray()
        self._lost = 0

    def write(self, text: str) -> int:
        """Takes it; a part of a line that does not fit is lost as a line of its own."""
        data = text.encode("utf-8", "backslashreplace")
        if len(self._pending) + len(data) > self._pending_bytes_max:
            self.flush()
        if len(self._pending) + len(data) > self._pending_bytes_max:
            self._lost += data.count(b"\n") or 1
        else:
            self._pending += data
        return len(text)

    def flush(self) -> None:
        """Writes what can be written now."""
        self._drain()
        if self._lost and not self._pending:
            lost, self._lost = self._lost, 0
            self._pending += self._say_lost(lost).encode()
            self._drain()

    def isatty(self) -> bool:
        """Whether a person looks."""
        try:
            return os.isatty(self._descriptor)
        except OSError:
            return False

    def _drain(self) -> None:
        while self._pending and self._is_ready():
            try:
                count = os.write(self._descriptor, self._pending[:PIECE_BYTES])
            except OSError:
                return
            del self._pending[:count]

    def _is_ready(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(0))


def open_standard_streams() -> None:
    """Points those that are closed nowhere: else a socket or a log would get their number."""
    for descriptor in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            assert opened == descriptor, "the lowest number that is free"


def say(line: str, descriptor: int = STDOUT) -> None:
    """A line for the operator; the server goes on whether it is read or not."""
    output = Output(descriptor)
    output.write(line + "\n")
    output.flush()
