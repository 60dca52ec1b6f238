"""A table back into a topic: the same partitions, order, keys, values, timestamps and headers.

One task sends one partition, in order, through an idempotent producer. A task that dies is run
again, and so is a replay that is told to go on: what the partition holds already is counted, and
as many rows are left out. So the topic must not be written by others meanwhile. With exactlyOnce it
may be: `replay_once`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.counting import counted
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.pipelines.connections import client_of, sentences
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.jobs import run_tasks
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.replaying.pieces import COLUMNS, Pace, Piece, Replayed
from odradek.pipelines.moving.replaying.replay_once import PART_BYTES, Source, replay_once
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.tables.earlier import earlier_of
from odradek.pipelines.tables.ordering import by_partition, rows_in_order
from odradek.pipelines.tables.rewriting import Rewriting, topics_of
from odradek.pipelines.tables.table import Snapshot


@dataclass(frozen=True)
class Replay:
    """What goes from where to where."""

    table: str
    sink: SinkOptions  # its topic is where the rows go
    table_options: Mapping[str, str] = field(default_factory=dict)
    topic: str | None = None  # of the table, where it holds several
    rate: int | None = None  # rows a second of all tasks together, at most
    resume: bool = False  # leave out as many rows as the partitions hold already
    part_bytes: int = PART_BYTES  # of a partition in a transaction, where there are any


def replay(spark: Any, job: Replay) -> Replayed:
    """Sends all rows of the table, or of one of its topics."""
    assert job.sink.topic is not None
    opened = OpenTable(job.table, job.table_options, ROWS)
    opened.check_append("replay", "replay a table of format raw to which records are added")
    if opened.prefix:
        raise PipelineError(
            f"{job.table} holds rows made of values, not the records: only a table of format raw "
            "can be replayed"
        )
    rewriting = Rewriting(opened.layout(), topics_of(opened.snapshot))
    files, unknown = by_partition(opened.table.files(opened.snapshot))
    if unknown:
        raise PipelineError(f"{job.table}: {unknown[0].path} was not written by Odradek")
    topic_id = _chosen(opened.snapshot, job)
    chosen = {place: those for place, those in files.items() if place[0] == topic_id}
    starts = _starts(job.sink, sorted({number for _, number in chosen}), resume=job.resume)
    pieces = [Piece(number, tuple(those), starts[number]) for (_, number), those in chosen.items()]
    sink = replace(job.sink, headers=True)
    if sink.transactional_id is not None:
        return replay_once(
            spark, pieces, Source(sink, rewriting, job.rate, topic_id, job.part_bytes)
        )
    rate = None if job.rate is None else job.rate / max(len(pieces), 1)
    done = run_tasks(spark, pieces, SendPartition(sink, rewriting, rate))
    return Replayed(sum(it.sent for it in done), sum(it.held for it in done))


def _chosen(snapshot: Snapshot, job: Replay) -> str:
    """The id of the topic that was asked for; of several of one name the one that has it now."""
    topics = snapshot.positions.topics
    if job.topic is not None:
        if job.topic in topics:
            return topics[job.topic].topic_id
        if job.topic in earlier_of(snapshot.properties):
            return job.topic
        raise PipelineError(f"{job.table} holds no topic {job.topic!r}")
    if len(topics) > 1:
        names = ", ".join(sorted(topics))
        raise PipelineError(f"{job.table} holds several topics, name one of them: {names}")
    return next((it.topic_id for it in topics.values()), "")


def _starts(sink: SinkOptions, numbers: Sequence[int], *, resume: bool) -> dict[int, int]:
    """Where each partition of the topic ended before the first row."""
    topic = sink.topic
    assert topic is not None
    client = client_of(sink.client)
    with sentences(sink.client):
        found = client.cluster([topic]).topics[topic]
        if found.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise PipelineError(f"topic {topic!r} does not exist")
        missing = [number for number in numbers if number not in found.partitions]
        if missing:
            raise PipelineError(
                f"the table has rows of partition {missing[-1]}, topic {topic!r} has "
                f"{counted(len(found.partitions), 'partition')}"
            )
        at = EARLIEST if resume else LATEST
        partitions = {TopicPartition(topic, number): at for number in numbers}
        return {it.partition: row.offset for it, row in client.offsets(partitions).items()}


@dataclass(frozen=True)
class SendPartition:
    """The work of one task."""

    sink: SinkOptions
    rewriting: Rewriting
    rate: float | None

    def __call__(self, piece: Piece) -> Replayed:
        """Sends what the partition does not hold yet."""
        assert self.sink.topic is not None
        partition = TopicPartition(self.sink.topic, piece.number)
        with sentences(self.sink.client):
            end = client_of(self.sink.client).offsets({partition: LATEST})[partition].offset
        held = end - piece.start
        sender, pace = TopicSender(self.sink), Pace(self.rate)
        rows = rows_in_order(self.rewriting.read, piece.files, "offset")
        for batch in _without(held, rows):
            for part in pace.parts(batch.select(COLUMNS)):
                sender.send(part)
                if self.rate is not None:
                    sender.finish()
        return Replayed(sender.finish(), held)


def _without(count: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All but the first rows."""
    for batch in batches:
        if count < batch.num_rows:
            yield batch.slice(count)
        count = max(0, count - batch.num_rows)
