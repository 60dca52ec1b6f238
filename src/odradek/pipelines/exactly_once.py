"""A stream into a topic, exactly once: what `foreachBatch` calls.

    rows.writeStream.foreachBatch(exactly_once(options)).option("checkpointLocation", ...).start()

Spark's own way to a sink runs no code of the driver before the tasks, and gives a task rows of any
partition. So here the driver begins one transaction, and Spark brings the rows to one task for each
partition. They travel as finished record batches: to move rows one by one takes Spark longer than
to send them. The batches of a task stay in its order; those of several tasks follow each other in
any, as they would if each of them sent its own. Rows may go to several topics, dead letters to
another one than the rest: those of a micro-batch are seen together all the same.

The group named by the transactional id notes which batch is the next one, and whose: a query that
begins with a new checkpoint counts from 0 again, and is another one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Any, Final

import pyarrow as pa

from odradek.client.records.group_offsets import Note
from odradek.client.records.transaction_requests import TransactionalIdentity
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.pipelines.connections import sentences
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.moving.jobs import ANSWER, slots_of
from odradek.pipelines.sink.options import SinkOptions, check_columns, parse
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.sink.tasks import (
    AGAIN,
    answer_of,
    producer_for,
    read_answers,
    refuse_speculation,
    task_context,
)
from odradek.pipelines.sink.transactions import AttemptedTwice, Notes, Transactions
from odradek.pipelines.workers import SentToWorkers, freeze_once

QUERY: Final = "sql.streaming.queryId"
GROUP: Final = "spark.jobGroup.id"
RUNNING: Final = "RUNNING"
LOOK_SECONDS: Final = 0.01
PREPARED: Final = pa.schema(
    [
        pa.field("target", pa.int32(), nullable=False),  # which of all partitions of the topics
        pa.field("source", pa.int32(), nullable=False),  # number of the task that made the batch
        pa.field("number", pa.int64(), nullable=False),  # from 0, of those from source to target
        pa.field("data", pa.binary(), nullable=False),
    ]
)
PREPARED_SQL: Final = (
    "target int not null, source int not null, number long not null, data binary not null"
)


def exactly_once(options: Mapping[str, str]) -> "ExactlyOnce":
    """The function for `foreachBatch` of one query, from the options of the sink."""
    return ExactlyOnce(parse(options))


class ExactlyOnce:
    """Writes the micro-batches of one query."""

    def __init__(self, options: SinkOptions) -> None:
        if options.transactional_id is None:
            raise InvalidOption("exactly_once(...) needs the option exactlyOnce=true")
        self._options = options
        self._transactions: Transactions | None = None

    def __call__(self, frame: Any, batch: int) -> None:
        """What Spark calls for each micro-batch."""
        check_columns(frame.schema, self._options)
        context = _context_of(frame)
        query = context.getLocalProperty(QUERY)
        if query is None:
            raise PipelineError("exactly_once(...) is a function for foreachBatch of a stream")
        if self._transactions is None:
            self._transactions = Transactions(self._options)
        MicroBatch(self._transactions, query, batch).write(frame, context)

    def close(self) -> None:
        """Closes the driver's connections, once the query has ended."""
        if self._transactions is not None:
            self._transactions.close()


