"""Readers that know nothing of the log beside Parquet files: they list the directory."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.partitioning import parse
from odradek.pipelines.tables.rewriting import Rewriting, merge_small, topics_of
from odradek.pipelines.tables.sweep import sweep
from tests.pipelines.tables import archiver
from tests.pipelines.tables.lake import CLUSTER, Lake, expected, new_range
from tests.pipelines.tables.test_tables_processes import run_process
from tests.pipelines.upgrades import RELEASES, ROWS_KEPT, moved

Rows = list[tuple[int, int, bytes]]
COLUMNS = "partition", "offset", "value"


class Died(BaseException):
    """The process is gone."""


def of_arrow(directory: Path) -> Rows:
    """What pyarrow reads of a directory, each row as often as it does."""
    found = ds.dataset(directory, format="parquet", partitioning="hive")
    rows = found.to_table(list(COLUMNS)).to_pylist() if found.files else []
    return sorted(tuple(row[name] for name in COLUMNS) for row in rows)


def of_duckdb(directory: Path) -> Rows:
    """The same of DuckDB, for which a name that begins with a dot is like any other."""
    if not list(directory.rglob("*.parquet")):
        return []
    rows = duckdb.read_parquet(f"{directory}/**/*.parquet")
    return sorted(rows.project(", ".join(f'"{name}"' for name in COLUMNS)).fetchall())


def test_rows_are_seen_from_their_commit_on(tmp_path: Path) -> None:
    """Files of a task that died, or whose batch is not committed yet, are no rows."""
    lake = Lake(f"parquet:{tmp_path}/t")
    snapshot = lake.append(lake.create((parse("day(timestamp)"),)), new_range(0, 10))
    batch = lake.batch(snapshot, new_range(10, 20))
    assert of_duckdb(tmp_path / "t") == of_arrow(tmp_path / "t") == expected(10)
    commits.append(lake.table, snapshot, batch)
    assert of_duckdb(tmp_path / "t") == of_arrow(tmp_path / "t") == expected(20)


def appended(lake: Lake) -> None:
    """One more batch."""
    lake.append(lake.table.load(), new_range(50, 60), new_range(0, 10, partition=1))


def merged(lake: Lake) -> None:
    """All files become one."""
    merge_small(lake.table, lake.layout(lake.table.load()), lake.table.load())


def replaced(lake: Lake) -> None:
    """Two files are cut, and two between become one."""
    lake.replace(lake.batch(lake.table.load(), new_range(5, 35)))


def emptied(lake: Lake) -> None:
    """All files go."""
    commits.withdraw(lake.table, lake.table.files(lake.table.load()), {})


@pytest.mark.parametrize("change", [appended, merged, replaced, emptied])
def test_a_commit_that_dies_between_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Lake], None]
) -> None:
    """Whichever files have their new names by then: no row is seen twice, and a load goes on."""
    whole = Lake(f"parquet:{tmp_path}/whole")
    snapshot = whole.create((parse("day(timestamp)"),))
    for start in range(0, 50, 10):
        snapshot = whole.append(snapshot, new_range(start, start + 10))
    rename = os.rename
    for survived in range(20):
        place = tmp_path / str(survived)
        shutil.copytree(tmp_path / "whole", place)
        lake = Lake(f"parquet:{place}")
        lake.table.load()
        renames = iter(range(survived))

        def mortal(old: Any, new: Any, renames: Iterator[int] = renames) -> None:
            if Path(old).name.startswith(".partial-") or next(renames, None) is not None:
                return rename(old, new)
            raise Died

        monkeypatch.setattr(os, "rename", mortal)
        try:
            change(lake)
        except Died:
            died = True
        else:
            died = False
        monkeypatch.undo()
        for seen in of_arrow(place), of_duckdb(place):
            assert len(set(seen)) == len(seen)
        truth = Lake(f"parquet:{place}").rows()
        assert of_arrow(place) == of_duckdb(place) == truth
        if not died:
            return
    raise AssertionError


def test_one_that_settles_late_brings_nothing_back(tmp_path: Path) -> None:
    """It knows a version in which the files were there that others have replaced since."""
    lake = Lake(f"parquet:{tmp_path}")
    snapshot = lake.create()
    for start in range(0, 50, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    late = Lake(lake.location)
    store: Any = late.table.store
    names = [file.path for file in late.table.files(late.table.load())]
    merged(lake)
    store.settle(names, [])
    assert of_arrow(tmp_path) == of_duckdb(tmp_path) == expected(50)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert [batch.num_rows for batch in _read(late, names[0])] == [10]


def test_an_archiver_killed_anywhere_shows_no_row_twice(tmp_path: Path) -> None:
    """Neither before the next one begins nor after; merges are among what is killed."""
    location, place = f"parquet:{tmp_path}/t", tmp_path / "t"
    said = tmp_path / "calls"
    run_process(archiver.archive_and_merge, f"parquet:{tmp_path}/whole", 60, None, str(said))
    calls = int(said.read_text())
    deaths = 0
    for number in range(10):
        end = (number + 2) * 60
        kill_at = (number + 1) * calls // 11
        code = run_process(archiver.archive_and_merge, location, end, kill_at)
        deaths += code == -signal.SIGKILL
        seen = of_duckdb(place)
        assert len(set(seen)) == len(seen)
    assert deaths >= 8  # the rest had less to do than the first
    assert run_process(archiver.archive_and_merge, location, end) == 0
    assert of_arrow(place) == of_duckdb(place) == Lake(location).rows() == expected(end)


@pytest.mark.parametrize("fields", [(), ("day(timestamp)", "topic")])
def test_spark_reads_the_directory(spark: Any, tmp_path: Path, fields: tuple[str, ...]) -> None:
    """As it is, with the columns that directories say."""
    lake = Lake(f"parquet:{tmp_path}/t")
    snapshot = lake.create(tuple(parse(it) for it in fields))
    for start in range(0, 50, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    merged(lake)
    lake.batch(lake.table.load(), new_range(50, 60))
    rows = spark.read.parquet(str(tmp_path / "t"))
    assert sorted((it.partition, it.offset, bytes(it.value)) for it in rows.collect()) == expected(
        50
    )
    assert {it.topic for it in rows.collect()} == {"orders"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_of_an_earlier_release(release: str, tmp_path: Path) -> None:
    """Its files stay in `data`, where readers have them; what a merge replaces is hidden, too."""
    place = tmp_path / "t" / "data"
    lake = Lake(moved(release, "parquet", tmp_path / "t"))
    snapshot = lake.table.load()
    for start in range(ROWS_KEPT, ROWS_KEPT + 40, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    merged(lake)
    assert of_arrow(place) == of_duckdb(place) == expected(ROWS_KEPT + 40)


def test_a_sweep_leaves_the_tables_in_the_directory_of_a_table(tmp_path: Path) -> None:
    """What it does not name may be another's: `lake` and `lake/orders`."""
    outer, inner = Lake(f"parquet:{tmp_path}"), Lake(f"parquet:{tmp_path}/orders")
    for lake in outer, inner:
        lake.append(lake.create((parse("topic"),)), new_range(0, 10))
    lost = outer.batch(outer.table.load(), new_range(10, 20))
    (tmp_path / "notes.txt").write_text("mine")
    assert len(lost.files) == sweep(outer.table, age_ms=-10_000) == 1
    assert outer.rows() == inner.rows() == expected(10)
    assert (tmp_path / "notes.txt").exists()
    commits.append(inner.table, inner.table.load(), commits.Batch(CLUSTER, (), ()))


def _read(lake: Lake, path: str) -> Iterator[pa.RecordBatch]:
    snapshot = lake.table.load()
    return Rewriting(lake.layout(snapshot), topics_of(snapshot)).read(DataFile(path, 0, 0))
