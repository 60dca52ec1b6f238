"""How far a pipeline's table is: lag, freshness, and when retention would overtake it.

Nothing here needs Spark. The age is that of the first record that the table lacks: where nothing is
lacking, the table is as fresh as the topic. Where the next run would stop, the status says why, and
what helps; then the table's figures are told all the same.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import pyarrow as pa

from odradek.model.ids import TopicPartition
from odradek.pipelines.definition.definition import Definition
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.dead_letters import DeadLetterTable
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.moving.steps import Steps
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.reading import read_batches
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
    version: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    dead_letters: int = 0
    partitions: Mapping[TopicPartition, PartitionStatus] = field(default_factory=dict)
    standstills: tuple[str, ...] = ()
    """Why the next run would stop; a sentence each."""
    gaps: tuple[Gap, ...] = ()
    """What the table was told to go on without."""

    @property
    def lag(self) -> int | None:
        """Of all partitions; None: the topics could not be asked."""
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


def status(definition: Definition) -> Status:
    """Asks the table, and the brokers."""
    job = definition.archive
    opened = OpenTable(job.table, job.table_options, ROWS)
    if not opened.exists:
        return Status(exists=False)
    files = opened.table.files(opened.snapshot)
    dead = 0
    if isinstance(job.dead_letters, DeadLetterTable):
        letters = OpenTable(job.dead_letters.location, job.dead_letters.options, DEAD)
        if letters.exists:
            dead = sum(it.rows for it in letters.table.files(letters.snapshot))
    partitions, standstills = _beside_topics(definition, opened.snapshot.positions)
    return Status(
        exists=True,
        version=opened.snapshot.version,
        files=len(files),
        bytes=sum(it.bytes for it in files),
        rows=sum(it.rows for it in files),
        dead_letters=dead,
        partitions=partitions,
        standstills=standstills,
        gaps=gaps_of(opened.snapshot.properties),
    )


Partitions = dict[TopicPartition, PartitionStatus]


def _beside_topics(definition: Definition, table: Positions) -> tuple[Partitions, tuple[str, ...]]:
    """Each partition of the topics as they are now, and what would stop a run."""
    source = definition.archive.source
    steps = Steps(source)
    try:
        latest = SourceOffsets(source).latest()
        begin = steps.begin(table, latest)
        standstills = steps.standstills(begin, latest)
    except PipelineError as error:
        return {}, (str(error),)
    partitions = {}
    for it in latest:
        topic_id = latest.topics[it.topic].topic_id
        is_same = begin.topics[it.topic].topic_id == topic_id
        end, newest = (begin.offset(it) or 0) if is_same else 0, latest.offset(it) or 0
        missing = OffsetRange(it.topic, topic_id, it.partition, end, newest)
        partitions[it] = PartitionStatus(end, newest, _age(source, missing))
    return partitions, standstills


def _age(source: SourceOptions, missing: OffsetRange) -> float | None:
    """Of the first record of a range that is there, in seconds; None: there is none."""
    if missing.size <= 0:
        return None
    batches = read_batches(replace(source, fail_on_data_loss=False), missing, ("timestamp",))
    for batch in islice(batches, 1):
        micros: int = batch.column(0).cast(pa.int64())[0].as_py()
        return max(0.0, time.time() - micros / MICROS)
    return None
