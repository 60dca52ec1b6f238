"""The rules of a commit, whatever the format: where a batch may begin, who repeats, who gives up.

* `append`: the batch begins where the table ends in each of its partitions, or it is refused. So a
  batch that was committed already, or read by a second archiver, adds nothing.
* `upsert`: the same, of a batch that takes files out as well; they were chosen among those that are
  there, so it gives up if these are other ones now.
* `replace`: exactly the rows of some offset ranges are exchanged; the end offsets stay.
* `merge`: some files become others with the same rows; it gives up if one of them has gone.
* `withdraw`: some files are taken out, and the end offsets stay; it gives up likewise.

Each is decided on a snapshot. After a conflict the table is loaded again and it is decided again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from odradek.pipelines.errors import TopicMadeAgain
from odradek.pipelines.positions import NO_EPOCH, OffsetRange, Positions, TopicPositions
from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.gaps import Gap, with_gaps, without
from odradek.pipelines.tables.growth import grown
from odradek.pipelines.tables.table import (
    Change,
    CommitConflict,
    Snapshot,
    Table,
    TableRefused,
)

ATTEMPTS_MAX: Final = 1_000
"""Each conflict means that another commit succeeded, so this is a bound and no time-out."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the tasks of one batch wrote, and of which offsets."""

    cluster_id: str
    ranges: tuple[OffsetRange, ...]
    files: tuple[DataFile, ...]
    schema: pa.Schema | None = None
    gaps: tuple[Gap, ...] = ()
    summary: dict[str, str] = field(default_factory=dict)


class OtherTopic(TableRefused, TopicMadeAgain):
    """The batch is of a topic that has the name of the table's now."""


class AlreadyCommitted(TableRefused):
    """The table holds these offsets already."""


class FilesChanged(CommitConflict):
    """The table has other files than those that a batch was merged into."""


def append(table: Table, snapshot: Snapshot, batch: Batch) -> Snapshot:
    """Adds a batch that begins where the table ends; says what the table is then."""
    for _ in range(ATTEMPTS_MAX):
        positions = after(snapshot.positions, batch, table.location)
        schema = grown(snapshot.schema, batch.schema, table.location, can_widen=table.can_widen)
        told = with_gaps(snapshot.properties, batch.gaps)
        change = Change("append", batch.files, (), positions, schema, told, batch.summary)
        try:
            return table.commit(snapshot, change)
        except CommitConflict:
            snapshot = table.load()
    raise CommitConflict(f"{table.location}: {ATTEMPTS_MAX} other commits came first")


def upsert(
    table: Table,
    snapshot: Snapshot,
    batch: Batch,
    *,
    remove: Sequence[DataFile],
    among: frozenset[str],
) -> Snapshot:
    """Adds a batch and takes files out; `among` are the paths of all files that it knew."""
    for _ in range(ATTEMPTS_MAX):
        positions = after(snapshot.positions, batch, table.location)
        if {it.path for it in table.files(snapshot)} != among:
            raise FilesChanged(f"{table.location}: its files were changed by another commit")
        schema = grown(snapshot.schema, batch.schema, table.location, can_widen=table.can_widen)
        told = with_gaps(snapshot.properties, batch.gaps)
        change = Change(
            "upsert", batch.files, tuple(remove), positions, schema, told, batch.summary
        )
        try:
            return table.commit(snapshot, change)
        except CommitConflict:
            snapshot = table.load()
    raise CommitConflict(f"{table.location}: {ATTEMPTS_MAX} other commits came first")


def check_identity(positions: Positions, batch: Batch, location: str) -> None:
    """Refuses a table of another cluster, or of a topic that was made again since."""
    if positions.cluster_id and positions.cluster_id != batch.cluster_id:
        raise TableRefused(
            f"{location} holds records of cluster {positions.cluster_id}, "
            f"these are of cluster {batch.cluster_id}"
        )
    for it in batch.ranges:
        known = positions.topics.get(it.topic)
        if known is not None and known.topic_id != it.topic_id:
            raise OtherTopic(
                f"topic {it.topic} was deleted and created again: {location} holds records of "
                f"topic id {known.topic_id}, the topic's id is now {it.topic_id}"
            )


def after(positions: Positions, batch: Batch, location: str) -> Positions:
    """Where a table ends when the batch is in it; `TableRefused` if it does not fit there."""
    check_identity(positions, batch, location)
    topics = {
        name: (topic.topic_id, dict(topic.offsets), dict(topic.leader_epochs))
        for name, topic in positions.topics.items()
    }
    for it in batch.ranges:
        _, ends, epochs = topics.setdefault(it.topic, (it.topic_id, {}, {}))
        end = ends.get(it.partition, it.start)
        if it.start != end:
            _refuse(it, end, location)
        ends[it.partition] = it.end
        epochs[it.partition] = it.leader_epoch
    return Positions(
        batch.cluster_id,
        {name: TopicPositions(*parts) for name, parts in sorted(topics.items())},
    )


