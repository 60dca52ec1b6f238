"""A replay in transactions: no row is sent twice, and the topic may be written by others meanwhile.

A transaction takes some rows of as many partitions as Spark has slots, and notes for each of them
which offset of the table is next. So a replay of the same name goes on where the last transaction
ended. A task reads a table and no shuffle, so Spark never runs a stage of these tasks again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from odradek.client.records.group_offsets import Note
from odradek.client.records.transaction_requests import TransactionalIdentity
from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.jobs import run_once, slots_of
from odradek.pipelines.moving.replaying.pieces import COLUMNS, Pace, Piece, Replayed
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.sink.tasks import answer_of, producer_for, read_answers, refuse_speculation
from odradek.pipelines.sink.transactions import Notes, Transactions
from odradek.pipelines.tables.ordering import rows_in_order, span_of
from odradek.pipelines.tables.rewriting import Rewriting

PART_BYTES: Final = 256 << 20
"""Of a partition in a transaction, so that one ends within its time-out."""
PACED_SECONDS: Final = 10
"""Likewise, where there is a rate."""


@dataclass(frozen=True)
class Source:
    """Where the rows come from, and how they are sent."""

    sink: SinkOptions
    rewriting: Rewriting
    rate: int | None
    topic_id: str  # of the topic that the table holds records of
    part_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """What a task sends: rows of a piece from this offset of the table on."""

    piece: Piece
    start: int


@dataclass(frozen=True, slots=True)
class PartSent:
    """How many rows, which offset is next, and whether it was the last part."""

    rows: int
    next: int
    is_last: bool


def replay_once(spark: Any, pieces: Sequence[Piece], source: Source) -> Replayed:
    """Sends what no transaction has sent yet."""
    refuse_speculation(spark)
    transactions = Transactions(source.sink)
    left, sent = list(pieces), 0
    try:
        while left:
            now = left[: slots_of(spark)]
            wave = Wave(spark, now, source)
            transactions.once(list(wave.places), wave)
            sent += sum(it.rows for it in wave.done)
            over = {piece.number for piece, it in zip(now, wave.done, strict=True) if it.is_last}
            left = [it for it in left if it.number not in over]
    finally:
        transactions.close()
    rows = sum(file.rows for piece in pieces for file in piece.files)
    return Replayed(sent, rows - sent)


class Wave:
    """One transaction: the next rows of some pieces."""

    def __init__(self, spark: Any, pieces: Sequence[Piece], source: Source) -> None:
        assert source.sink.topic is not None
        self.places = {TopicPartition(source.sink.topic, it.number): it for it in pieces}
        self.done: list[PartSent] = []
        self._spark = spark
        self._source = source

    def __call__(self, notes: Notes, identity: TransactionalIdentity) -> Notes | None:
        """Sends them; each attempt begins behind what is noted."""
        parts = [Part(piece, self._next(notes, place)) for place, piece in self.places.items()]
        rate = None if self._source.rate is None else self._source.rate / len(parts)
        work = SendPart(self._source, rate, identity)
        self.done = [it.done for it in read_answers(run_once(self._spark, parts, work))]
        ends = zip(self.places, self.done, strict=True)
        return {
            place: Note(it.next, self._source.topic_id) for place, it in ends if it.rows
        } or None

    def _next(self, notes: Notes, place: TopicPartition) -> int:
        note = notes.get(place)
        if note is None:
            return 0
        if note.metadata != self._source.topic_id:
            name = self._source.sink.transactional_id
            raise PipelineError(
                f"the transactional id {name!r} is that of another replay or query, "
                f"{note.metadata}: take another one, or delete its group "
                f"(odradek group delete {name})"
            )
        return note.position


@dataclass(frozen=True)
class SendPart:
    """The work of one task."""

    source: Source
    rate: float | None
    identity: TransactionalIdentity

    def __call__(self, part: Part) -> bytes:
        """An answer."""
        return answer_of(lambda: self._sent(part))

    def _sent(self, part: Part) -> PartSent:
        sink = self.source.sink
        sender, pace = TopicSender(sink, producer_for(sink, self.identity)), Pace(self.rate)
        rows_max = None if self.rate is None else max(1, int(self.rate * PACED_SECONDS))
        size, end = 0, part.start
        for rows in _from(part, self.source.rewriting):
            taken = rows if rows_max is None else rows.slice(0, rows_max - sender.rows)
            for paced in pace.parts(taken.select(COLUMNS)):
                sender.send(paced)
                if self.rate is not None:
                    sender.finish()
            size, end = size + taken.nbytes, taken.column("offset")[-1].as_py() + 1
            is_full = rows_max is not None and sender.rows >= rows_max
            if size >= self.source.part_bytes or is_full:
                return PartSent(sender.finish(), end, is_last=False)
        return PartSent(sender.finish(), end, is_last=True)


def _from(part: Part, rewriting: Rewriting) -> Iterator[pa.RecordBatch]:
    """The rows from the part's first on."""
    files = [it for it in part.piece.files if span_of(it).end > part.start]
    for batch in rows_in_order(rewriting.read, files, "offset"):
        rows = batch
        if batch.column("offset")[0].as_py() < part.start:
            rows = batch.filter(pc.greater_equal(batch.column("offset"), part.start))
        if rows.num_rows:
            yield rows
