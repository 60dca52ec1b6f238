"""Avro to rows, with a registry that answers as Confluent's and Karapace do."""

import datetime as dt
import io
import json
import struct
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import fastavro
import pyarrow as pa
import pytest

from odradek.pipelines.formats.avro_types import as_stored
from odradek.pipelines.formats.avro_values import AvroValues, avro_values
from odradek.pipelines.formats.registry import RegistryFailed, SchemaRegistry
from odradek.pipelines.moving.archiving.tasks import GrowingWriter
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.values import Converted
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.tables.files import Span
from tests.pipelines.formats.records import records
from tests.pipelines.moving.archives import batches_in

FIRST = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
    ],
}
SECOND = {**FIRST, "fields": [*FIRST["fields"], {"name": "note", "type": ["null", "string"]}]}
TIMES = (
    ("int", "date", 20_000, dt.date(2024, 10, 4)),
    ("int", "time-millis", 36_000_001, "10:00:00.001"),
    ("long", "time-micros", 36_000_000_001, "10:00:00.000001"),
    ("long", "timestamp-millis", 1, dt.datetime(1970, 1, 1, 0, 0, 0, 1_000, dt.UTC)),
    ("long", "timestamp-micros", -1, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)),
    ("long", "timestamp-nanos", 2_000, dt.datetime(1970, 1, 1, 0, 0, 0, 2, dt.UTC)),
    ("long", "local-timestamp-millis", 1_700_000_000_123, "2023-11-14T22:13:20.123"),
    ("long", "local-timestamp-micros", 1, "1970-01-01T00:00:00.000001"),
    ("long", "local-timestamp-nanos", 1_000_000_001, "1970-01-01T00:00:01.000000001"),
    ("string", "uuid", "not checked", "not checked"),
    ("bytes", "big-decimal", b"\x04\x04\xd2\x04", "12.34"),
    ("long", "no-such-type", 7, 7),
)
"""What Avro stores, what it means, a value as it is stored, and as the column has it."""


def _of(stored: str, logical: str, **more: object) -> dict[str, Any]:
    return {"type": stored, "logicalType": logical, **more}


KINDS: dict[str, Any] = {
    **{f"f{at}": _of(it[0], it[1]) for at, it in enumerate(TIMES)},
    "nothing": "null",
    "money": _of("bytes", "decimal", precision=5, scale=2),
    "fixed": _of("fixed", "decimal", name="F", size=3, precision=5),
    "id": _of("fixed", "uuid", name="U", size=16),
    "span": ["null", _of("fixed", "duration", name="D", size=12)],
    "many": {"type": "array", "items": _of("int", "date")},
    "inner": {
        "type": "record",
        "name": "I",
        "fields": [{"name": "m", "type": {"type": "map", "values": "double"}}],
    },
}
ALL: dict[str, Any] = {
    "type": "record",
    "name": "All",
    "fields": [{"name": name, "type": kind} for name, kind in KINDS.items()],
}
STORED: dict[str, Any] = {
    **{f"f{at}": it[2] for at, it in enumerate(TIMES)},
    "nothing": None,
    "money": (-12_345).to_bytes(2, signed=True),
    "fixed": (99_999).to_bytes(3, signed=True),
    "id": bytes(range(16)),
    "span": b"\x01\0\0\0\x02\0\0\0\x03\0\0\0",
    "many": [0, 1],
    "inner": {"m": {"x": 0.5}},
}
NARROW = {
    "type": "record",
    "name": "Narrow",
    "fields": [{"name": "id", "type": "int"}]
    + [{"name": name, "type": "string"} for name in ("kind", "note")],
}
LONGER = {**NARROW, "fields": [{"name": "id", "type": "long"}, *NARROW["fields"][1:]]}
OTHER = {"type": "record", "name": "Other", "fields": [{"name": "id", "type": "string"}]}


SHOP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
"""A JSON Schema."""


