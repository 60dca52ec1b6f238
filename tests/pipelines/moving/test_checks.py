"""Conditions in Spark's SQL, dead letters in topics, and merging while an archive runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.checks import DEAD, DROP, Check
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable, DeadLetterTopic
from odradek.pipelines.moving.archiving.triggers import Once
from tests.pipelines.moving.archiver import SevenIsDead
from tests.pipelines.moving.archives import archive_of, batches_in, records_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics


def numbers_in(location: str) -> list[int]:
    """The values of a table's rows."""
    return sorted(int(row[3] or b"") for row in rows_in(location))


def test_rows_are_checked_in_sql(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Each expectation has its action; records that gave no row are counted as before."""
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(300)])
    job = replace(
        archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t"),
        values=SevenIsDead(),
        dead_letters=DeadLetterTable(f"delta:{tmp_path}/dead"),
        checks=(
            Check("small", "cast(cast(value AS string) AS int) < 200", DROP),
            Check("not a dozen", "cast(cast(value AS string) AS int) % 12 <> 0", DEAD),
            Check("known", "topic IS NOT NULL"),
        ),
    )
    done = archive(spark, job, Once())
    kept = [it for it in range(200) if it % 7 and it % 5 and it % 12]
    dead = [it for it in range(300) if it % 7 == 0 or (it % 5 and it < 200 and it % 12 == 0)]
    assert numbers_in(job.table) == kept
    assert numbers_in(f"delta:{tmp_path}/dead") == dead
    assert (done.read, done.written, done.dead) == (300, len(kept), len(dead))
    reasons = {
        row["reason"] for it in batches_in(f"delta:{tmp_path}/dead") for row in it.to_pylist()
    }
    assert reasons == {
        "7 divides it",
        "expectation 'not a dozen' is not fulfilled: cast(cast(value AS string) AS int) % 12 <> 0",
    }


def test_a_row_that_may_not_be(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Stops the run, names record and expectation; so does SQL that is wrong."""
    topic = topics.make()
    topics.fill_numbers(topic, 50)
    job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    strict = replace(job, checks=(Check("few", "offset < 40"),))
    with pytest.raises(PipelineError, match=r"offset 40 of .*-0: .*'few' is not fulfilled"):
        archive(spark, strict, Once())
    wrong = replace(job, checks=(Check("wrong", "ofset < 40"),))
    with pytest.raises(PipelineError, match=r"expectation 'wrong': .*ofset"):
        archive(spark, wrong, Once())
    assert rows_in(job.table) == []


def test_a_condition_that_cannot_be_evaluated(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Of such a record nothing is known: a dead letter, also where it would be dropped."""
    topic = topics.make()
    topics.fill(topic, [{"value": it} for it in (b"1", b"x", b"7", b"2147483647", b"0", None)])
    number = "cast(cast(value AS string) AS int)"
    checks = (
        Check("near", f"{number} + 1 < 8", DROP),
        Check("share", f"10 / {number} > 1 and {number} < 8", DEAD),
    )
    job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    dead = f"delta:{tmp_path}/dead"
    checked = replace(job, checks=checks, dead_letters=DeadLetterTable(dead))
    done = archive(spark, checked, Once())
    assert (done.read, done.written, done.dropped, done.dead) == (6, 1, 2, 3)
    assert {row["offset"]: row["reason"] for it in batches_in(dead) for row in it.to_pylist()} == {
        1: f"expectation 'near' cannot be evaluated: {checks[0].condition}",
        3: f"expectation 'near' cannot be evaluated: {checks[0].condition}",
        4: f"expectation 'share' cannot be evaluated: {checks[1].condition}",
    }
    strict = replace(job, table=f"delta:{tmp_path}/s", checks=(Check("near", f"{number} < 8"),))
    with pytest.raises(PipelineError, match=r"offset 1 of .*-0: .*'near' cannot be evaluated"):
        archive(spark, strict, Once())


def test_dead_letters_in_a_topic(topics: Topics, tmp_path: Path) -> None:
    """Key and value as they were; where from and why in headers."""
    topic, letters = topics.make(), topics.make("letters")
    topics.fill_numbers(topic, 20)
    job = replace(
        archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t"),
        values=SevenIsDead(),
        dead_letters=DeadLetterTopic(letters),
    )
    assert archive(LocalSpark(), job, Once()).dead == 3
    assert [row[3] for row in records_of(topics.bootstrap, letters)] == [b"0", b"7", b"14"]


def test_small_files_are_merged_while_it_runs(topics: Topics, tmp_path: Path) -> None:
    """So that their count stays level, however often a batch is committed."""
    topic = topics.make()
    topics.fill_numbers(topic, 600)
    options = {"maxOffsetsPerTrigger": 10}
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t", options=options)
    job = replace(job, merge_after=10, keep_ms=-1_000)
    archive(LocalSpark(), job, Once())
    assert numbers_in(job.table) == list(range(600))
    assert len(list((tmp_path / "t").rglob("rows.*.parquet"))) < 25
