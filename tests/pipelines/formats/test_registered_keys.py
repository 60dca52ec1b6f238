"""Keys that have a schema in a registry, beside values of any format."""

import datetime as dt
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.definition.definition import parse as parse_file
from odradek.pipelines.definition.sections import WrongFile
from odradek.pipelines.formats.beside import Beside
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.keys import DECODED_KEY, RegisteredKeys, with_newest
from odradek.pipelines.formats.registry import RegistryFailed, SchemaRegistry
from odradek.pipelines.formats.types import parse, written
from tests.pipelines.formats.protobuf_registry import answer, field, file, framed, message, serving
from tests.pipelines.formats.test_avro_values import value as avro
from tests.pipelines.formats.test_beside import keyed

PAIR = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]}
WIDER = {
    **PAIR,
    "fields": [{"name": "id", "type": "long"}, {"name": "at", "type": ["null", "string"]}],
}
DAY = {"type": "int", "logicalType": "date"}


def of(schema: object, kind: str = "AVRO") -> dict[str, Any]:
    """What a registry says."""
    return {"schema": json.dumps(schema), "schemaType": kind}


MESSAGE = file(message("Key", field("id", 1, "uint32"), field("name", 2, "string")))
ANSWERS: dict[str, Any] = {
    "/schemas/ids/1": of("string"),
    "/schemas/ids/2": of(PAIR),
    "/schemas/ids/3": of(WIDER),
    "/schemas/ids/4": of(DAY),
    "/schemas/ids/5?format=serialized": answer(MESSAGE),
    "/schemas/ids/6": of({"type": "integer"}, "JSON"),
    "/schemas/ids/7": of({}, "JSON"),
    "/subjects/texts-key/versions/latest": of("string"),
    "/subjects/pairs-key/versions/latest": of(PAIR),
    "/subjects/days-key/versions/latest": of(DAY),
    "/subjects/messages-key/versions/latest": {"id": 5, "schema": ""},
    "/subjects/numbers-key/versions/latest": of({"type": "integer"}, "JSON"),
    "/subjects/open-key/versions/latest": of({}, "JSON"),
}


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    """With all of these."""
    with serving(ANSWERS) as it:
        yield it


def json_key(number: int, text: bytes) -> bytes:
    """As Confluent's serializer writes it."""
    return struct.pack(">bI", 0, number) + text


def made(registry: SchemaRegistry, form: str, topic: str) -> Beside:
    """Values in JSON, and keys with the newest schema of this topic."""
    return Beside(JsonValues(), keys=with_newest(RegisteredKeys(form, registry), (topic,)))


@pytest.mark.parametrize(
    ("form", "topic", "kind", "key", "expected"),
    [
        ("avro", "texts", "string", avro(1, "string", "é"), "é"),
        ("avro", "pairs", "struct<id: int>", avro(2, PAIR, {"id": 7}), {"id": 7}),
        (
            "avro",
            "days",
            "date",
            avro(4, "int", 1),
            dt.date(1970, 1, 2),
        ),
        (
            "protobuf",
            "messages",
            "struct<id: long, name: string>",
            framed(5, b"\x08\xff\xff\xff\xff\x0f"),
            {"id": (1 << 32) - 1, "name": ""},
        ),
        ("json-schema", "numbers", "long", json_key(6, b"42"), 42),
        ("json-schema", "open", None, json_key(7, b'{"id": 7}'), {"id": 7}),
        ("avro", "unknown", None, avro(2, PAIR, {"id": 7}), {"id": 7}),
    ],
)
def test_a_key_is_decoded(
    registry: SchemaRegistry,
    *,
    form: str,
    topic: str,
    kind: str | None,
    key: bytes,
    expected: object,
) -> None:
    """It has the type that its schema says, from the first row on if the registry knows it."""
    format_ = made(registry, form, topic)
    said = format_.schema.names[-1] == DECODED_KEY
    assert (written(format_.schema.field(DECODED_KEY).type) if said else None) == kind
    found = format_.convert(keyed((key, b"{}"), (None, b"{}"), (key, b"{}")), format_.schema)
    assert not found.dead
    rows = found.rows.to_pylist()
    assert [row[DECODED_KEY] for row in rows] == [expected, None, expected]
    assert rows[0]["_key"] == key