class Registry(BaseHTTPRequestHandler):
    """Knows schemas of Avro, and of JSON."""

    schemas: ClassVar[dict[str, Any]] = {
        "/schemas/ids/1": FIRST,
        "/schemas/ids/2": SECOND,
        "/schemas/ids/3": OTHER,
        "/schemas/ids/4": ALL,
        "/schemas/ids/5": NARROW,
        "/subjects/all-value/versions/latest": ALL,
        "/schemas/ids/11": SHOP,
        "/schemas/ids/12": {
            **SHOP,
            "properties": {**SHOP["properties"], "code": {"type": "number"}},
        },
        "/subjects/shop-value/versions/latest": SHOP,
        "/subjects/orders-value/versions/latest": FIRST,
    }

    def do_GET(self) -> None:
        """The schema as a text within JSON, as registries have it."""
        found = self.schemas.get(self.path)
        body = json.dumps({"schema": json.dumps(found)}).encode()
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    """Its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield SchemaRegistry(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


def value(number: int, schema: Any, row: Any) -> bytes:
    """As Confluent's serializer writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, row)
    return struct.pack(">bI", 0, number) + out.getvalue()


def convert(registry: SchemaRegistry, *values: bytes | None) -> Converted:
    """Into a table that was made with the newest schema of the topic."""
    format_ = avro_values(registry, ("orders", "unknown"))
    return format_.convert(records(values), format_.schema)


def test_a_newer_schema_adds_its_columns(registry: SchemaRegistry) -> None:
    """Maps are maps; a table in which they are lists of pairs keeps these."""
    row = {"id": 1, "kind": "A", "counts": {"x": 2}}
    found = convert(registry, value(1, FIRST, row), value(2, SECOND, {**row, "note": "late"}), None)
    assert not found.dead
    assert found.dropped == {2}
    first, second = found.rows.to_pylist()
    assert (first["kind"], first["counts"], first["note"]) == (
        "A",
        [("x", 2)],
        None,
    )
    assert second["note"] == "late"
    format_ = avro_values(registry, ("orders",))
    old = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))
    table = format_.schema.set(format_.schema.get_field_index("counts"), pa.field("counts", old))
    (again,) = format_.convert(records([value(1, FIRST, row)]), table).rows.to_pylist()
    assert again["counts"] == [{"key": "x", "value": 2}]


def test_what_is_no_avro_or_fits_no_column_is_a_dead_letter(registry: SchemaRegistry) -> None:
    """With a reason; the others go on."""
    good = value(1, FIRST, {"id": 1, "kind": "B", "counts": {}})
    found = convert(
        registry, b"{}", value(9, FIRST, {"id": 1, "kind": "A", "counts": {}}), good[:7], good
    )
    assert found.rows.num_rows == 1
    assert "does not begin with the number of a schema" in found.dead[0]
    assert "knows nothing at" in found.dead[1]
    assert "no record of Avro schema 1" in found.dead[2]
    clash = convert(registry, good, value(3, OTHER, {"id": "x"}))
    assert list(clash.dead) == [1]
    assert "column id" in clash.dead[1]


