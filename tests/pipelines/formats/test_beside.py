"""Columns of the record beside those of its value."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from odradek.pipelines.definition.definition import parse as parse_file
from odradek.pipelines.definition.sections import WrongFile
from odradek.pipelines.formats.beside import Beside
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.keys import PlainKeys
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.values import RECORD_SCHEMA
from tests.pipelines.formats.records import records


def keyed(*pairs: tuple[bytes | None, bytes | None]) -> pa.RecordBatch:
    """Records with these keys and values."""
    batch = records([value for _, value in pairs])
    at = RECORD_SCHEMA.get_field_index("key")
    return batch.set_column(at, "key", pa.array([key for key, _ in pairs], pa.binary()))


def test_headers_and_the_type_of_the_time_stand_beside_the_value() -> None:
    """Of those records alone that give a row; a table that has them already gets no other ones."""
    format_ = Beside(JsonValues(), ("headers", "timestampType"))
    batch = keyed((b"a", b"bad"), (b"b", b'{"id": 1}'), (b"c", None), (b"d", b'{"id": 2}'))
    headers = pa.array(
        [[{"key": str(it), "value": b"v"}] for it in range(4)], batch["headers"].type
    )
    batch = batch.set_column(RECORD_SCHEMA.get_field_index("headers"), "headers", headers)
    found = format_.convert(batch, format_.schema)
    assert list(found.dead) == [0]
    assert found.dropped == {2}
    rows = found.rows.to_pylist()
    assert [(row["id"], row["_headers"][0]["key"]) for row in rows] == [(1, "1"), (2, "3")]
    assert [row["_timestampType"] for row in rows] == [0, 0]
    assert len(set(found.rows.schema.names)) == len(found.rows.schema.names)


@pytest.mark.parametrize(
    ("form", "kind", "key", "value"),
    [
        ("string", "string", "é".encode(), "é"),
        ("string", "long", b"42", 42),
        ("string", "decimal(5,2)", b"1.50", Decimal("1.50")),
        ("json", "long", b"42", 42),
        ("json", "struct<id: long>", b'{"id": 7, "more": 1}', {"id": 7}),
        ("json", "array<string>", b'["a"]', ["a"]),
    ],
)
def test_a_key_is_decoded(form: str, kind: str, key: bytes, value: object) -> None:
    """It stays as bytes in `_key`, too; a record without a key has none."""
    format_ = Beside(JsonValues(), keys=PlainKeys(form, parse(kind)))
    found = format_.convert(keyed((key, b"{}"), (None, b"{}"), (key, b"{}")), format_.schema)
    assert not found.dead
    rows = found.rows.to_pylist()
    assert [row["_key_decoded"] for row in rows] == [value, None, value]
    assert rows[0]["_key"] == key


@pytest.mark.parametrize(
    ("form", "kind", "key", "reason"),
    [
        ("string", "string", b"\xff", "key: it is no text"),
        ("string", "long", b"x", "key: 'x' is no int64"),
        ("string", "long", b"1.5", "key: 1.5 is no int64"),
        ("json", "long", b"{", "key: the value is no JSON"),
        ("json", "struct<id: long>", b"1", "key: 1 is no struct"),
    ],
)
def test_a_key_that_is_not_what_it_should_be(form: str, kind: str, key: bytes, reason: str) -> None:
    """Makes its record a dead letter, and others go on."""
    format_ = Beside(JsonValues(), keys=PlainKeys(form, parse(kind)))
    batch = keyed((None, b'{"id": 1}'), (key, b'{"id": 2}'), (None, b"bad"), (None, b'{"id": 3}'))
    found = format_.convert(batch, format_.schema)
    assert list(found.dead) == [1, 2]
    assert reason in found.dead[1]
    assert [row["id"] for row in found.rows.to_pylist()] == [1, 3]


def test_a_file_says_which(tmp_path: Path) -> None:
    """And is refused where it names none."""
    content = {
        "name": "orders",
        "source": {"bootstrap-server": "b:1", "topics": ["orders"]},
        "values": {"format": "json", "record-columns": ["headers"]},
        "keys": {"format": "json", "type": "struct<id: long>"},
        "table": {"location": "delta:lake"},
    }
    values = parse_file(content, tmp_path).archive.values
    assert values.schema.names[-2:] == ["_headers", "_key_decoded"]
    for wrong in (
        {"keys": {"format": "avor"}},
        {"keys": {"format": "avro"}},
        {"keys": {"format": "json", "type": "lnog"}},
        {"values": {"format": "json", "record-columns": ["header"]}},
        {"values": {"format": "raw"}},
        {"values": {"format": "json", "columns": {"_x": "long"}}},
        {"values": {"format": "json", "columns": {"id": "long", "ID": "long"}}},
    ):
        with pytest.raises(WrongFile):
            parse_file({**content, **wrong}, tmp_path)
