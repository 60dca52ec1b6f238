"""JSON with a schema in a registry: types are the schema's, whichever value comes first."""

import datetime as dt
import struct

import pytest

from odradek.pipelines.formats.json_schema import columns_of, json_schema_values
from odradek.pipelines.formats.registry import SchemaRegistry
from odradek.pipelines.formats.types import written
from tests.pipelines.formats.records import records
from tests.pipelines.formats.test_avro_values import registry

__all__ = ("registry",)


def value(number: int, text: bytes) -> bytes:
    """As Confluent's serializer writes it."""
    return struct.pack(">bI", 0, number) + text


def object_of(*names: str) -> dict[str, object]:
    """With whole numbers of these names."""
    return {"type": "object", "properties": {it: {"type": "integer"} for it in names}}


def test_types_are_those_of_the_schema(registry: SchemaRegistry) -> None:
    """A whole number in a column for numbers is no `long`; a newer schema adds columns."""
    format_ = json_schema_values(registry, ("shop", "unknown"))
    values = [
        value(11, b'{"amount": 5, "at": "2026-01-31T10:00:00Z", "tags": {"a": "b"}}'),
        value(12, b'{"amount": 7.5, "note": null, "code": 5}'),
        value(11, b'{"amount": "x"}'),
        value(99, b"{}"),
        b"{}",
        None,
        value(11, b"no order"),
    ]
    found = format_.convert(records(values), format_.schema)
    first, second = found.rows.to_pylist()
    assert (first["amount"], second["amount"]) == (5.0, 7.5)
    assert first["at"] == dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC)
    assert first["tags"] == [("a", "b")]
    assert second["code"] == 5.0
    assert sorted(found.dead) == [2, 3, 4, 6]
    assert "column amount" in found.dead[2]
    assert "knows nothing at" in found.dead[3]
    assert "does not begin with the number of a schema" in found.dead[4]
    assert found.dropped == {5}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["null", "integer"]}, "long"),
        ({"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]}, "date"),
        ({"$ref": "#/definitions/a~1b"}, "boolean"),
        ({"type": "array", "items": {"type": "number"}}, "array<double>"),
        ({"type": "object", "properties": {"x": {"type": "string"}}}, "struct<x: string>"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string, long>"),
        (object_of("b", "x", "X", "a b", ""), "struct<b: long>"),
        ({"type": "array", "items": object_of("x", "X")}, None),
        ({"type": ["string", "integer"]}, None),
        ({"$ref": "#"}, None),
        ({"$ref": "other.json"}, None),
        ({}, None),
        (True, None),
    ],
)
def test_a_property_is_a_column(schema: object, expected: str | None) -> None:
    """Or is left to values, where the schema leaves it open."""
    whole = {
        "type": "object",
        "properties": {"it": schema, "_own": {"type": "string"}},
        "definitions": {"a/b": {"type": "boolean"}},
    }
    assert {name: written(it) for name, it in columns_of(whole)} == (
        {} if expected is None else {"it": expected}
    )