def _refuse(it: OffsetRange, end: int, location: str) -> None:
    where = f"partition {it.topic}-{it.partition}"
    if it.end <= end:
        raise AlreadyCommitted(
            f"{location} ends at offset {end} of {where}, and holds offsets {it.start} to "
            f"{it.end} already: another process archives into this table"
        )
    raise TableRefused(
        f"{location} ends at offset {end} of {where}, the batch begins at {it.start}: "
        "another process archives into this table, or records are missing"
    )


Trim = Callable[[DataFile, Sequence[Span]], tuple[DataFile, ...]]
"""Rewrites a file without the rows of some spans, and says which files hold the rest."""


def replace(table: Table, batch: Batch, trim: Trim) -> Snapshot:
    """Exchanges exactly the rows of the batch's ranges, which the table must hold already."""
    spans = [Span(it.topic_id, it.partition, it.start, it.end) for it in batch.ranges]
    kept: dict[str, tuple[DataFile, ...]] = {}
    snapshot = table.load()
    for _ in range(ATTEMPTS_MAX):
        check_identity(snapshot.positions, batch, table.location)
        _check_held(snapshot.positions, batch.ranges, table.location)
        remove: list[DataFile] = []
        rest: list[DataFile] = []
        for file in table.files(snapshot):
            if not touches(file, spans):
                continue
            if file.path not in kept:
                kept[file.path] = () if _is_within(file, spans) else trim(file, spans)
            if kept[file.path] == (file,):
                continue
            remove.append(file)
            rest += kept[file.path]
        schema = grown(snapshot.schema, batch.schema, table.location, can_widen=table.can_widen)
        told = without(snapshot.properties, batch.ranges, batch.gaps)
        change = Change(
            "replace", (*rest, *batch.files), tuple(remove), None, schema, told, batch.summary
        )
        try:
            return table.commit(snapshot, change)
        except CommitConflict:
            snapshot = table.load()
    raise CommitConflict(f"{table.location}: {ATTEMPTS_MAX} other commits came first")


def _is_within(file: DataFile, spans: Sequence[Span]) -> bool:
    """Whether all rows of the file go, so that it need not be read: it may be damaged."""
    return file.span is not None and any(it.holds(file.span) for it in spans)


def _check_held(positions: Positions, ranges: Sequence[OffsetRange], location: str) -> None:
    for it in ranges:
        end = positions.offset(it.topic_partition)
        if end is None or it.end > end:
            raise TableRefused(
                f"{location} ends at offset {end or 0} of partition {it.topic}-{it.partition}; "
                f"offsets up to {it.end} cannot be replaced before they are archived"
            )


def touches(file: DataFile, spans: Sequence[Span]) -> bool:
    """Whether the file may hold rows of these spans."""
    span = file.span
    return span is None or any(span.overlaps(other) for other in spans)


def merge(
    table: Table, old: Sequence[DataFile], new: Sequence[DataFile], summary: dict[str, str]
) -> Snapshot | None:
    """Exchanges files for others with the same rows; None: one of them has gone meanwhile."""
    assert sum(it.rows for it in old) == sum(it.rows for it in new), "a merge keeps all rows"
    return _exchange(table, old, Change("merge", tuple(new), tuple(old), summary=summary))


def withdraw(table: Table, old: Sequence[DataFile], summary: dict[str, str]) -> Snapshot | None:
    """Takes files out; the end offsets stay. None: one of them has gone meanwhile."""
    return _exchange(table, old, Change("withdraw", (), tuple(old), summary=summary))


def _exchange(table: Table, old: Sequence[DataFile], change: Change) -> Snapshot | None:
    paths = {file.path for file in old}
    snapshot = table.load()
    for _ in range(ATTEMPTS_MAX):
        if not paths <= {file.path for file in table.files(snapshot)}:
            return None
        try:
            return table.commit(snapshot, change)
        except CommitConflict:
            snapshot = table.load()
    raise CommitConflict(f"{table.location}: {ATTEMPTS_MAX} other commits came first")


def begun_at(cluster_id: str) -> Positions:
    """A table that ends nowhere yet."""
    return Positions(cluster_id, {})


__all__ = [
    "NO_EPOCH",
    "AlreadyCommitted",
    "Batch",
    "FilesChanged",
    "after",
    "append",
    "begun_at",
    "merge",
    "replace",
    "touches",
    "upsert",
    "withdraw",
]
