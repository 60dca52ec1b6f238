"""Dead letters sent again, as the records that they were: to their own topics or to another one.

A record keeps key, value, headers and timestamp. In its own topic it keeps its partition, elsewhere
its key decides. A pipeline that reads the topic meets it again, at a new offset.

What was sent is taken out of the table of dead letters in one commit, and of a topic of dead
letters a group notes how far they were sent. Either comes last: after a crash in between, the next
redrive sends these records a second time, and none is lost. Of a topic both can be one transaction:
`redrive_once`. A table has no part in a transaction of the brokers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from odradek.client.records.offsets import Position
from odradek.model.positions import NO_LEADER_EPOCH, Offset
from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.connections import client_of, sentences
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.moving.archiving.dead_letters import DeadLetters, DeadLetterTable
from odradek.pipelines.moving.jobs import run_tasks
from odradek.pipelines.moving.opening import DEAD, OpenTable
from odradek.pipelines.moving.replaying.letters import as_they_were, chosen
from odradek.pipelines.moving.replaying.redrive_once import Letters, redrive_once
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import Mode, SourceOptions, parse
from odradek.pipelines.source.planning import plan
from odradek.pipelines.source.reading import read_batches
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.ordering import by_partition, rows_in_order
from odradek.pipelines.tables.rewriting import Rewriting, topics_of


@dataclass(frozen=True)
class Redrive:
    """Which dead letters go where."""

    letters: DeadLetters
    sink: SinkOptions  # without a topic each record goes to its own
    group: str  # notes how far a topic of dead letters was sent


def redrive(spark: Any, job: Redrive) -> int:
    """Sends all dead letters that there are now, and says how many."""
    sink = replace(job.sink, headers=True)
    if isinstance(job.letters, DeadLetterTable):
        if sink.transactional_id is not None:
            raise InvalidOption(
                f"--exactly-once is for dead letters in a topic, and {job.letters.location} is a "
                "table: it cannot be changed in the transaction that sends its records"
            )
        return _from_table(spark, job.letters, sink)
    return _from_topic(spark, job.letters.topic, replace(job, sink=sink))


def _from_table(spark: Any, letters: DeadLetterTable, sink: SinkOptions) -> int:
    opened = OpenTable(letters.location, letters.options, DEAD)
    opened.check_removable()  # or each redrive would send all of them again
    files = opened.table.files(opened.snapshot)
    places, unknown = by_partition(files)
    if unknown:
        raise PipelineError(f"{letters.location}: {unknown[0].path} was not written by Odradek")
    rewriting = Rewriting(opened.layout(), topics_of(opened.snapshot))
    work = SendRows(sink, rewriting)
    sent = sum(run_tasks(spark, [tuple(it) for it in places.values()], work))
    if files and commits.withdraw(opened.table, files, {"redriven": str(sent)}) is None:
        raise PipelineError(
            f"{letters.location} was changed meanwhile: {sent} records were sent, and those that "
            "are in the table still will be sent again by the next redrive"
        )
    return sent


def _from_topic(spark: Any, topic: str, job: Redrive) -> int:
    source = parse(
        {"kafka.bootstrap.servers": job.sink.client.bootstrap, "subscribe": topic}, Mode.BATCH
    )
    source = replace(source, client=job.sink.client)
    offsets = SourceOffsets(source)
    end = offsets.latest()
    if job.sink.transactional_id is not None:
        return redrive_once(spark, Letters(job.sink, source, offsets.earliest(), end))
    begin = _behind_sent(offsets.earliest(), job)
    sent = sum(run_tasks(spark, plan(source, begin, end), SendLetters(job.sink, source)))
    positions = {it: Position(Offset(end.offset(it) or 0), NO_LEADER_EPOCH) for it in end}
    with sentences(job.sink.client):
        client_of(job.sink.client).commit(job.group, positions)
    return sent


def _behind_sent(earliest: Positions, job: Redrive) -> Positions:
    """Where the group says that the last redrive ended, if that is there still."""
    with sentences(job.sink.client):
        known = client_of(job.sink.client).committed(job.group, list(earliest))
    return earliest.moved(
        {it: max(earliest.offset(it) or 0, known[it].offset) for it in earliest if it in known}
    )


@dataclass(frozen=True)
class SendRows:
    """The work of one task: the dead letters of one partition, in order."""

    sink: SinkOptions
    rewriting: Rewriting

    def __call__(self, files: Sequence[DataFile]) -> int:
        """How many there were."""
        sender = TopicSender(self.sink)
        for batch in rows_in_order(self.rewriting.read, files, "offset"):
            sender.send(chosen(batch, self.sink))
        return sender.finish()


@dataclass(frozen=True)
class SendLetters:
    """The same of a topic of dead letters: what a record was is said by its last headers."""

    sink: SinkOptions
    source: SourceOptions

    def __call__(self, of: OffsetRange) -> int:
        """How many there were."""
        sender = TopicSender(self.sink)
        for batch in read_batches(self.source, of, tuple(COLUMNS)):
            sender.send(chosen(as_they_were(batch), self.sink))
        return sender.finish()
