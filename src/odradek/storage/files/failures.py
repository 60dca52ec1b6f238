"""A log dir fails once, and alone.

Code that meets an I/O error reports it here. The first report of a directory is kept for the one
who takes directories offline; all later ones change nothing. A directory that failed stays so
until the broker starts again, or its disk is replaced.
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.storage.errors import DiskFull, LogDirOffline, OutOfDescriptors, StorageError

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})


class Failures:
    """Which directories of this broker have failed, and which of them were not handled yet."""

    def __init__(self) -> None:
        self.failed: dict[str, OSError] = {}  # as a rule it has none, and nothing is to be checked
        self._reported: list[str] = []
        self._given_up: list[TopicPartition] = []
        self.on_failed: list[Callable[[], object]] = []
        """Told when a directory fails, on the thread that met it: `take` then has it."""

    def report(self, log_dir: str, error: OSError) -> LogDirOffline:
        """Notes the failure; the exception to raise for whatever was being done.

        Without the traceback, which has files of the disk: with one open it cannot be unmounted.
        """
        if log_dir not in self.failed:
            self.failed[log_dir] = copy(error)
            self._reported.append(log_dir)
            self._tell()
        return LogDirOffline(f"{log_dir}: {error}")

    def gave_up(self, partition: TopicPartition) -> None:
        """One log is not to be relied on any more; its directory serves on. On the loop."""
        self._given_up.append(partition)
        self._tell()

    def _tell(self) -> None:
        for failed in self.on_failed:
            failed()

    def take_given_up(self) -> list[TopicPartition]:
        """The logs that were given up since the last call."""
        taken, self._given_up = self._given_up, []
        return taken

    def check(self, log_dir: str) -> None:
        """LogDirOffline if this directory has failed before."""
        if log_dir in self.failed:
            raise LogDirOffline(f"{log_dir} is offline since: {self.failed[log_dir]}")

    def forget(self, log_dir: str) -> None:
        """Another disk is in its place."""
        self.failed.pop(log_dir, None)

    def reason(self, log_dir: str) -> str:
        """Why the directory is offline."""
        return str(self.failed[log_dir])

    def has_failed(self, log_dir: str) -> bool:
        """Whether it has."""
        return log_dir in self.failed

    def take(self) -> list[tuple[str, OSError]]:
        """The directories that failed since the last call, each once in its life."""
        taken, self._reported = self._reported, []
        return [(log_dir, self.failed[log_dir]) for log_dir in taken]

    def met(self, log_dir: str, error: OSError) -> StorageError:
        """What an error means: a full disk is not a broken one, nor is a process without files."""
        if error.errno in FULL:
            return DiskFull(f"{log_dir}: {error}")
        if error.errno in NO_DESCRIPTORS:
            return OutOfDescriptors(f"{log_dir}: {error}")
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

        After one that fails, for whatever reason, it is unknown what is durable, and a second one
        would not tell: the directory is given up. A file that could not even be opened for it, for
        want of descriptors, was not synced, and can be later.
        """
        self.check(log_dir)
        try:
            yield
        except OSError as error:
            if error.errno in NO_DESCRIPTORS:
                raise OutOfDescriptors(f"{log_dir}: {error}") from error
            raise self.report(log_dir, error) from error
