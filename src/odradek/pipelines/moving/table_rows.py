"""The rows of one partition out of a table's files, in the order of their offsets.

Files of one partition follow each other, or overlap where the table is split by another column or
was backfilled. Rows of a file rise. So only files that overlap are read at the same time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.rewriting import Rewriting

Place = tuple[str, int]
"""Topic id and partition."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A file and the offsets that its rows can have."""

    file: DataFile
    span: Span


def by_partition(files: Sequence[DataFile]) -> tuple[dict[Place, list[Bounded]], list[DataFile]]:
    """The files of each partition by their first offset, and those that another program wrote."""
    found: dict[Place, list[Bounded]] = {}
    unknown = []
    for file in files:
        span = file.span
        if span is None:
            unknown.append(file)
        else:
            found.setdefault((span.topic_id, span.partition), []).append(Bounded(file, span))
    for those in found.values():
        those.sort(key=lambda it: (it.span.start, it.span.end))
    return found, unknown


def clusters(files: Sequence[Bounded]) -> Iterator[list[Bounded]]:
    """Groups of files such that no two groups overlap, in order."""
    group: list[Bounded] = []
    end = -1
    for file in files:
        if group and file.span.start >= end:
            yield group
            group = []
        group.append(file)
        end = max(end, file.span.end)
    if group:
        yield group


def rows_in_order(rewriting: Rewriting, files: Sequence[Bounded]) -> Iterator[pa.RecordBatch]:
    """All rows of the files of one partition; those of equal offsets stand side by side."""
    column = rewriting.layout.column("offset")
    for group in clusters(files):
        if len(group) == 1:
            yield from (it for it in rewriting.read(group[0].file) if it.num_rows)
        else:
            yield from _merged([rewriting.read(it.file) for it in group], column)


def _merged(streams: list[Iterator[pa.RecordBatch]], column: str) -> Iterator[pa.RecordBatch]:
    """Rows up to the smallest of the last offsets that were read, again and again."""
    heads: dict[int, pa.RecordBatch] = {}
    left = dict(enumerate(streams))
    while True:
        for number in list(left):
            if number not in heads:
                batch = next((it for it in left[number] if it.num_rows), None)
                if batch is None:
                    del left[number]
                else:
                    heads[number] = batch
        if not heads:
            return
        horizon = min(it.column(column)[-1].as_py() for it in heads.values())
        parts = []
        for number, batch in list(heads.items()):
            count = pc.sum(pc.less_equal(batch.column(column), horizon)).as_py()
            parts.append(batch.slice(0, count))
            if count == batch.num_rows:
                del heads[number]
            else:
                heads[number] = batch.slice(count)
        together = pa.Table.from_batches(parts).sort_by(column).combine_chunks()
        yield from together.to_batches()


def names_of(topics: Mapping[str, str], place: Place) -> str:
    """As a person names a partition."""
    return f"{topics.get(place[0], place[0])}-{place[1]}"
