"""The rows of one partition out of a table's files, in the order of their offsets.

Files of one partition follow each other, or overlap where the table is split by another column or
was backfilled. The rows of a file rise. So only files that overlap are read at the same time.
"""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.tables.files import DataFile, Span

Reader = Callable[[DataFile], Iterator[pa.RecordBatch]]
Place = tuple[str, int]
"""Topic id and partition."""


def span_of(file: DataFile) -> Span:
    """Of a file that we wrote."""
    assert file.span is not None, file.path
    return file.span


def by_partition(files: Sequence[DataFile]) -> tuple[dict[Place, list[DataFile]], list[DataFile]]:
    """The files of each partition by their first offset, and those that another program wrote."""
    found: dict[Place, list[DataFile]] = {}
    unknown = []
    for file in files:
        if file.span is None:
            unknown.append(file)
        else:
            found.setdefault((file.span.topic_id, file.span.partition), []).append(file)
    for those in found.values():
        those.sort(key=_place)
    return found, unknown


def _place(file: DataFile) -> tuple[int, int]:
    span = span_of(file)
    return span.start, span.end


def _clusters(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Groups of files such that no two groups overlap, in order."""
    group: list[DataFile] = []
    end = -1
    for file in sorted(files, key=_place):
        span = span_of(file)
        if group and span.start >= end:
            yield group
            group = []
        group.append(file)
        end = max(end, span.end)
    if group:
        yield group


def rows_in_order(read: Reader, files: Sequence[DataFile], column: str) -> Iterator[pa.RecordBatch]:
    """All rows of files of one partition; rows of equal offsets come one after the other."""
    for group in _clusters(files):
        if len(group) == 1:
            yield from (it for it in read(group[0]) if it.num_rows)
        else:
            yield from _merged([read(it) for it in group], column)


def _merged(streams: list[Iterator[pa.RecordBatch]], column: str) -> Iterator[pa.RecordBatch]:
    """Rows up to the smallest of the last offsets that were read, again and again."""
    heads: dict[int, pa.RecordBatch] = {}
    left = dict(enumerate(streams))
    while True:
        for number in [it for it in left if it not in heads]:
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
