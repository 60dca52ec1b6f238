"""Files of another program, whose rows are in no order that is known: sorted, in several files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.keys import sorted_by
from odradek.pipelines.tables.rewriting import Rewriting
from odradek.pipelines.tables.writing import Layout
from odradek.pipelines.upserts.merging import KeyedWriter

SORTED_BYTES: Final = 32 << 20
"""Of rows that are sorted at once."""


@dataclass(frozen=True)
class SortFile:
    """The work of one task."""

    layout: Layout

    def __call__(self, file: DataFile) -> tuple[DataFile, ...]:
        """The same rows, in files that are each in the order of keys."""
        done: list[DataFile] = []
        for some in _bounded(Rewriting(self.layout, {}).read(file)):
            found = sorted_by(some, self.layout.keys)
            out = KeyedWriter(self.layout, self.layout.file_bytes)
            out.write(found)
            done += out.finish()
        return tuple(done)


def _bounded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(it.nbytes for it in waiting) >= SORTED_BYTES:
            yield _whole(waiting)
            waiting = []
    if waiting:
        yield _whole(waiting)


def _whole(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
