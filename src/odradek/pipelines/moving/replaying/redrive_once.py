"""Dead letters of a topic sent again in transactions: each once, whatever is killed.

A transaction takes some letters, sends their records, and commits with them where the group is in
the topic of dead letters. One task sends: letters of several partitions may go to one, and in a
transaction a partition has one writer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odradek.client.records.group_offsets import Note
from odradek.client.records.transaction_requests import TransactionalIdentity
from odradek.model.ids import TopicPartition
from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.moving.jobs import run_once
from odradek.pipelines.moving.replaying.letters import as_they_were, chosen
from odradek.pipelines.moving.replaying.replay_once import PART_BYTES
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.sink.tasks import answer_of, producer_for, read_answers, refuse_speculation
from odradek.pipelines.sink.transactions import Notes, Transactions
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.planning import plan
from odradek.pipelines.source.reading import read_batches


@dataclass(frozen=True)
class Letters:
    """What is sent where."""

    sink: SinkOptions
    source: SourceOptions
    begin: Positions  # of a group that has none
    end: Positions
    part_bytes: int = PART_BYTES  # of letters in a transaction, so that it ends within its time-out


@dataclass(frozen=True, slots=True)
class SomeSent:
    """How many records, where the group is then, and whether these were all."""

    records: int
    ends: dict[TopicPartition, int]
    is_all: bool


def redrive_once(spark: Any, letters: Letters) -> int:
    """Sends what no redrive has sent yet, and says how many records."""
    refuse_speculation(spark)
    transactions, sent = Transactions(letters.sink), 0
    try:
        while True:
            wave = Wave(spark, letters)
            is_sent = transactions.once(list(letters.end), wave)
            if not is_sent or wave.done is None:
                return sent
            sent += wave.done.records
            if wave.done.is_all:
                return sent
    finally:
        transactions.close()


class Wave:
    """One transaction."""

    def __init__(self, spark: Any, letters: Letters) -> None:
        self.done: SomeSent | None = None
        self._spark = spark
        self._letters = letters

    def __call__(self, notes: Notes, identity: TransactionalIdentity) -> Notes | None:
        """Sends some; each attempt begins where the group is."""
        letters = self._letters
        begin = letters.begin.moved(
            {it: max(letters.begin.offset(it) or 0, note.position) for it, note in notes.items()}
        )
        ranges = plan(letters.source, begin, letters.end)
        if not ranges:
            return None
        work = SendSome(letters, identity)
        (answer,) = read_answers(run_once(self._spark, [ranges], work))
        done: SomeSent = answer.done
        self.done = done
        return {it: Note(end, "") for it, end in done.ends.items()}


@dataclass(frozen=True)
class SendSome:
    """The work of the one task."""

    letters: Letters
    identity: TransactionalIdentity

    def __call__(self, ranges: Sequence[OffsetRange]) -> bytes:
        """An answer."""
        return answer_of(lambda: self._sent(ranges))

    def _sent(self, ranges: Sequence[OffsetRange]) -> SomeSent:
        sink, source = self.letters.sink, self.letters.source
        sender = TopicSender(sink, producer_for(sink, self.identity))
        size, ends = 0, dict[TopicPartition, int]()
        for of in ranges:
            for batch in read_batches(source, of, tuple(COLUMNS)):
                sender.send(chosen(as_they_were(batch), sink))
                size += batch.nbytes
                ends[of.topic_partition] = batch.column("offset")[-1].as_py() + 1
                if size >= self.letters.part_bytes:
                    return SomeSent(sender.finish(), ends, is_all=False)
            ends[of.topic_partition] = of.end
        return SomeSent(sender.finish(), ends, is_all=True)
