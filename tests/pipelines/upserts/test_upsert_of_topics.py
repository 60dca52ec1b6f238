"""Upserts of topics: keys of two partitions, and what is refused. With a broker, without Spark."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.formats.changes import Changes
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.backfill import backfill
from odradek.pipelines.moving.archiving.dead_letters import BadRecord, DeadLetterTable
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.comparing.verify import DIFFERENT, EXTRA, GAP, Verify, verify
from odradek.pipelines.moving.comparing.verify_keys import verify_keys
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.replaying.replay import Replay, replay
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.moving.values import RAW
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.keys import Sorted, keys_of
from odradek.pipelines.tables.rewriting import Rewriting
from odradek.pipelines.tables.table import Change, TableRefused
from odradek.pipelines.upserts.merging import KeyedWriter
from tests.pipelines.moving.archives import archive_of, batches_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics

VALUES = JsonValues((("id", parse("long")), ("n", parse("long"))))


def job_of(topics: Topics, topic: str, lake: str, **more: Any) -> Archive:
    """With dead letters in a table."""
    job = archive_of(topics.bootstrap, topic, lake, values=Changes(VALUES, ("id",)), keys=("id",))
    return replace(job, **{"dead_letters": DeadLetterTable(f"{lake}-dead"), **more})


def run(job: Archive) -> Account:
    """What is there."""
    return archive(LocalSpark(), job, Once())


def put(number: int, n: int, partition: int) -> dict[str, Any]:
    """A record of this partition."""
    value = b'{"id": %d, "n": %d}' % (number, n)
    return {"key": b"%d" % number, "value": value, "partition": partition}


def rows_of(lake: str) -> list[tuple[int, int, int]]:
    """Key, value, and partition."""
    rows = (row for batch in batches_in(lake) for row in batch.to_pylist())
    return sorted((row["id"], row["n"], row["_partition"]) for row in rows)


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_key_of_two_partitions_is_a_dead_letter(
    topics: Topics, tmp_path: Path, form: str
) -> None:
    """It names both; once its row is deleted, a key may come from another partition."""
    topic = topics.make(partitions=2)
    lake = f"{form}:{tmp_path}/t"
    job = job_of(topics, topic, lake)
    topics.fill(topic, [put(1, 10, 0), put(2, 20, 1)])
    assert run(job).written == 2
    topics.fill(topic, [put(1, 11, 1), put(1, 12, 1), put(2, 21, 1), put(3, 30, 1), put(3, 31, 0)])
    account = run(job)
    assert (account.read, account.written, account.dead) == (5, 2, 3)
    assert rows_of(lake) == [(1, 10, 0), (2, 21, 1), (3, 31, 0)]
    dead = [row for batch in batches_in(f"{lake}-dead") for row in batch.to_pylist()]
    assert sorted((row["partition"], row["offset"]) for row in dead) == [(1, 1), (1, 2), (1, 4)]
    assert all(f"{topic}-0" in row["reason"] and f"{topic}-1" in row["reason"] for row in dead)
    topics.fill(topic, [{"key": b"1", "value": None, "partition": 0}])
    run(job)
    topics.fill(topic, [put(1, 13, 1)])
    assert run(job).dead == 0
    assert rows_of(lake) == [(1, 13, 1), (2, 21, 1), (3, 31, 0)]


def test_without_dead_letters_the_run_stops_and_names_the_record(
    topics: Topics, tmp_path: Path
) -> None:
    """Nothing of the batch is committed."""
    topic = topics.make(partitions=2)
    lake = f"delta:{tmp_path}/t"
    topics.fill(topic, [put(1, 10, 0), put(1, 11, 1)])
    with pytest.raises(BadRecord, match=rf"offset 0 of {topic}-1.*row of partition {topic}-0"):
        run(job_of(topics, topic, lake, dead_letters=None))
    assert batches_in(lake) == []


def test_what_would_undo_what_came_later_is_refused(topics: Topics, tmp_path: Path) -> None:
    """Backfills and replays, and a table whose mode or keys would be others."""
    topic = topics.make()
    lake = f"delta:{tmp_path}/t"
    job = job_of(topics, topic, lake)
    topics.fill(topic, [put(1, 10, 0)])
    run(job)
    with pytest.raises(TableRefused, match="pipeline reset"):
        backfill(LocalSpark(), job)
    with pytest.raises(TableRefused, match="format raw"):
        replay(LocalSpark(), Replay(lake, SinkOptions(job.source.client, topic)))
    with pytest.raises(TableRefused, match="would write a row for each record"):
        run(replace(job, keys=()))
    with pytest.raises(TableRefused, match="would write one row for each n"):
        run(replace(job, keys=("n",)))
    plain = replace(job, table=f"delta:{tmp_path}/plain", keys=(), values=VALUES)
    run(plain)
    with pytest.raises(TableRefused, match="would write one row for each id"):
        run(replace(plain, keys=("id",)))
    assert OpenTable(lake, {}, ROWS).keys == ("id",)


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_raw_records_by_their_key(topics: Topics, tmp_path: Path, form: str) -> None:
    """The last of each is there with all its bytes: a compacted topic as a table."""
    topic = topics.make()
    lake = f"{form}:{tmp_path}/t"
    rows = [(b"a", b"1"), (b"b\0", b"2"), (b"a", b"3"), (b"c", b"4"), (b"c", None)]
    topics.fill(topic, [{"key": key, "value": value} for key, value in rows])
    job = replace(job_of(topics, topic, lake), values=Changes(RAW, ("key",)), keys=("key",))
    assert run(job).written == 5
    found = [row for batch in batches_in(lake) for row in batch.to_pylist()]
    assert sorted((row["key"], row["value"], row["offset"]) for row in found) == [
        (b"a", b"3", 2),
        (b"b\0", b"2", 1),
    ]
    topics.fill(topic, [{"key": None, "value": b"5"}])
    assert run(job).dead == 1


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_verify_folds_the_log(topics: Topics, tmp_path: Path, form: str) -> None:
    """What it finds: a row that should not be, one that should, one that says something else."""
    topic = topics.make(partitions=2)
    lake = f"{form}:{tmp_path}/t"
    job = replace(job_of(topics, topic, lake), file_bytes=300)
    for n in range(4):
        rows = [put(it, 100 * n + it, it % 2) for it in range(40) if it != n]
        topics.fill(topic, [*rows, {"key": b"7", "value": None, "partition": 1}])
        run(job)
    done = verify_keys(LocalSpark(), job)
    assert (done.records, done.rows, done.findings) == (160, 39, ())
    with pytest.raises(TableRefused, match="--pipeline FILE"):
        verify(LocalSpark(), Verify(job.source, lake))
    opened = OpenTable(lake, {}, ROWS)
    rewriting = Rewriting(opened.layout(), {})
    files = opened.table.files(opened.snapshot)
    (whole,) = (
        pa.Table.from_batches([it for file in files for it in rewriting.read(file)])
        .sort_by("id")
        .combine_chunks()
        .to_batches()
    )
    one = whole.slice(5, 1)
    n = one.schema.get_field_index("n")
    extra = one.set_column(one.schema.get_field_index("id"), "id", pa.array([1_000]))
    wrong = one.set_column(n, "n", pa.array([-1]))
    kept = [wrong, whole.slice(6, 4), whole.slice(11), extra]
    out = KeyedWriter(opened.layout(), 1 << 20)
    for it in kept:
        out.write(Sorted(it, keys_of(it, ("id",))))
    new = (*out.finish(), *_written(opened, whole.slice(0, 5)))
    opened.table.commit(opened.snapshot, Change("replace", new, files))
    kinds = sorted((it.kind, it.detail) for it in verify_keys(LocalSpark(), job).findings)
    assert kinds == [(DIFFERENT, "n"), (GAP, ""), (EXTRA, "")]


def _written(opened: OpenTable, rows: pa.RecordBatch) -> list[DataFile]:
    out = KeyedWriter(opened.layout(), 1 << 20)
    out.write(Sorted(rows, keys_of(rows, ("id",))))
    return out.finish()
