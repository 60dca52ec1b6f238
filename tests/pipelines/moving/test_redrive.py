"""Dead letters that are sent again."""

import multiprocessing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.backfill import backfill
from odradek.pipelines.moving.archiving.dead_letters import (
    DeadLetters,
    DeadLetterTable,
    DeadLetterTopic,
)
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.replaying.redrive import Redrive, redrive
from odradek.pipelines.moving.replaying.redrive_once import Letters, redrive_once
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import Mode, SourceOptions
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.table import TableRefused
from tests.pipelines.mortal import processes
from tests.pipelines.moving.archiver import SevenIsDead, redrive_letters
from tests.pipelines.moving.archives import archive_of, messages_of, reading, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.reading import committed
from tests.pipelines.topics import Topics, now_ms

WHEN = now_ms()
KILLS = 3
FAR = 14  # is dead, and of a client that took microseconds for milliseconds


def with_letters(topics: Topics, letters: DeadLetters, tmp_path: Path) -> tuple[str, Archive]:
    """An archive that has met three dead letters in each of two partitions."""
    topic = topics.make(partitions=2)
    rows = [
        {
            "value": b"%d" % (it // 2),
            "key": b"k%d" % it,
            "partition": it % 2,
            "timestamp": (WHEN + it) * (1_000 if it == FAR else 1),
            "headers": [("odradek.topic", b"mine"), ("n", None)] if it % 3 else None,
        }
        for it in range(40)
    ]
    topics.fill(topic, rows)
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t")
    job = replace(job, values=SevenIsDead(), dead_letters=letters)
    assert archive(LocalSpark(), job, Once()).dead == 6
    return topic, job


def redriving(job: Archive, topic: str | None = None, *, once: bool = False) -> Redrive:
    """As the command does it."""
    assert job.dead_letters is not None
    name = "again" if once else None
    sink = SinkOptions(job.source.client, topic, transactional_id=name)
    return Redrive(job.dead_letters, sink, "again")


def whole(bootstrap: str, topic: str, first: int) -> list[tuple[Any, ...]]:
    """Everything that records of both partitions are, from an offset on, without the offset."""
    found = messages_of(bootstrap, topic, (0, 1), first)
    found.sort(key=lambda it: (it.partition(), it.offset()))
    return [(it.partition(), it.key(), it.value(), it.headers(), it.timestamp()) for it in found]


@pytest.mark.parametrize("form", ["table", "topic"])
def test_they_are_sent_once_as_they_were(topics: Topics, tmp_path: Path, form: str) -> None:
    """Key, value, headers, time, partition and order; then there is nothing left to be sent."""
    letters: DeadLetters = (
        DeadLetterTable(f"delta:{tmp_path}/dead")
        if form == "table"
        else DeadLetterTopic(topics.make("letters"))
    )
    topic, job = with_letters(topics, letters, tmp_path)
    spark = LocalSpark()
    assert redrive(spark, redriving(job)) == 6
    before = whole(topics.bootstrap, topic, 0)
    again = whole(topics.bootstrap, topic, 20)
    dead = [row for row in before if int(row[2]) % 7 == 0]
    assert sorted(dead) == sorted([*again, *again])
    assert redrive(spark, redriving(job)) == 0
    assert archive(spark, job, Once()).dead == 6
    assert redrive(spark, redriving(job)) == 6


def test_in_transactions_each_is_sent_once(topics: Topics, tmp_path: Path) -> None:
    """As they were, by as many transactions as it takes; either kind goes on behind the other."""
    letters = DeadLetterTopic(topics.make("letters", 2))
    topic, job = with_letters(topics, letters, tmp_path)
    spark = LocalSpark()
    once = redriving(job, once=True)
    assert redrive(spark, once) == 6
    dead = [row for row in whole(topics.bootstrap, topic, 0) if int(row[2]) % 7 == 0]
    again = whole(topics.bootstrap, topic, 20)
    assert sorted(dead) == sorted([*again, *again])
    assert redrive(spark, once) == redrive(spark, redriving(job)) == 0
    assert archive(spark, job, Once()).dead == 6
    assert redrive(spark, redriving(job)) == 6
    assert redrive(spark, once) == 0
    source = reading(topics.bootstrap, letters.topic, Mode.BATCH)
    offsets = SourceOffsets(source)
    other = topics.make("other")
    sink = SinkOptions(job.source.client, other, headers=True, transactional_id=other)
    some = Letters(sink, source, offsets.earliest(), offsets.latest(), part_bytes=1)
    assert redrive_once(spark, some) == 12
    assert committed(topics, other) == sorted(2 * [0, 0, 7, 7, 14, 14])


def test_a_redrive_in_transactions_that_is_killed_at_any_step(
    topics: Topics, tmp_path: Path
) -> None:
    """The next one sends what no transaction has sent."""
    letters = DeadLetterTopic(topics.make("letters", 2))
    with_letters(topics, letters, tmp_path)
    said = tmp_path / "steps"

    def life(target: str, kill_at: int | None) -> None:
        process: multiprocessing.process.BaseProcess = processes.Process(
            target=redrive_letters,
            args=(topics.bootstrap, letters.topic, target, kill_at, str(said)),
        )
        process.start()
        process.join()
        assert process.exitcode in ({0} if kill_at is None else {0, -9})

    life(topics.make("alive"), None)
    steps = int(said.read_text())
    for number in range(KILLS):
        step = 1 + number * (steps - 1) // (KILLS - 1)
        target = topics.make(f"killed-{step}")
        life(target, step)
        life(target, None)
        assert committed(topics, target) == [0, 0, 7, 7, 14, 14], step


def test_in_transactions_letters_of_a_table_are_refused(topics: Topics, tmp_path: Path) -> None:
    """It could not leave the table in the transaction that sends it."""
    topic, job = with_letters(topics, DeadLetterTable(f"parquet:{tmp_path}/dead"), tmp_path)
    with pytest.raises(InvalidOption, match="--exactly-once is for dead letters in a topic"):
        redrive(LocalSpark(), redriving(job, once=True))
    assert whole(topics.bootstrap, topic, 20) == []


def test_into_another_topic(topics: Topics, tmp_path: Path) -> None:
    """Which may have fewer partitions: keys decide."""
    _, job = with_letters(topics, DeadLetterTable(f"iceberg:{tmp_path}/dead"), tmp_path)
    other = topics.make("other")
    assert redrive(LocalSpark(), redriving(job, other)) == 6
    assert rows_in(f"iceberg:{tmp_path}/dead") == []


def test_a_table_that_another_changes_meanwhile(
    topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken out that was not sent; the sentence says that some may be sent again."""
    _, job = with_letters(topics, DeadLetterTable(f"delta:{tmp_path}/dead"), tmp_path)
    first = commits.withdraw

    def late(*given: Any) -> Any:
        """Another redrive is quicker."""
        assert first(*given) is not None
        return first(*given)

    monkeypatch.setattr(commits, "withdraw", late)
    with pytest.raises(PipelineError, match="was changed meanwhile: 6 records were sent"):
        redrive(LocalSpark(), redriving(job))


def test_a_record_that_is_no_dead_letter(topics: Topics, tmp_path: Path) -> None:
    """It is named; nothing is sent to a topic that it does not say."""
    letters = DeadLetterTopic(topics.make("letters"))
    _, job = with_letters(topics, letters, tmp_path)
    topics.fill(letters.topic, [{"value": b"x"}])
    with pytest.raises(PipelineError, match=r"offset 6 of .* is no dead letter of a pipeline"):
        redrive(LocalSpark(), redriving(job))


def test_a_table_that_is_append_only(topics: Topics, tmp_path: Path) -> None:
    """It is refused before anything is sent: each redrive would send the same records again."""
    topic, job = with_letters(topics, DeadLetterTable(f"delta:{tmp_path}/dead"), tmp_path)
    DeltaTable(tmp_path / "dead").alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(TableRefused, match="dead is append-only"):
        redrive(LocalSpark(), redriving(job))
    with pytest.raises(TableRefused, match="dead is append-only"):
        backfill(LocalSpark(), replace(job, source=batch_of(job)))
    assert whole(topics.bootstrap, topic, 20) == []
    assert archive(LocalSpark(), job, Once()).read == 0


def batch_of(job: Archive) -> SourceOptions:
    """All of its records."""
    topic = job.source.selection.topics[0]
    return reading(job.source.client.bootstrap, topic, Mode.BATCH)
