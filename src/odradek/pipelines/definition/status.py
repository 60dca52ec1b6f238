"""How far a pipeline's table is: lag, freshness, and when retention would overtake it.

Nothing here needs Spark. The age is that of the first record that the table lacks: where nothing is
lacking, the table is as fresh as the topic. Where the next run would stop, the status says why;
then all else is told all the same. What cannot be asked is not known, which is neither 0 nor that
there is none: a table whose log is damaged, or whose catalog is away, may hold all records.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import pyarrow as pa

from odradek.model.ids import TopicPartition
from odradek.pipelines.definition.definition import Definition
from odradek.pipelines.definition.topics import (
    is_for_each,
    known_without_brokers,
    of_each,
    of_topic,
)
from odradek.pipelines.errors import Away, PipelineError
from odradek.pipelines.moving.archiving.dead_letters import DeadLetters, DeadLetterTable
from odradek.pipelines.moving.archiving.steps import Steps
from odradek.pipelines.moving.archiving.upsert import rewritten_by
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.reading import read_batches
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.gaps import Gap, gaps_of

MILLIS: Final = 1_000
MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition: the table's end and the topic's, and the age of what the table lacks first."""

    end: int
    latest: int
    waiting_seconds: float | None = None

    @property
    def lag(self) -> int:
        """How many offsets the table lacks."""
        return max(0, self.latest - self.end)


@dataclass(frozen=True)
class Status:
    """One pipeline's table."""

    exists: bool
    """False only where it is known that there is none."""
    version: int | None = None  # None, as of those below: it is not known
    files: int | None = None
    bytes: int = 0
    rows: int | None = None
    dead_letters: int | None = None
    partitions: Mapping[TopicPartition, PartitionStatus] = field(default_factory=dict)
    faults: tuple[PipelineError, ...] = ()
    """Why the next run would stop or wait, and what could not be asked."""
    gaps: tuple[Gap, ...] = ()
    """What the table was told to go on without."""
    keys: tuple[str, ...] = ()
    """Each of which has one row; none: each record has one."""
    rewritten: float | None = None
    """Bytes that the last batch wrote for each byte that it changed."""

    @property
    def standstills(self) -> tuple[str, ...]:
        """The same, a sentence each."""
        return tuple(str(it) for it in self.faults)

    @property
    def lag(self) -> int | None:
        """Of all partitions; None: table or topics could not be asked."""
        return sum(it.lag for it in self.partitions.values()) if self.partitions else None

    @property
    def waiting_seconds(self) -> float:
        """The age of the oldest record that the table lacks; 0: it lacks none."""
        return max((it.waiting_seconds or 0.0 for it in self.partitions.values()), default=0.0)

    def hours_left(self, retention_ms: Mapping[str, int]) -> float | None:
        """Until the topics' retention deletes what the table lacks; None: that it never does."""
        left = [
            retention_ms[it.topic] / MILLIS - row.waiting_seconds
            for it, row in self.partitions.items()
            if row.waiting_seconds is not None and retention_ms.get(it.topic, -1) >= 0
        ]
        return max(0.0, min(left)) / 3_600 if left else None


def status(definition: Definition, away: PipelineError | None = None) -> Status:
    """Asks the table, and the brokers; raises nothing that either of them answers.

    If it is known that the brokers are `away`, they are not asked: each time takes a minute.
    """
    job = definition.archive
    faults: list[PipelineError] = []
    opened = _opened(job.table, job.table_options, ROWS, faults)
    dead = _dead_letters(job.dead_letters, faults)
    if opened is None:
        return Status(exists=True, dead_letters=dead, faults=(*faults, *_unheard(job.source, away)))
    if not opened.exists:
        return Status(exists=False, faults=tuple(faults))
    files = _files(opened, faults)
    partitions, more = _beside_topics(definition, opened.snapshot.positions, away)
    return Status(
        exists=True,
        version=opened.snapshot.version,
        files=None if files is None else len(files),
        bytes=sum(it.bytes for it in files or ()),
        rows=None if files is None else sum(it.rows for it in files),
        dead_letters=dead,
        partitions=partitions,
        faults=(*faults, *more),
        gaps=gaps_of(opened.snapshot.properties),
        keys=opened.keys,
        rewritten=rewritten_by(opened) if opened.keys else None,
    )


