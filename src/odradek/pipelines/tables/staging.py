"""A directory whose plain readers see a data file from its commit on, until one takes it out.

A data file has up to three names, one after the other and never an earlier one again:

    .NAME.staged     before the commit that adds it
    NAME
    .NAME.replaced   after the commit that takes it out, for readers of the version before

Spark and pyarrow pass over what begins with a dot, DuckDB over what does not end in `.parquet`.
Each process that knows a version settles its files: those that it took out leave the sight first,
then those that it added come. So a reader of the directory may miss rows for a moment, and never
sees one twice. It does no harm if several settle at once, or one late: it only moves names on.
"""

import errno
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final

from odradek.pipelines.tables.files import is_data_file
from odradek.pipelines.tables.local_store import LocalStore, sync_directory
from odradek.pipelines.tables.store import Entry

STAGED: Final = ".staged"
REPLACED: Final = ".replaced"


@dataclass(frozen=True)
class StagedStore(LocalStore):
    """Callers know the name in the middle alone."""

    def writing(self, key: str) -> Any:
        """Makes a staged file."""
        return super().writing(hidden(key, STAGED))

    def reading(self, key: str) -> Any:
        """Under the name that it has: each is looked for before the one that follows it."""
        for name in (hidden(key, STAGED), key):
            with suppress(FileNotFoundError):
                return super().reading(name)
        return super().reading(hidden(key, REPLACED))

    def list(self, prefix: str) -> Iterator[Entry]:
        """Hidden files, too, by the names that callers know."""
        for entry in super().list(prefix):
            yield replace(entry, key=_known(entry.key))

    def delete(self, keys: Iterable[str]) -> None:
        """Whatever they are called."""
        super().delete(
            name for key in keys for name in (hidden(key, STAGED), key, hidden(key, REPLACED))
        )

    def settle(self, show: Iterable[str], hide: Iterable[str]) -> None:
        """Gives files the names that a version says. One who may only read leaves them."""
        try:
            folders = {self._moved_to(hidden(key, REPLACED), key) for key in hide}
            for folder in folders - {None}:
                sync_directory(self.root / str(folder))
            for key in show:
                self._renamed(hidden(key, STAGED), key)
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                raise

    def _moved_to(self, replaced: str, key: str) -> PurePosixPath | None:
        """Out of sight, from either name; the folder where something changed."""
        for name in (hidden(key, STAGED), key):
            if self._renamed(name, replaced):
                return PurePosixPath(key).parent
        return None

    def _renamed(self, name: str, other: str) -> bool:
        try:
            (self.root / name).rename(self.root / other)
        except FileNotFoundError:
            return False
        return True


def hidden(key: str, ending: str) -> str:
    """The name that plain readers pass over."""
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}.{name}{ending}"


def _known(key: str) -> str:
    """The name that callers know."""
    folder, slash, name = key.rpartition("/")
    for ending in (STAGED, REPLACED):
        if name.startswith(".") and is_data_file(name[1:].removesuffix(ending)):
            return f"{folder}{slash}{name[1:].removesuffix(ending)}"
    return key
