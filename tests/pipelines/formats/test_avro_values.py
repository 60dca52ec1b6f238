"""Avro to rows, with a registry that answers as Confluent's and Karapace do."""

import io
import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import fastavro
import pytest

from odradek.pipelines.formats.avro_values import AvroValues, avro_values
from odradek.pipelines.formats.registry import RegistryFailed
from odradek.pipelines.moving.values import Converted
from tests.pipelines.formats.records import records

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
OTHER = {"type": "record", "name": "Other", "fields": [{"name": "id", "type": "string"}]}


class Registry(BaseHTTPRequestHandler):
    """Knows three schemas."""

    schemas: ClassVar[dict[str, Any]] = {
        "/schemas/ids/1": FIRST,
        "/schemas/ids/2": SECOND,
        "/schemas/ids/3": OTHER,
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
def registry() -> Iterator[str]:
    """Its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def value(number: int, schema: Any, row: dict[str, Any]) -> bytes:
    """As Confluent's serializer writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, row)
    return struct.pack(">bI", 0, number) + out.getvalue()


def convert(registry: str, *values: bytes | None) -> Converted:
    """Into a table that was made with the newest schema of the topic."""
    format_ = avro_values(registry, ("orders", "unknown"))
    return format_.convert(records(values), format_.schema)


def test_a_newer_schema_adds_its_columns(registry: str) -> None:
    """Maps are lists of pairs, as a table has them."""
    row = {"id": 1, "kind": "A", "counts": {"x": 2}}
    found = convert(registry, value(1, FIRST, row), value(2, SECOND, {**row, "note": "late"}), None)
    assert not found.dead
    assert found.dropped == {2}
    first, second = found.rows.to_pylist()
    assert (first["kind"], first["counts"], first["note"]) == (
        "A",
        [{"key": "x", "value": 2}],
        None,
    )
    assert second["note"] == "late"


def test_what_is_no_avro_or_fits_no_column_is_a_dead_letter(registry: str) -> None:
    """With a reason; the others go on."""
    good = value(1, FIRST, {"id": 1, "kind": "B", "counts": {}})
    found = convert(
        registry, b"{}", value(9, FIRST, {"id": 1, "kind": "A", "counts": {}}), good[:7], good
    )
    assert found.rows.num_rows == 1
    assert "does not begin with the number of an Avro schema" in found.dead[0]
    assert "knows nothing at" in found.dead[1]
    assert "no record of Avro schema 1" in found.dead[2]
    clash = convert(registry, good, value(3, OTHER, {"id": "x"}))
    assert list(clash.dead) == [1]
    assert "column id" in clash.dead[1]


def test_a_registry_that_does_not_answer_stops_the_run() -> None:
    """It is no record's fault."""
    values = AvroValues("http://127.0.0.1:9")
    with pytest.raises(RegistryFailed, match="does not answer"):
        values.convert(records([struct.pack(">bI", 0, 77) + b"x"]), values.schema)
