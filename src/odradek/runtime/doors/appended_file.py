"""A file that lines are added to by a thread of its own, so that no disk holds up the loop.

Before each write it is seen whether the path still names the file that is open: after a rename,
as logrotate does it, a new one is made. What cannot be written, or comes faster than the disk
takes it, is lost and counted; the count is a line of the log.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from odradek.runtime.doors.worker import ThreadWorker

LINES_MAX: Final = 100_000
"""That wait for the disk."""
MODE: Final = 0o600
SECONDS_AT_THE_END: Final = 5.0
"""For a disk that hangs."""

log = structlog.get_logger()


class AppendedFile:
    """Opened at once: an OSError says that it cannot be."""

    def __init__(self, path: str) -> None:
        """On the loop."""
        self._path = path
        self._descriptor = _open(path)  # used by the worker from now on
        self._worker = ThreadWorker(f"lines of {path}")
        self._waiting: list[str] = []
        self._lost = 0

    def write(self, line: str) -> None:
        """Takes it for the next write."""
        if len(self._waiting) >= LINES_MAX:
            self._lost += 1
            return
        self._waiting.append(line)
        if self._worker.idle:
            self._submit()

    def close(self) -> None:
        """Writes what waits, unless the disk hangs."""
        self._submit()
        self._worker.close()
        self._worker.join(SECONDS_AT_THE_END)

    def _submit(self) -> None:
        lines, self._waiting = self._waiting, []
        self._worker.submit(_Write(self, lines))

    def add(self, lines: Sequence[str]) -> None:
        """On the worker."""
        if not self._is_current():
            fresh = _open(self._path)
            os.close(self._descriptor)
            self._descriptor = fresh
        data = memoryview("".join(f"{it}\n" for it in lines).encode())
        while data:
            data = data[os.write(self._descriptor, data) :]

    def ended(self, count: int, error: Exception | None) -> None:
        """On the loop."""
        lost = self._lost + (count if error is not None else 0)
        if lost:
            log.error("audit.lines_lost", path=self._path, count=lost, error=str(error or ""))
            self._lost = 0
        if self._waiting:
            self._submit()

    def _is_current(self) -> bool:
        try:
            named = Path(self._path).stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(self._descriptor))


class _Write:
    """A Job."""

    def __init__(self, file: AppendedFile, lines: Sequence[str]) -> None:
        self._file = file
        self._lines = lines

    def run(self) -> None:
        """All of them at once."""
        self._file.add(self._lines)

    def done(self, error: Exception | None) -> None:
        """The next ones may go."""
        self._file.ended(len(self._lines), error)


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)
