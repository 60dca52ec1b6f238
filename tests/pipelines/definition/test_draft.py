"""What is drafted from records."""

import tomllib
from pathlib import Path

from odradek.pipelines.definition.definition import parse
from odradek.pipelines.definition.draft import drafted, text_of
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import written


def file_of(*values: bytes | None) -> str:
    """Of these values, in this order."""
    sample = ((f"offset {at} of orders-0", it) for at, it in enumerate(values))
    return text_of(drafted(sample), "localhost:9092", ["orders"], "delta:lake/orders")


def columns_of(text: str, folder: Path) -> dict[str, str]:
    """Those of the pipeline that the file is."""
    values = parse(tomllib.loads(text), folder).archive.values
    assert isinstance(values, JsonValues)
    return {name: written(it) for name, it in values.columns}


def test_types_do_not_depend_on_which_record_comes_first(tmp_path: Path) -> None:
    """A whole number before one with a fraction makes no `long`."""
    values = [
        b'{"id": 1, "amount": 5, "at": "2026-01-31T10:00:00Z", "day": "2026-01-31", "x": null}',
        b'{"id": 2, "amount": 7.5, "at": "2026-02-01T10:00:00Z", "tags": ["a"], "s": {"b": 1}}',
        b'{"id": 18446744073709551617, "s": {"c": true}, "big": 12345678901234567.89}',
    ]
    expected = {
        "id": "decimal(38,0)",
        "amount": "double",
        "at": "timestamp",
        "day": "date",
        "tags": "array<string>",
        "big": "decimal(38,2)",
        "s": "struct<b: long, c: boolean>",
    }
    assert columns_of(file_of(*values), tmp_path) == expected
    backwards = columns_of(file_of(*reversed(values)), tmp_path)
    assert {**backwards, "s": expected["s"]} == expected


def test_what_contradicts_is_said_beside_the_column(tmp_path: Path) -> None:
    """With how often, and where the first is; also what can be no column, and what is no object."""
    values = [b'{"id": 1}', b'{"id": "x", "ID": 2}', b'{"id": 3, "a b": 1}', b"no order", None]
    text = file_of(*values)
    assert columns_of(text, tmp_path) == {"id": "long"}
    assert 'id = "long"  # seen 2 times; 1 contradict, the first: ' in text
    assert "'x' is no int64, at offset 1 of orders-0" in text
    assert "# no column: ID: field 'ID' differs from 'id' in case only" in text
    assert "# no column: a b: " in text
    assert "5 records of orders: 3 JSON objects, 1 without a value." in text
    assert "The first: the value is no JSON" in text


def test_what_is_no_json_is_kept_as_it_is(tmp_path: Path) -> None:
    """The file says so, and can be run."""
    found = parse(tomllib.loads(file_of(b"\x00\x01", b"{}", b"x", b"\xff")), tmp_path)
    assert found.archive.values.prefix == ""