def _context_of(frame: Any) -> Any:
    context = getattr(frame.sparkSession, "sparkContext", None)
    if context is None:
        raise PipelineError("exactlyOnce needs the driver's session: Spark Connect has none here")
    refuse_speculation(frame.sparkSession)
    return context


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One batch of a query."""

    transactions: Transactions
    query: str
    number: int

    def write(self, frame: Any, context: Any) -> bool:
        """Sends its rows, unless the topics have them: then it is false."""
        noted_at = [TopicPartition(it, 0) for it in self._topics]

        def attempt(notes: Notes, identity: TransactionalIdentity) -> Notes | None:
            if self.is_written(notes.values()):
                return None
            options, counts = self.transactions.options, self._partition_counts()
            places = places_of(counts)
            tasks = min(len(places), slots_of(frame.sparkSession))
            batches = frame.mapInArrow(Prepare(options, counts), PREPARED_SQL)
            sent = batches.repartitionById(tasks, "target").mapInArrow(
                SendPrepared(options, identity, places), ANSWER
            )
            answers = read_answers([bytes(row[0]) for row in sent.collect()])
            check_stages(context, {it.stage for it in answers})
            return dict.fromkeys(noted_at, Note(self.number + 1, self.query))

        return self.transactions.once(noted_at, attempt)

    @property
    def _topics(self) -> Sequence[str]:
        options = self.transactions.options
        return options.topics if options.topic is None else (options.topic,)

    def is_written(self, notes: Iterable[Note]) -> bool:
        """Whether the topics have this batch, by what was noted of the last one.

        Only the last one can be begun again. Where a batch behind this one is noted, Spark has
        cut the source anew, and which of its rows are there is not known. A topic that was added
        since has no note.
        """
        name, next_batch = self.transactions.options.transactional_id, 0
        for note in notes:
            if note.metadata != self.query:
                raise PipelineError(
                    f"the transactional id {name!r} is that of another query, {note.metadata}: a "
                    "query with a new checkpoint needs another one, or its group deleted "
                    f"(odradek group delete {name})"
                )
            next_batch = max(next_batch, note.position)
        if next_batch > self.number + 1:
            raise PipelineError(
                f"topic {self._topics[0]!r} has batch {next_batch - 1} of this query already, and "
                f"its checkpoint is at batch {self.number}: it is older than what was written"
            )
        return next_batch == self.number + 1

    def _partition_counts(self) -> dict[str, int]:
        """As many as there are now; rows of this batch go to no others."""
        with sentences(self.transactions.options.client):
            found = self.transactions.client.cluster(self._topics).topics
        for name in self._topics:
            if found[name].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise PipelineError(f"topic {name!r} does not exist")
        return {name: len(found[name].partitions) for name in self._topics}


def places_of(counts: Mapping[str, int]) -> list[TopicPartition]:
    """All partitions of the topics; their numbers in it say to which task their rows go."""
    return [TopicPartition(topic, it) for topic, count in counts.items() for it in range(count)]


def check_stages(context: Any, stages: set[int]) -> None:
    """AttemptedTwice where Spark ran a stage of sending tasks again.

    It does so where what the tasks read is lost with an executor, and then the numbers of their
    attempts begin again, too. Its own account of the job is complete once the job has ended in it.
    """
    tracker = context.statusTracker()
    for stage in stages:
        jobs = sorted(tracker.getJobIdsForGroup(context.getLocalProperty(GROUP)), reverse=True)
        job = next(it for it in jobs if stage in tracker.getJobInfo(it).stageIds)
        while tracker.getJobInfo(job).status == RUNNING:
            sleep(LOOK_SECONDS)
        if tracker.getStageInfo(stage).currentAttemptId:
            raise AttemptedTwice(AGAIN)


class Shelf:
    """Where finished batches lie until they are taken, each with its number."""

    def __init__(self, source: int, places: Iterable[TopicPartition]) -> None:
        self._source = source
        self._targets = {place: number for number, place in enumerate(places)}
        self._numbers: dict[int, int] = {}
        self._rows: list[tuple[int, int, int, bytearray]] = []

    def send(self, partition: TopicPartition, batch: bytearray) -> None:
        """As a producer."""
        target = self._targets.get(partition)
        if target is None:
            raise PipelineError(
                f"a row names topic {partition.topic!r}, which the option 'topics' does not name"
            )
        number = self._numbers.get(target, 0)
        self._numbers[target] = number + 1
        self._rows.append((target, self._source, number, batch))

    def flush(self) -> object:
        """As a producer."""
        return None

    def take(self) -> Iterator[pa.RecordBatch]:
        """All that lies there."""
        rows, self._rows = self._rows, []
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(it, field.type) for it, field in zip(columns, PREPARED, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=PREPARED)


class Prepare(SentToWorkers):
    """Makes finished batches of the rows of a task; it may run as often as Spark likes."""

    def __init__(self, options: SinkOptions, counts: Mapping[str, int]) -> None:
        self._options = options
        self._counts = counts

    def __call__(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each batch."""
        shelf = Shelf(task_context().partitionId(), places_of(self._counts))
        sender = TopicSender(self._options, shelf, self._counts)
        for batch in rows:
            if batch.num_rows:
                sender.send(batch)
                yield from shelf.take()
        sender.finish()
        yield from shelf.take()
        freeze_once()


class SendPrepared(SentToWorkers):
    """Sends the batches that come to a task: all of their partitions come to this one."""

    def __init__(
        self,
        options: SinkOptions,
        identity: TransactionalIdentity,
        places: Sequence[TopicPartition],
    ) -> None:
        self._options = options
        self._identity = identity
        self._places = places

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One answer."""
        answer = answer_of(lambda: self._sent(batches))
        yield pa.RecordBatch.from_pydict({"answer": pa.array([answer], pa.binary())})
        freeze_once()

    def _sent(self, batches: Iterator[pa.RecordBatch]) -> int:
        """How many batches."""
        order = Order()
        producer = producer_for(self._options, self._identity)
        count = 0
        with sentences(self._options.client):
            for rows in batches:
                targets, sources, numbers = (rows.column(it).to_pylist() for it in range(3))
                for at, target in enumerate(targets):
                    order.check(target, sources[at], numbers[at])
                    data = bytearray(rows.column(3)[at].as_buffer())
                    producer.send(self._places[target], data)
                    count += 1
            producer.flush()
        return count


class Order:
    """Looks whether batches come in the order in which they were made: nothing of Spark's says so.

    Of one source to one target their numbers follow each other, whatever comes between.
    """

    def __init__(self) -> None:
        self._next: dict[tuple[int, int], int] = {}

    def check(self, target: int, source: int, number: int) -> None:
        """PipelineError for one that does not come next."""
        if self._next.get((target, source), 0) != number:
            raise PipelineError(
                "Spark's shuffle brought record batches in another order than they were made in"
            )
        self._next[target, source] = number + 1
