"""A table that others alter while a run works on it: what is theirs stays."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable
from deltalake import Field as DeltaField
from deltalake.schema import PrimitiveType

from odradek.pipelines.tables import commits
from odradek.pipelines.tables.rewriting import merge_small
from odradek.pipelines.tables.table import Change, Snapshot, TableRefused
from tests.pipelines.moving.archives import batches_in
from tests.pipelines.moving.hostile_run import Run
from tests.pipelines.tables.lake import CLUSTER, SCHEMA, Lake, expected, new_range
from tests.pipelines.tables.owners import altered, newest, require

THEIRS = {"owner": "sales", "delta.deletedFileRetentionDuration": "interval 30 days"}


def delta(directory: Path) -> Lake:
    """A Delta table with ten rows."""
    lake = Lake(f"delta:{directory}/t")
    lake.append(lake.create(), new_range(0, 10))
    return lake


def grow(lake: Lake, start: int, name: str) -> Snapshot:
    """A batch without rows that brings a column."""
    snapshot = lake.table.load()
    more = pa.schema([*snapshot.schema, pa.field(name, pa.string())])
    return commits.append(
        lake.table, snapshot, commits.Batch(CLUSTER, (new_range(start, start + 1),), (), more)
    )


def test_what_others_say_of_a_delta_table_stays(tmp_path: Path) -> None:
    """Name, description, properties, comments and the time of creation, whatever is committed."""
    lake = delta(tmp_path)
    schema = json.loads(newest(tmp_path / "t")["schemaString"])
    schema["fields"][1]["metadata"] = {"comment": "as it came", "their.number": 5}
    theirs = altered(
        tmp_path / "t",
        name="orders",
        description="all orders",
        createdTime=7,
        configuration={**newest(tmp_path / "t")["configuration"], **THEIRS},
        schemaString=json.dumps(schema),
    )
    grow(lake, 10, "note")
    base = lake.table.load()
    lake.table.commit(base, Change("gap", properties={"gaps": "[]"}))
    lake.table.expire(0)  # makes a checkpoint
    grow(lake.again(), 11, "more")
    now = newest(tmp_path / "t")
    of_schema = [it["name"] for it in json.loads(now["schemaString"])["fields"]]
    assert of_schema == [*SCHEMA.names, "note", "more"]
    assert json.loads(now["schemaString"])["fields"][1] == schema["fields"][1]
    ours = {"odradek.gaps": "[]"}
    assert now["configuration"] == {**theirs["configuration"], **ours}
    for key in ("id", "name", "description", "createdTime", "format", "partitionColumns"):
        assert now[key] == theirs[key], key
    assert DeltaTable(tmp_path / "t").metadata().description == "all orders"


def test_a_column_that_another_writer_added(tmp_path: Path) -> None:
    """It stays where it is, and ours come behind it."""
    lake = delta(tmp_path)
    DeltaTable(tmp_path / "t").alter.add_columns(
        DeltaField("theirs", PrimitiveType("string")), commit_properties=CommitProperties()
    )
    grow(lake, 10, "ours")
    assert lake.table.load().schema.names == [*SCHEMA.names, "theirs", "ours"]
    assert lake.rows() == expected(10)


def test_an_append_only_delta_table(tmp_path: Path) -> None:
    """Rows come, and small files are merged, as the protocol allows; nothing else is removed."""
    lake = delta(tmp_path)
    settings = newest(tmp_path / "t")["configuration"]
    altered(tmp_path / "t", configuration={**settings, "delta.appendOnly": "true"})
    snapshot = lake.table.load()
    assert snapshot.is_append_only
    for start in range(10, 50, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    assert merge_small(lake.table, lake.layout(snapshot), snapshot) == (5, 1)
    with pytest.raises(TableRefused, match=r"append-only.*delta\.appendOnly"):
        lake.replace(commits.Batch(CLUSTER, (new_range(5, 6),), ()))
    files = lake.table.files(lake.table.load())
    for operation in "withdraw", "reset":
        with pytest.raises(TableRefused, match="append-only"):
            lake.table.commit(lake.table.load(), Change(operation, remove=files))
    assert lake.rows() == expected(50)
    altered(tmp_path / "t", configuration=settings)
    lake.replace(commits.Batch(CLUSTER, (new_range(5, 6),), ()))
    assert lake.rows() == expected(5) + expected(50, 6)


def test_a_delta_table_with_invariants_is_refused(tmp_path: Path) -> None:
    """Its writers promise to hold them, and this one knows none."""
    lake = delta(tmp_path)
    schema = json.loads(newest(tmp_path / "t")["schemaString"])
    rule = json.dumps({"expression": {"expression": "offset > 5"}})
    schema["fields"][4]["metadata"] = {"delta.invariants": rule}
    altered(tmp_path / "t", schemaString=json.dumps(schema))
    with pytest.raises(TableRefused, match=r"column offset .*invariant"):
        lake.table.load()


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_column_that_must_not_be_null(form: str, tmp_path: Path) -> None:
    """Its owner says so of one, and of a field within one: other records are dead letters."""
    run = Run(form, tmp_path)
    whole = b'{"id": 1, "address": {"street": "a"}}'
    run.batch([whole], [whole])
    require(run.rows.table, tmp_path / "rows", "id", "address.street")
    run.rows.reload()
    dirty = [b'{"id": 2}', b'{"address": {"street": "b"}}', b'{"id": 3, "address": {"lat": 1}}']
    run.batch([*dirty, whole], [whole, b'{"id": null, "new": 1}', b'{"id": 4, "new": 2}', None])
    assert (run.account.written, run.account.dead, run.account.dropped) == (6, 3, 1)
    dead = [row for it in batches_in(f"{form}:{tmp_path / 'dead'}") for row in it.to_pylist()]
    places = {(row["partition"], row["offset"]): row["reason"] for row in dead}
    assert places.keys() == {(0, 2), (0, 3), (1, 2)}
    assert "column id: it is null, and the table takes no null" in places[0, 2]
    assert "street" in places[0, 3]


def test_what_others_say_of_an_iceberg_table_stays(tmp_path: Path) -> None:
    """Properties, comments, tags, and what a column must not be, whatever is committed."""
    lake = Lake(f"iceberg:{tmp_path}/t/")
    lake.append(lake.create(), new_range(0, 10))
    table: Any = lake.table
    theirs = table._catalog.load_table(table._identifier)
    with theirs.transaction() as it:
        it.set_properties({"owner": "sales", "comment": "all orders"})
        with it.update_schema() as update:
            update.update_column("value", doc="as it came")
    theirs.manage_snapshots().create_tag(theirs.current_snapshot().snapshot_id, "kept").commit()
    for start in range(10, 50, 10):
        lake.append(lake.table.load(), new_range(start, start + 10))
    snapshot = grow(lake, 50, "note")
    lake.table.commit(snapshot, Change("gap", properties={"gaps": "[]"}))
    assert lake.table.expire(1 << 62) > 0
    now = table._catalog.load_table(table._identifier)
    assert now.properties["owner"] == "sales"
    assert now.properties["comment"] == "all orders"
    assert now.schema().find_field("value").doc == "as it came"
    assert "kept" in now.refs()
    assert lake.rows() == expected(50)


def test_what_others_say_of_a_parquet_table_stays(tmp_path: Path) -> None:
    """Its log is ours, but the schema in it may say more than we know."""
    lake = Lake(f"parquet:{tmp_path}/t")
    inner = pa.field("inner", pa.struct([("a", pa.int64())]), metadata={"comment": "theirs"})
    lake.table.create(SCHEMA.append(inner), (), commits.begun_at(CLUSTER))
    wide = SCHEMA.append(pa.field("inner", pa.struct([("a", pa.int64()), ("b", pa.int64())])))
    commits.append(
        lake.table, lake.table.load(), commits.Batch(CLUSTER, (new_range(0, 1),), (), wide)
    )
    lake.table.expire(0)
    field = lake.again().table.load().schema.field("inner")
    assert [it.name for it in field.type] == ["a", "b"]
    assert field.metadata == {b"comment": b"theirs"}


def test_another_optimizes_and_vacuums_a_delta_table(tmp_path: Path) -> None:
    """A run goes on behind it, its ranges are made again in such a file, and it is merged."""
    lake = delta(tmp_path)
    snapshot = lake.table.load()
    for start in range(10, 40, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    other = DeltaTable(tmp_path / "t")
    assert other.optimize.compact()["numFilesRemoved"] == 4
    assert len(other.vacuum(0, dry_run=False, enforce_retention_duration=False)) == 4
    snapshot = lake.append(snapshot, new_range(40, 50))
    assert lake.again().rows() == expected(50)
    lake.replace(commits.Batch(CLUSTER, (new_range(15, 25),), ()))
    assert lake.again().rows() == expected(15) + expected(50, 25)
    lake.replace(lake.batch(lake.table.load(), new_range(15, 25)))
    snapshot = lake.table.load()
    merge_small(lake.table, lake.layout(snapshot), snapshot)
    assert lake.again().rows() == expected(50)
    values = DeltaTable(tmp_path / "t").to_pyarrow_table()["value"].to_pylist()
    assert sorted(values) == sorted(b"value %d" % it for it in range(50))


def test_another_rewrites_and_expires_an_iceberg_table(tmp_path: Path) -> None:
    """As engines do it: new files for old ones, old snapshots forgotten, between two batches."""
    lake = Lake(f"iceberg:{tmp_path}/t/")
    snapshot = lake.append(lake.create(), new_range(0, 10))
    for start in range(10, 40, 10):
        snapshot = lake.append(snapshot, new_range(start, start + 10))
    table: Any = lake.table
    theirs = table._catalog.load_table(table._identifier)
    waiting = lake.batch(snapshot, new_range(40, 50))
    theirs.overwrite(theirs.scan().to_arrow())
    old = [it.snapshot_id for it in theirs.snapshots()]
    old.remove(theirs.current_snapshot().snapshot_id)
    theirs.maintenance.expire_snapshots().by_ids(old).commit()
    commits.append(lake.table, snapshot, waiting)
    assert lake.again().rows() == expected(50)
    lake.replace(commits.Batch(CLUSTER, (new_range(15, 25),), ()))
    assert lake.again().rows() == expected(15) + expected(50, 25)
    lake.replace(lake.batch(lake.table.load(), new_range(15, 25)))
    snapshot = lake.table.load()
    merge_small(lake.table, lake.layout(snapshot), snapshot)
    assert lake.table.expire(1 << 62) > 0
    assert lake.again().rows() == expected(50)
    values = table._catalog.load_table(table._identifier).scan().to_arrow()["value"].to_pylist()
    assert sorted(values) == sorted(b"value %d" % it for it in range(50))
