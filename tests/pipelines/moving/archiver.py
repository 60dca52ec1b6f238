"""Processes that archive, and may be killed at any step. Each function is the whole life of one."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable, DeadLetterTopic
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.replaying.redrive import Redrive, redrive
from odradek.pipelines.moving.values import RECORD_SCHEMA, Converted
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.source.options import Mode, parse
from odradek.pipelines.tables.table import TableRefused
from tests.pipelines.mortal import Mortal
from tests.pipelines.moving.archives import rows_in
from tests.pipelines.moving.local_spark import LocalSpark

WATCHED = ("odradek/pipelines/moving", "odradek/pipelines/tables", "pyiceberg/table")
IN_TRANSACTIONS = (
    "odradek/pipelines/moving/redrive",
    "odradek/pipelines/sink",
    "odradek/client/blocking_transactional",
)
BATCH = 60


@dataclass(frozen=True)
class SevenIsDead:
    """A format: values that 7 divides are dead, those that 5 divides are dropped."""

    prefix: str = ""
    schema: pa.Schema = RECORD_SCHEMA
    may_grow: bool = False

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """By the number that the value is."""
        del table
        numbers = [int(it) for it in batch.column("value").to_pylist()]
        dead = {at: "7 divides it" for at, it in enumerate(numbers) if it % 7 == 0}
        dropped = frozenset(at for at, it in enumerate(numbers) if it % 5 == 0 and at not in dead)
        kept = [at for at in range(len(numbers)) if at not in dead and at not in dropped]
        return Converted(batch.take(pa.array(kept, pa.int32())), dead, dropped)


def job_of(bootstrap: str, topic: str, lake: str) -> Archive:
    """Small batches, dead letters in a table."""
    source = parse(
        {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(BATCH),
        },
        Mode.STREAM,
    )
    letters = DeadLetterTable(f"{lake}-dead")
    return Archive(source, lake, values=SevenIsDead(), dead_letters=letters)


def run(  # noqa: PLR0917 - the arguments of a process
    bootstrap: str,
    topic: str,
    lake: str,
    kill_at: int | None = None,
    said: str = "",
    named: str | None = None,
) -> None:
    """Archives what is there; refused by another archiver it begins again."""
    mortal = Mortal(kill_at, WATCHED, named)
    sys.setprofile(mortal)
    while True:
        try:
            archive(LocalSpark(), job_of(bootstrap, topic, lake), Once())
            break
        except TableRefused:
            continue
    sys.setprofile(None)
    if said:
        Path(said).write_text(str(mortal.calls), encoding="utf-8")


def redrive_letters(  # noqa: PLR0917 - the arguments of a process
    bootstrap: str, letters: str, target: str, kill_at: int | None, said: str
) -> None:
    """Sends dead letters of a topic again, in transactions."""
    mortal = Mortal(kill_at, IN_TRANSACTIONS)
    sys.setprofile(mortal)
    client = parse({"kafka.bootstrap.servers": bootstrap, "subscribe": letters}, Mode.BATCH).client
    sink = SinkOptions(client, target, transactional_id=target)
    redrive(LocalSpark(), Redrive(DeadLetterTopic(letters), sink, target))
    sys.setprofile(None)
    Path(said).write_text(str(mortal.calls), encoding="utf-8")


def check_numbers(lake: str, count: int) -> None:
    """Rows and dead letters are exactly what the numbers say."""
    values = [int(row[3] or b"") for row in rows_in(lake)]
    assert sorted(values) == [it for it in range(count) if it % 7 and it % 5]
    dead = [int(row[3] or b"") for row in rows_in(f"{lake}-dead")]
    assert sorted(dead) == list(range(0, count, 7))
