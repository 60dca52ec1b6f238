"""Types that come to hold more, by a newer schema of Avro, in tables that can widen and cannot."""

import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from odradek.pipelines.formats.avro_types import as_stored
from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.registry import SchemaRegistry
from odradek.pipelines.moving.opening import ROWS, OpenTable
from tests.pipelines.formats.test_avro_values import Registry, value
from tests.pipelines.moving.archives import batches_in
from tests.pipelines.moving.hostile_run import FORMATS, READ_AT_ONCE, Run

PLAIN = {"n": 1, "f": 0.5, "d": Decimal("1.25"), "items": [1], "inner": {"m": 1}}
LARGE: list[dict[str, Any]] = [
    {"n": 3_000_000_000},
    {"f": 0.1},
    {"d": Decimal("12345.67")},
    {"items": [1, 1 << 40]},
    {"inner": {"m": -(1 << 40)}},
]
"""What the wider types hold, and the narrower do not."""


def schema(whole: str, real: str, digits: int) -> dict[str, Any]:
    """Of all kinds that may widen."""
    money = {"type": "bytes", "logicalType": "decimal", "precision": digits, "scale": 2}
    inner = {"type": "record", "name": "I", "fields": [{"name": "m", "type": whole}]}
    kinds: dict[str, Any] = {
        "n": whole,
        "f": real,
        "d": money,
        "items": {"type": "array", "items": whole},
        "inner": inner,
    }
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    return {"type": "record", "name": "R", "fields": fields}


NARROW, WIDE = schema("int", "float", 5), schema("long", "double", 9)


class Schemas(Registry):
    """The narrow one is number 1, the wide one 2."""

    schemas: ClassVar[dict[str, Any]] = {"/schemas/ids/1": NARROW, "/schemas/ids/2": WIDE}


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    """Its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Schemas) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield SchemaRegistry(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def encoded(number: int, **changes: Any) -> bytes:
    """A record; its decimal as the bytes that Avro stores."""
    row = {**PLAIN, **changes}
    row["d"] = int(row["d"].scaleb(2)).to_bytes(8, signed=True)
    return value(number, as_stored(WIDE if number == 2 else NARROW), row)


def run_of(form: str, folder: Path, registry: SchemaRegistry) -> Run:
    """Into a table that knows no column yet."""
    run = Run(form, folder)
    run.values = AvroValues(registry)  # type: ignore[assignment]
    return run


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("together", [True, False])
def test_a_type_widens_where_the_format_can(
    form: str, tmp_path: Path, registry: SchemaRegistry, *, together: bool
) -> None:
    """Elsewhere what fits is stored, and what does not is a dead letter that names the first."""
    run = run_of(form, tmp_path, registry)
    count = READ_AT_ONCE if together else 1
    first: list[bytes | None] = [encoded(1)] * count
    later: list[bytes | None] = [encoded(2), *(encoded(2, **it) for it in LARGE)]
    for batch in [[*first, *later]] if together else [first, later]:
        run.batch(batch)
    rows = [row for it in batches_in(run.location) for row in it.to_pylist()]
    dead = [row for it in batches_in(f"{form}:{tmp_path}/dead") for row in it.to_pylist()]
    found = sorted(rows, key=lambda it: int(it["_offset"]))
    if form == "iceberg":
        assert not dead
        assert [{it: row[it] for it in PLAIN} for row in found[count + 1 :]] == [
            {**PLAIN, **it} for it in LARGE
        ]
    else:
        assert [row["_offset"] for row in found] == list(range(count + 1))
        assert [row["offset"] - count for row in dead] == [1, 2, 3, 4, 5]
        assert "column n: 3000000000 is no int32; the first is at offset 0" in dead[0]["reason"]
        assert all("; the first is at offset 0 of orders-0" in row["reason"] for row in dead)
    assert all({it: row[it] for it in PLAIN} == PLAIN for row in found[: count + 1])
    others = sorted(rows_of_another_reader(run), key=lambda it: int(it["_offset"]))
    assert [it["n"] for it in others] == [it["n"] for it in found]
    assert [it["inner"] for it in others] == [it["inner"] for it in found]


def rows_of_another_reader(run: Run) -> list[dict[str, Any]]:
    """As the format's own library reads them."""
    form, _, place = run.location.partition(":")
    if form == "delta":
        return list(DeltaTable(place).to_pyarrow_table().to_pylist())
    if form == "iceberg":
        run.rows.reload()
        table: Any = run.rows.table
        return list(table._table.scan().to_arrow().to_pylist())
    return list(ds.dataset(place, partitioning="hive").to_table().to_pylist())


@pytest.mark.parametrize("form", FORMATS)
def test_two_partitions_that_disagree(form: str, tmp_path: Path, registry: SchemaRegistry) -> None:
    """One has the newer schema already, in one batch with the other."""
    run = run_of(form, tmp_path, registry)
    run.batch([encoded(1), encoded(1)], [encoded(2, n=1 << 40), encoded(2)])
    assert run.account.dead == (form != "iceberg")
    run.batch([encoded(2, n=1 << 40)], [encoded(1)])
    assert run.account.dead == 2 * (form != "iceberg")
    rows = [row["n"] for it in batches_in(run.location) for row in it.to_pylist()]
    assert sorted(rows) == ([1, 1, 1, 1, 1 << 40, 1 << 40] if form == "iceberg" else [1, 1, 1, 1])


@pytest.mark.parametrize("form", FORMATS)
def test_the_record_that_fixed_a_type_is_known_later(form: str, tmp_path: Path) -> None:
    """By another process, of each format, also once other columns have come."""
    run = Run(form, tmp_path)
    run.batch([b'{"new": 1}'])
    run.batch([b'{"newer": "x"}'])
    run.rows = OpenTable(run.location, {}, ROWS)
    run.batch([b'{"new": "no number", "newer": 5}'])
    (dead,) = (row for it in batches_in(f"{form}:{tmp_path}/dead") for row in it.to_pylist())
    assert "; the first is at offset 0 of orders-0" in dead["reason"]
