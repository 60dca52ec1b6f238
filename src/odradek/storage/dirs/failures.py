"""A log dir fails once, and alone.

Whoever meets an I/O error reports it here. The first report of a directory is kept for the one
who takes directories offline; all later ones change nothing. A directory that failed stays so
until the broker starts again.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from odradek.storage.errors import DiskFull, LogDirOffline, StorageError

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Failures:
    """Which directories of this broker have failed, and which of them nobody has handled yet."""

    def __init__(self) -> None:
        self._failed: dict[str, OSError] = {}
        self._reported: list[str] = []

    def report(self, log_dir: str, error: OSError) -> LogDirOffline:
        """Notes the failure; the exception to raise for whatever was being done."""
        if log_dir not in self._failed:
            self._failed[log_dir] = error
            self._reported.append(log_dir)
        return LogDirOffline(f"{log_dir}: {error}")

    def check(self, log_dir: str) -> None:
        """LogDirOffline if this directory has failed before."""
        if log_dir in self._failed:
            raise LogDirOffline(f"{log_dir} is offline since: {self._failed[log_dir]}")

    def has_failed(self, log_dir: str) -> bool:
        """Whether it has."""
        return log_dir in self._failed

    def take(self) -> list[tuple[str, OSError]]:
        """The directories that failed since the last call, each once in its life."""
        taken, self._reported = self._reported, []
        return [(log_dir, self._failed[log_dir]) for log_dir in taken]

    def met(self, log_dir: str, error: OSError) -> StorageError:
        """What an error means: a full disk is not a broken one."""
        if error.errno in FULL:
            return DiskFull(f"{log_dir}: {error}")
        return self.report(log_dir, error)

    @contextmanager
    def touching(self, log_dir: str) -> Iterator[None]:
        """Around what may meet an I/O error of this directory."""
        self.check(log_dir)
        try:
            yield
        except OSError as error:
            raise self.met(log_dir, error) from error

    @contextmanager
    def syncing(self, log_dir: str) -> Iterator[None]:
        """Around the sync of a log's files.

        After one that fails, for whatever reason, nobody knows what is durable, and a second one
        would not tell: the directory is given up.
        """
        self.check(log_dir)
        try:
            yield
        except OSError as error:
            raise self.report(log_dir, error) from error