@dataclass(frozen=True, slots=True)
class Statuses:
    """Those of all tables that a file makes, as far as it is known which these are."""

    each: tuple[tuple[Definition, Status], ...]
    fault: PipelineError | None = None
    """Why there may be others."""


def statuses(definition: Definition) -> Statuses:
    """One, or that of each topic: without brokers, of those with a table or in the file."""
    if not is_for_each(definition):
        return Statuses(((definition, status(definition)),))
    fault: PipelineError | None = None
    try:
        those = of_each(definition)
    except PipelineError as error:
        fault, those = (
            error,
            {it: of_topic(definition, it) for it in known_without_brokers(definition)},
        )
    away = fault if isinstance(fault, Away) else None
    return Statuses(tuple((it, status(it, away)) for it in those.values()), fault)


def _opened(
    location: str, options: Mapping[str, str], kind: str, faults: list[PipelineError]
) -> OpenTable | None:
    """None: it cannot be asked, for a reason that is noted."""
    try:
        return OpenTable(location, options, kind)
    except PipelineError as error:
        faults.append(error)
        return None


def _files(opened: OpenTable, faults: list[PipelineError]) -> tuple[DataFile, ...] | None:
    try:
        return opened.table.files(opened.snapshot)
    except PipelineError as error:
        faults.append(error)
        return None


def _dead_letters(letters: DeadLetters | None, faults: list[PipelineError]) -> int | None:
    """How many there are in their table."""
    if not isinstance(letters, DeadLetterTable):
        return 0
    opened = _opened(letters.location, letters.options, DEAD, faults)
    if opened is None or not opened.exists:
        return None if opened is None else 0
    files = _files(opened, faults)
    return None if files is None else sum(it.rows for it in files)


Partitions = dict[TopicPartition, PartitionStatus]


def _unheard(source: SourceOptions, away: PipelineError | None) -> tuple[PipelineError, ...]:
    """Whether the brokers are away, too."""
    if away is not None:
        return (away,)
    try:
        SourceOffsets(source).latest()
    except PipelineError as error:
        return (error,)
    return ()


def _beside_topics(
    definition: Definition, table: Positions, away: PipelineError | None
) -> tuple[Partitions, tuple[PipelineError, ...]]:
    """Each partition of the topics as they are now, and what would stop a run."""
    if away is not None:
        return {}, (away,)
    source = definition.archive.source
    steps = Steps(source)
    partitions: Partitions = {}
    try:
        latest = SourceOffsets(source).latest()
        begin = steps.begin(table, latest)
        faults = steps.standstills(begin, latest)
        for it in latest:
            topic_id = latest.topics[it.topic].topic_id
            is_same = begin.topics[it.topic].topic_id == topic_id
            end, newest = (begin.offset(it) or 0) if is_same else 0, latest.offset(it) or 0
            missing = OffsetRange(it.topic, topic_id, it.partition, end, newest)
            partitions[it] = PartitionStatus(end, newest, _age(source, missing))
    except PipelineError as error:
        return {}, (error,)
    return partitions, faults


def _age(source: SourceOptions, missing: OffsetRange) -> float | None:
    """Of the first record of a range that is there, in seconds; None: there is none."""
    if missing.size <= 0:
        return None
    batches = read_batches(replace(source, fail_on_data_loss=False), missing, ("timestamp",))
    for batch in islice(batches, 1):
        micros: int = batch.column(0).cast(pa.int64())[0].as_py()
        return max(0.0, time.time() - micros / MICROS)
    return None
