"""A record never ends a run that has dead letters, whatever it holds."""

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from odradek.pipelines.moving.archiving.dead_letters import BadRecord
from odradek.pipelines.moving.archiving.tasks import WriteRange
from odradek.pipelines.moving.compact import merge_small
from odradek.pipelines.positions import OffsetRange
from tests.pipelines.moving.archives import batches_in
from tests.pipelines.moving.hostile_run import FORMATS, SOURCE, TOPIC_ID, Run, hostile_run, written
from tests.pipelines.moving.local_spark import LocalSpark


@pytest.mark.parametrize(
    ("form", "partitioning"), [("delta", ("note",)), ("iceberg", ("day(at)",)), ("parquet", ())]
)
def test_no_value_ends_a_run(form: str, partitioning: tuple[str, ...], tmp_path: Path) -> None:
    """All of them are accounted for, and readers of the format find as many rows."""
    run = hostile_run(form, tmp_path, 2_000, seed=3, partitioning=partitioning)
    assert min(run.account.written, run.account.dead) > 500
    assert run.account.dropped
    rows = [row for batch in batches_in(run.location) for row in batch.to_pylist()]
    assert len(rows) == run.account.written
    assert len(batches_in(run.location.replace("rows", "dead"))) > 0
    names = {name.casefold() for name in rows[0]}
    assert len(names) == len(rows[0])
    assert _rows_of_another_reader(run) == run.account.written


def _rows_of_another_reader(run: Run) -> int:
    form, _, place = run.location.partition(":")
    if form == "delta":
        from deltalake import DeltaTable

        return int(DeltaTable(place).to_pyarrow_table().num_rows)
    if form == "iceberg":
        return int(run.rows.table._table.scan().to_arrow().num_rows)  # type: ignore[attr-defined]
    files = [f"{place}/{it.path}" for it in run.rows.table.files(run.rows.snapshot)]
    return int(ds.dataset(files).count_rows())


@pytest.mark.parametrize("form", FORMATS)
def test_names_that_differ_in_case_only_are_dead_letters(form: str, tmp_path: Path) -> None:
    """In one record, in two of a batch, in two partitions of a batch, and in later batches."""
    run = Run(form, tmp_path)
    run.batch([b'{"id": 3, "ID": 2}', b'{"new": 1}'], [b'{"New": 1}', b'{"id": 1}'])
    run.batch([b'{"NEW": 1}', b'{"": 1, "id": 4}'], [b'{"new": 2}', b'{"a.b": 1}'])
    assert (run.account.written, run.account.dead) == (3, 5)
    dead = [row for it in batches_in(f"{form}:{tmp_path / 'dead'}") for row in it.to_pylist()]
    assert sorted((row["offset"], row["partition"]) for row in dead) == [
        (0, 0),
        (0, 1),
        (2, 0),
        (3, 0),
        (3, 1),
    ]
    assert any("differs from 'id' in case only" in row["reason"] for row in dead)


@pytest.mark.parametrize("form", FORMATS)
def test_names_of_columns_that_directories_have_are_dead_letters(form: str, tmp_path: Path) -> None:
    """Also in another case: readers would find two columns of that name."""
    run = Run(form, tmp_path, ("day(at)",))
    run.batch([b'{"AT_DAY": 1}', b'{"id": 1}'], [b'{"at_day": 1}', b'{"At_Day": null}'])
    assert (run.account.written, run.account.dead) == (2, 2)
    assert _rows_of_another_reader(run) == 2


@pytest.mark.parametrize(
    ("form", "column", "value"),
    [
        ("delta", "count", 7),
        ("delta", "note", "x"),
        ("parquet", "day", "2026-01-31"),
        ("iceberg", "count", 7),
    ],
)
def test_null_in_the_name_of_a_directory(
    form: str, column: str, value: object, tmp_path: Path
) -> None:
    """Is read as null, and its files are merged as others are."""
    run = Run(form, tmp_path, (column,))
    for _ in range(4):
        run.batch([json.dumps({column: value}).encode()], [b'{"id": 1}'])
    merged = merge_small(LocalSpark(), run.rows, 1 << 20)
    assert merged == (8, 2)
    rows = [row for batch in batches_in(run.location) for row in batch.to_pylist()]
    assert [str(row[column]) for row in rows if row["id"] is None] == [str(value)] * 4
    assert [row[column] for row in rows if row["id"] is not None] == [None] * 4
    assert _rows_of_another_reader(run) == 8


@pytest.mark.parametrize("form", FORMATS)
def test_a_new_field_of_two_types_in_two_partitions(form: str, tmp_path: Path) -> None:
    """The first partition's type counts; records of the other that do not fit are dead letters."""
    run = Run(form, tmp_path)
    run.batch([b'{"new": 1}', b'{"id": 1}'], [b'{"new": "x"}', b'{"new": 2}'])
    assert (run.account.written, run.account.dead) == (3, 1)
    (dead,) = (row for it in batches_in(f"{form}:{tmp_path / 'dead'}") for row in it.to_pylist())
    assert (dead["partition"], dead["offset"]) == (1, 0)
    assert "column new: 'x' is no int64" in dead["reason"]
    assert "the first is at offset 0 of orders-0" in dead["reason"]


def test_without_dead_letters_the_run_ends_with_one_sentence(tmp_path: Path) -> None:
    """It names topic, partition, offset, field and reason."""
    run = Run("parquet", tmp_path)
    work = WriteRange(SOURCE, run.values, run.rows.layout())
    with pytest.raises(BadRecord, match=r"offset 101 of orders-3 .* column id: 'x' is no int64"):
        written(work, OffsetRange("orders", TOPIC_ID, 3, 100, 102, 1), [b"{}", b'{"id": "x"}'])
