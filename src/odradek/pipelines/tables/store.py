"""Objects under one location, a directory or a bucket: the few operations that a table needs.

`put_new` writes an object whole, or finds that the name is taken: of two writers of one name one
wins. That is what commits stand on. In a directory it is a synced temporary file and a hard link;
in a bucket a conditional put (`If-None-Match`), which some stores ignore: a new table asks first.
"""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """An object, as a listing shows it."""

    key: str
    bytes: int
    modified_ms: int


class Store(Protocol):
    """Objects by key; a key is a relative path with `/`."""

    @property
    def uri(self) -> str:
        """Where the objects lie, as Spark and other programs name it."""

    def get(self, key: str) -> bytes | None:
        """The whole object; None if there is none."""

    def put_new(self, key: str, data: bytes) -> bool:
        """Writes an object whole; False if the key is taken."""

    def put(self, key: str, data: bytes) -> None:
        """Writes an object whole, in place of what was there."""

    def list(self, prefix: str) -> Iterator[Entry]:
        """All objects whose keys begin with this directory."""

    def delete(self, keys: Iterable[str]) -> None:
        """Removes objects; those that are gone already do not matter."""

    def writing(self, key: str) -> Any:
        """A context with a binary file; the object exists when the context has ended well."""

    def reading(self, key: str) -> Any:
        """A file that pyarrow reads from."""


def nonce() -> str:
    """What makes a name new."""
    return os.urandom(8).hex()


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000
