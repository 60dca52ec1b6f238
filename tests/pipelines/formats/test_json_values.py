"""JSON to rows: columns that are known, that come, that widen; and values that fit none."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.values import Converted
from tests.pipelines.formats.records import records


def convert(*values: bytes | None, grow: bool = True, **columns: str) -> Converted:
    """With these columns in the table."""
    format_ = JsonValues(tuple((name, parse(it)) for name, it in columns.items()), may_grow=grow)
    return format_.convert(records(values), format_.schema)


def rows(found: Converted) -> list[dict[str, Any]]:
    """What values gave: the record's own columns left out."""
    return [
        {name: it for name, it in row.items() if not name.startswith("_")}
        for row in found.rows.to_pylist()
    ]


def test_a_row_says_where_it_comes_from() -> None:
    """So that a table can be compared with its topic."""
    (row,) = convert(b'{"id": 1}').rows.to_pylist()
    assert (row["_topic"], row["_partition"], row["_offset"], row["_key"]) == (
        "orders",
        3,
        100,
        b"k",
    )
    assert row["_timestamp"] == dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)


def test_columns_of_the_schema_have_its_types() -> None:
    """Whatever JSON calls them; what is missing is null."""
    found = convert(
        b'{"id": 1, "at": "2026-01-31T10:00:00+02:00", "day": "2026-01-31", "cost": "1.50"}',
        b'{"id": 2.0, "at": 1700000000000}',
        id="long",
        at="timestamp",
        day="date",
        cost="decimal(5,2)",
    )
    assert not found.dead
    assert rows(found) == [
        {
            "id": 1,
            "at": dt.datetime(2026, 1, 31, 8, tzinfo=dt.UTC),
            "day": dt.date(2026, 1, 31),
            "cost": Decimal("1.50"),
        },
        {
            "id": 2,
            "at": dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC),
            "day": None,
            "cost": None,
        },
    ]


def test_a_new_field_adds_a_column_with_the_widest_of_its_types() -> None:
    """The same holds for fields within a struct that the table has."""
    found = convert(
        b'{"a": 1, "s": {"x": 1, "y": [1]}}',
        b'{"a": 1.5, "s": {"x": 2, "z": null}}',
        s="struct<x: long>",
    )
    assert not found.dead
    assert found.rows.schema.field("a").type == pa.float64()
    assert rows(found)[0] == {"s": {"x": 1, "y": [1], "z": None}, "a": 1.0} or rows(found)[0] == {
        "s": {"x": 1, "y": [1]},
        "a": 1.0,
    }


def test_a_closed_schema_takes_no_new_columns() -> None:
    """Fields that it does not have are left out of the rows."""
    assert rows(convert(b'{"id": 1, "b": 2}', grow=False, id="long")) == [{"id": 1}]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{", "the value is no JSON"),
        (b"[1]", "JSON, but no object"),
        (b'{"id": "x"}', "column id: 'x' is no int64"),
        (b'{"id": 1.5}', "column id: 1.5 is no int64"),
        (b'{"id": true}', "column id: True is no int64"),
        (b'{"id": 9223372036854775808}', "is no int64"),
        (b'{"at": "yesterday"}', "column at: 'yesterday' is no timestamp"),
        (b'{"s": 1}', "column s: 1 is no struct"),
        (b'{"t": [1, {"b": 1}]}', "column t:"),
        (b'{"_offset": 1}', "field '_offset': names with '_' before them"),
        (b'{"new": ' + b"[" * 60 + b"]" * 60 + b"}", "nested more than 32 deep"),
    ],
)
def test_what_fits_no_column_is_a_dead_letter_and_others_go_on(value: bytes, reason: str) -> None:
    """Each has a reason, which names the column where one is concerned."""
    found = convert(
        b'{"id": 1}',
        value,
        b'{"id": 2}',
        id="long",
        at="timestamp",
        s="struct<a: int>",
        t="array<int>",
    )
    assert list(found.dead) == [1]
    assert reason in found.dead[1]
    assert [it["id"] for it in rows(found)] == [1, 2]


def test_of_values_that_contradict_each_other_the_first_one_counts() -> None:
    """A column has one type, so the others are dead letters."""
    found = convert(b'{"new": 1}', b'{"new": "x"}', b'{"new": null}')
    assert [it["new"] for it in rows(found)] == [1, None]
    assert found.dead == {
        1: "column new: it is string, other values are int64; "
        "the first is at offset 100 of orders-3"
    }


def test_a_record_without_a_value_is_dropped() -> None:
    """A tombstone says that there is no row."""
    found = convert(None, b'{"id": 1}', b"null")
    assert found.dropped == {0}
    assert list(found.dead) == [2]
    assert found.rows.num_rows == 1


def test_a_map_has_any_keys() -> None:
    """Its values have one type; a key that stands twice is refused, and what is no map."""
    found = convert(
        b'{"m": {"a b": 1, "": 2}}',
        b'{"m": {}}',
        b'{"m": {"a": 1, "a": 2}}',
        b'{"m": {"a": "x"}}',
        b'{"m": [1]}',
        m="map<string, long>",
    )
    assert rows(found) == [{"m": [("a b", 1), ("", 2)]}, {"m": []}]
    assert list(found.dead) == [2, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "lnog",
        "array<>",
        "struct<a>",
        "decimal(50,2)",
        "decimal(2,3)",
        "array<long",
        "map<a,b>",
        "map<long, long>",
        "map<string>",
    ],
)
def test_what_is_no_type_is_refused(text: str) -> None:
    """The sentence says which text is no type."""
    with pytest.raises(InvalidOption):
        parse(text)
