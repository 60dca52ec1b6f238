"""Objects in a directory, each a file that has its name once it is whole and on the device."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from odradek.pipelines.tables.store import Entry, nonce

TEMPORARY: Final = ".partial-"  # Spark and Hive do not read what begins with a dot
WRITE_BEHIND_BYTES: Final = 4 << 20
"""After so many bytes of a file the kernel is asked to write them to the device."""


@dataclass(frozen=True)
class LocalStore:
    """A directory."""

    root: Path

    @property
    def uri(self) -> str:
        """An absolute path: what every program accepts."""
        return str(self.root)

    def get(self, key: str) -> bytes | None:
        """Reads the file."""
        try:
            return (self.root / key).read_bytes()
        except FileNotFoundError:
            return None

    def put_new(self, key: str, data: bytes) -> bool:
        """A hard link fails if the name is there; the file behind it is whole and synced."""
        path = self.root / key
        temporary = self._written(path, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        sync_directory(path.parent)
        return True

    def put(self, key: str, data: bytes) -> None:
        """A rename replaces the file at once."""
        path = self.root / key
        self._written(path, data).replace(path)
        sync_directory(path.parent)

    def _written(self, path: Path, data: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{TEMPORARY}{nonce()}")
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def list(self, prefix: str) -> Iterator[Entry]:
        """Walks the directory; what vanishes meanwhile is left out."""
        for directory, _, names in os.walk(self.root / prefix):
            for name in names:
                path = Path(directory) / name
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                key = path.relative_to(self.root).as_posix()
                yield Entry(key, status.st_size, status.st_mtime_ns // 1_000_000)

    def delete(self, keys: Iterable[str]) -> None:
        """Unlinks the files, and directories that this leaves empty."""
        for key in keys:
            (self.root / key).unlink(missing_ok=True)
            for parent in (self.root / key).parents:
                if parent == self.root or not _removed_if_empty(parent):
                    break

    @contextmanager
    def writing(self, key: str) -> Iterator["_WriteBehindFile"]:
        """The file has another name until it is whole and synced; its name is durable, too."""
        path = self.root / key
        temporary = path.with_name(f"{TEMPORARY}{nonce()}")
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                file = temporary.open("xb")
                break
            except FileNotFoundError:  # a sweep has just removed the empty directory
                continue
        try:
            with file:
                yield _WriteBehindFile(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
            for directory in path.relative_to(self.root).parents:  # some may be new, too
                sync_directory(self.root / directory)
        finally:
            temporary.unlink(missing_ok=True)

    def reading(self, key: str) -> Any:
        """Not mapped: what is read of a large file would count as this process's memory."""
        import pyarrow as pa

        return pa.OSFile(str(self.root / key))


class _WriteBehindFile:
    """A file whose bytes go to the device while the next ones are made, so that the sync is short.

    Without it a sync of 40 MB takes a fifth of the time in which a task reads and writes them.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._begun = 0
        self._written = 0

    def write(self, data: Any) -> int:
        """Writes all of it."""
        count = self._file.write(data)
        self._written += count
        if self._written - self._begun >= WRITE_BEHIND_BYTES:
            self._write_out()
        return count

    def _write_out(self) -> None:
        """Pages that are not needed any more are written out first: Linux does not wait for it."""
        advise = getattr(os, "posix_fadvise", None)
        if advise is not None:
            self._file.flush()
            length = self._written - self._begun
            advise(self._file.fileno(), self._begun, length, os.POSIX_FADV_DONTNEED)
        self._begun = self._written


def sync_directory(path: Path) -> None:
    """What was named, renamed or removed there survives a loss of power."""
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _removed_if_empty(path: Path) -> bool:
    try:
        path.rmdir()
    except OSError:
        return False
    return True