def test_logical_types_are_what_they_mean(registry: SchemaRegistry, tmp_path: Path) -> None:
    """Exactly; and a table of each format takes them and gives them back."""
    format_ = avro_values(registry, ("all",))
    stored = as_stored(ALL)
    batch = records([value(4, stored, STORED)])
    found = format_.convert(batch, format_.schema)
    assert not found.dead
    (row,) = found.rows.to_pylist()
    for at, (_, logical, _, expected) in enumerate(TIMES):
        assert row[f"f{at}"] == expected, logical
    assert (row["money"], row["fixed"]) == (Decimal("-123.45"), Decimal(99_999))
    assert row["id"] == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert row["span"] == {"months": 1, "days": 2, "millis": 3}
    assert row["many"] == [dt.date(1970, 1, 1), dt.date(1970, 1, 2)]
    assert row["inner"] == {"m": [("x", 0.5)]}
    assert "nothing" not in row
    for form in ("delta", "iceberg", "parquet"):
        location = f"{form}:{tmp_path / form}"
        opened = OpenTable(location, {}, ROWS)
        opened.create(format_.schema, (), Positions("c", {}), "_")
        for offset in (100, 101):  # made, and then loaded
            again = format_.convert(batch, opened.snapshot.schema)
            assert not again.dead
            piece = OffsetRange("orders", "A" * 22, 3, offset, offset + 1, 1)
            writer = GrowingWriter(opened.layout(), Span("A" * 22, 3, offset, offset + 1))
            writer.write(again.rows)
            assert writer.growth is None
            opened.append("c", [piece], writer.finish())
            opened = OpenTable(location, {}, ROWS)
        assert [it for batch in batches_in(location) for it in batch.to_pylist()] == [row, row]


@pytest.mark.parametrize(
    ("field", "stored", "reason"),
    [
        ("f5", 2_001, "column f5: 2001 has nanoseconds"),
        ("f0", 1 << 30, "column f0:"),
        ("f4", 1 << 62, "column f4:"),
        ("f1", 86_400_000, "no time of a day"),
        ("f10", b"\x04\x04", "no big-decimal"),
        ("f10", b"\x0b\x04", "no big-decimal"),
        ("f10", b"\x90\x4e" + b"\x7f" * 5_000 + b"\x04", "more than 10,000 digits"),
        (
            "money",
            (100_000).to_bytes(3, signed=True),
            "column money: 1000.00 is no decimal128(5, 2)",
        ),
    ],
)
def test_what_no_column_keeps_is_a_dead_letter(
    registry: SchemaRegistry, field: str, stored: object, reason: str
) -> None:
    """Nothing is rounded: libraries do it with decimals of too many digits."""
    format_ = avro_values(registry, ("all",))
    plain = as_stored(ALL)
    found = format_.convert(
        records([value(4, plain, {**STORED, field: stored}), value(4, plain, STORED) + b"x"]),
        format_.schema,
    )
    assert reason in found.dead[0]
    assert found.dead[1] == "1 bytes are behind the record of Avro schema 4"


def test_one_value_beyond_its_type_costs_no_other(registry: SchemaRegistry) -> None:
    """A batch's values become a column at once, or one by one where that fails: the same rows."""
    rows = [{"id": it, "kind": "A", "note": "x" * it} for it in range(3)]
    beyond = value(6, LONGER, {"id": 1 << 40, "kind": "B", "note": "y"})
    good = [value(5, NARROW, it) for it in rows]
    format_ = AvroValues(registry)
    alone = format_.convert(records(good), format_.schema)
    assert not alone.dead
    columns = ["id", "kind", "note"]
    assert alone.rows.select(columns).to_pylist() == rows
    stored = beyond.replace(struct.pack(">I", 6), struct.pack(">I", 5), 1)
    found = format_.convert(records([good[0], stored, *good[1:]]), format_.schema)
    assert list(found.dead) == [1]
    assert "column id" in found.dead[1]
    assert found.rows.select(columns).to_pylist() == rows


def test_a_registry_that_does_not_answer_stops_the_run() -> None:
    """It is no record's fault."""
    values = AvroValues(SchemaRegistry("http://127.0.0.1:9"))
    with pytest.raises(RegistryFailed, match="does not answer"):
        values.convert(records([struct.pack(">bI", 0, 77) + b"x"]), values.schema)


def test_a_library_that_is_broken(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `fastavro` raises by mistake is no fault of the bytes: no value is blamed for it."""

    def broken(*_: object) -> None:
        raise AttributeError("no such name")

    monkeypatch.setattr(fastavro, "schemaless_reader", broken)
    with pytest.raises(AttributeError, match="no such name"):
        convert(registry, value(1, FIRST, {"id": 1, "kind": "A", "counts": {}}))
