"""Runs merged into the files that may hold their keys: these are written anew, the rest is left.

A merge is of all keys between two bounds. Its memory is that of some rows of each file and run that
it reads at the same time, and of the row group that it writes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.columns import beyond_calendar
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.keys import (
    Ahead,
    Bounds,
    Sorted,
    as_bytes,
    bounds_of,
    bounds_said,
    in_key_order,
    path_of,
    within,
)
from odradek.pipelines.tables.rewriting import Rewriting
from odradek.pipelines.tables.store import nonce
from odradek.pipelines.tables.writing import Layout, OpenFile
from odradek.pipelines.upserts.folding import Fold, Refused
from odradek.pipelines.upserts.runs import Truncated, changes_in

SEEN_BYTES_MAX: Final = 16 << 20
"""Of changes that are looked at before it is known which files they may be in."""

MERGED_GROUP_BYTES: Final = 8 << 20
"""Of a row group of a file whose size shall be about what is wanted."""
WRITTEN_BYTES: Final = 1 << 20
"""Of rows behind which it is looked whether a file is large enough."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Files whose keys may lie between each other's, and from where on keys belong to them."""

    low: bytes | None
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one task merges: clusters that follow each other, and the keys up to a bound."""

    clusters: tuple[Cluster, ...]
    high: bytes | None


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of it."""

    add: tuple[DataFile, ...] = ()
    remove: tuple[DataFile, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class MergeRuns:
    """The work of one task."""

    layout: Layout
    changes: pa.Schema  # of the runs
    runs: tuple[DataFile, ...]  # by topic, partition and offset
    truncated: tuple[Truncated, ...] = ()

    def __call__(self, piece: Piece) -> Merged:
        """Merges what lies between the piece's bounds."""
        changes = self.changes_of(piece)
        ends = [it.low for it in piece.clusters[1:]]
        done = [
            self._merged(cluster, changes.below(end))
            for cluster, end in zip(piece.clusters, [*ends, piece.high], strict=True)
        ]
        return Merged(
            tuple(file for it in done for file in it.add),
            tuple(file for it in done for file in it.remove),
            tuple(one for it in done for one in it.refused),
        )

    def changes_of(self, piece: Piece) -> Ahead:
        """Those between the piece's bounds, in the order of keys."""
        bounds = piece.clusters[0].low, piece.high
        store, keys = self.layout.store, self.layout.keys
        streams = changes_in(store, self.runs, self.changes, keys=keys, bounds=bounds)
        return Ahead(in_key_order([map(self._living, it) for it in streams], keys))

    def _living(self, changes: pa.RecordBatch) -> pa.RecordBatch:
        """Those that no later record has truncated."""
        for it in self.truncated:
            topic, offset = (changes.column(self.layout.column(n)) for n in ("topic", "offset"))
            gone = pc.and_(pc.equal(topic, it.topic), pc.less(offset, it.offset))
            changes = changes.filter(pc.invert(gone))
        return changes

    def _standing(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        for it in self.truncated:
            topic = rows.column(self.layout.column("topic"))
            rows = rows.filter(pc.not_equal(topic, it.topic))
        return rows

    def _merged(self, cluster: Cluster, changes: Iterator[Sorted]) -> Merged:
        seen, rest = _seen(changes)
        files = self._files(cluster, seen, is_all=rest is None)
        if not (seen or files):
            return Merged()
        size = sum(it.bytes for it in files) + sum(it.rows.nbytes for it in seen) // 4
        out = KeyedWriter(self.layout, _share(size, self.layout.file_bytes))
        fold = Fold(self.layout, is_changed=bool(self.truncated and files))
        rewriting = Rewriting(self.layout, {})
        stored = in_key_order(
            [map(self._standing, rewriting.read(it)) for it in files], self.layout.keys
        )
        try:
            for some in fold.rows(stored, Ahead(chain(seen, rest or ()))):
                out.write(some)
            add = out.finish()
        except BaseException:
            out.abandon()
            raise
        if not fold.is_changed:
            self.layout.store.delete([it.path for it in add])
            return Merged(refused=tuple(fold.refused))
        return Merged(tuple(add), files, tuple(fold.refused))

    def _files(
        self, cluster: Cluster, seen: Sequence[Sorted], *, is_all: bool
    ) -> tuple[DataFile, ...]:
        """Those that may hold a key; or the last, if it is small, for keys that none holds."""
        if self.truncated or not is_all:
            return cluster.files
        keys = np.concatenate([it.keys for it in seen]) if seen else np.zeros(0, np.int64)
        found = tuple(it for it in cluster.files if within(keys, bounds_of(it)))
        last = cluster.files[-1:]
        if found or not seen or not last or 2 * last[0].bytes > self.layout.file_bytes:
            return found
        return last


def _seen(changes: Iterator[Sorted]) -> tuple[list[Sorted], Iterator[Sorted] | None]:
    """The first changes, and the others; None: these are all."""
    seen: list[Sorted] = []
    size = 0
    for it in changes:
        seen.append(it)
        size += it.rows.nbytes
        if size >= SEEN_BYTES_MAX:
            return seen, changes
    return seen, None


def _share(size: int, file_bytes: int) -> int:
    """Of a file, such that all files are about as large."""
    return max(1, size // max(1, round(size / file_bytes)))


class KeyedWriter:
    """Rows in the order of their keys, in files of about a size."""

    def __init__(self, layout: Layout, file_bytes: int) -> None:
        self._layout = layout
        self._file_bytes = file_bytes
        self._open: OpenFile | None = None
        self._bounds: Bounds = (b"", b"")
        self._done: list[DataFile] = []

    def write(self, some: Sorted) -> None:
        """Takes rows whose keys are greater than all before."""
        each = some.rows.nbytes // len(some.keys) + 1
        size = max(1, min(WRITTEN_BYTES, self._file_bytes) // each)
        for start in range(0, len(some.keys), size):
            self._write(some.slice(start, min(start + size, len(some.keys))))

    def _write(self, some: Sorted) -> None:
        unsaid = beyond_calendar(some.rows)
        if self._open is not None and not unsaid <= self._open.unsaid:
            self._close()
        if self._open is None:
            path = path_of(self._layout.directory, nonce())
            self._open = OpenFile(
                self._layout, self._layout.schema, path, (), unsaid, MERGED_GROUP_BYTES
            )
            self._bounds = as_bytes(some.keys[0]), b""
        self._open.write(some.rows)
        self._bounds = self._bounds[0], as_bytes(some.keys[-1])
        if self._open.likely_bytes >= self._file_bytes:
            self._close()

    def finish(self) -> list[DataFile]:
        """Closes the last file, and says what they are."""
        if self._open is not None:
            self._close()
        return self._done

    def abandon(self) -> None:
        """Drops the file that is open."""
        if self._open is not None:
            self._open.abandon()
            self._open = None

    def _close(self) -> None:
        assert self._open is not None
        self._done.append(self._open.close(**bounds_said(self._bounds)))
        self._open = None


@dataclass(frozen=True)
class MergeFiles:
    """The work of a task that only makes few files of small ones."""

    layout: Layout

    def __call__(self, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
        """The same rows."""
        rewriting = Rewriting(self.layout, {})
        out = KeyedWriter(self.layout, self.layout.file_bytes)
        try:
            for some in in_key_order([rewriting.read(it) for it in files], self.layout.keys):
                out.write(some)
            return tuple(out.finish())
        except BaseException:
            out.abandon()
            raise