def test_a_newer_schema_adds_to_the_column(registry: SchemaRegistry) -> None:
    """Numbers become wider; a table that has the wider one takes keys of the older."""
    format_ = made(registry, "avro", "pairs")
    old, new = avro(2, PAIR, {"id": 1}), avro(3, WIDER, {"id": 1 << 40, "at": "x"})
    found = format_.convert(keyed((old, b"{}"), (new, b"{}")), format_.schema)
    assert not found.dead
    column = found.rows.column(DECODED_KEY)
    assert column.type == parse("struct<id: long, at: string>")
    assert column.to_pylist() == [{"id": 1, "at": None}, {"id": 1 << 40, "at": "x"}]
    again = format_.convert(keyed((old, b"{}")), found.rows.schema)
    assert again.rows.schema.field(DECODED_KEY).type == column.type


@pytest.mark.parametrize(
    ("form", "topic", "key", "reason"),
    [
        ("avro", "pairs", b"7", "key: it does not begin with the number of a schema"),
        ("avro", "unknown", b"7", "key: it does not begin with the number of a schema"),
        ("avro", "pairs", avro(2, PAIR, {"id": 1}) + b"x", "key: 1 bytes are behind the record"),
        ("avro", "pairs", avro(1, "string", "x"), "key: column _key_decoded"),
        ("avro", "days", avro(4, "int", 1 << 30), "key: "),
        ("avro", "pairs", avro(99, PAIR, {"id": 1}), "key: the schema registry knows nothing"),
        ("protobuf", "messages", framed(5, b"\x08"), "key: it is no message"),
        ("json-schema", "numbers", json_key(6, b'"x"'), "key: 'x' is no int64"),
        ("json-schema", "numbers", json_key(6, b"{"), "key: the value is no JSON"),
    ],
)
def test_a_key_that_is_not_what_it_should_be(
    registry: SchemaRegistry, *, form: str, topic: str, key: bytes, reason: str
) -> None:
    """Makes its record a dead letter, and others go on."""
    format_ = made(registry, form, topic)
    batch = keyed((None, b'{"id": 1}'), (key, b'{"id": 2}'), (None, b"bad"), (None, b'{"id": 3}'))
    found = format_.convert(batch, format_.schema)
    assert list(found.dead) == [1, 2]
    assert reason in found.dead[1]
    assert [row["id"] for row in found.rows.to_pylist()] == [1, 3]


def test_a_registry_that_is_away_is_no_fault_of_a_key() -> None:
    """The run waits, as for values."""
    keys = RegisteredKeys("avro", SchemaRegistry("http://127.0.0.1:9"))
    with pytest.raises(RegistryFailed, match="does not answer"):
        keys.decoded(pa.array([struct.pack(">bI", 0, 7)]), None)


def test_a_file_says_which(registry: SchemaRegistry, tmp_path: Path) -> None:
    """Keys have the registry of the values, or one of their own; a type is the schema's to say."""
    content = {
        "name": "orders",
        "source": {"bootstrap-server": "b:1", "topics": ["pairs"]},
        "values": {"format": "protobuf", "registry": registry.url},
        "keys": {"format": "avro"},
        "table": {"location": "delta:lake"},
    }
    definition = parse_file(content, tmp_path).with_newest_columns()
    assert definition.archive.values.schema.field(DECODED_KEY).type == parse("struct<id: int>")
    own = {"format": "avro", "registry": registry.url}
    definition = parse_file({**content, "values": {"format": "json"}, "keys": own}, tmp_path)
    assert definition.with_newest_columns().archive.values.schema.names[-1] == DECODED_KEY
    for wrong in (
        {"keys": {"format": "avro", "type": "long"}},
        {"values": {"format": "json"}},
        {"values": {"format": "raw"}, "keys": own},
        {"keys": {**own, "registry": "ftp://x"}},
    ):
        with pytest.raises(WrongFile):
            parse_file({**content, **wrong}, tmp_path)
