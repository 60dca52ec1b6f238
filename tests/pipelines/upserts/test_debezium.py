"""Change records of Debezium, into tables of two formats: rows as the database has them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.definition.sections import WrongFile
from odradek.pipelines.formats.changes import Changes
from odradek.pipelines.formats.debezium import PLACEHOLDER, Debezium
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.archiving.truncates import Truncates
from tests.pipelines.definition.test_definition import read
from tests.pipelines.upserts.keyed import FORMATS, KeyedTable, Record, place_of, records_at

COLUMNS = (("id", parse("long")), ("name", parse("string")), ("text", parse("string")))
VALUES = Debezium(JsonValues(COLUMNS), ("id",))

Row = Mapping[str, Any] | None


def change(op: str, key: int | None, before: Row, after: Row, *, schemas: bool = True) -> Record:
    """As Kafka Connect's JSON converter writes it."""
    value: Any = {"before": before, "after": after, "op": op, "source": {"lsn": 5}, "ts_ms": 1}
    name: Any = None if key is None else {"id": key}
    if schemas:
        value = {"schema": {"type": "struct"}, "payload": value}
        name = None if name is None else {"schema": {"type": "struct"}, "payload": name}
    return None if name is None else json.dumps(name).encode(), json.dumps(value).encode()


def row(number: int, name: str, text: str | None = None) -> dict[str, Any]:
    """Of the database."""
    return {"id": number, "name": name, "text": text}


def table_of(folder: Path, form: str, *records: Record) -> KeyedTable:
    """One partition, these records."""
    return KeyedTable(place_of(folder, form), {0: records}, values=VALUES)


@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_those_of_the_database(form: str, tmp_path: Path, *, schemas: bool) -> None:
    """Read by a snapshot, created, updated, deleted with a tombstone behind it; batch by batch."""
    key = change("c", 2, None, None, schemas=schemas)[0]
    table = table_of(
        tmp_path,
        form,
        change("r", 1, None, row(1, "one"), schemas=schemas),
        change("c", 2, None, row(2, "two"), schemas=schemas),
        change("u", 1, None, row(1, "first"), schemas=schemas),
        change("d", 2, row(2, "two"), None, schemas=schemas),
        (key, None),
        change("c", 3, None, row(3, "three"), schemas=schemas),
    )
    for end in range(1, 7):
        table.batch({0: end})
    assert sorted(it["id"] for it in table.found()) == [1, 3]
    assert row(1, "first") in table.found()
    assert (table.account.written, table.account.dead) == (6, 0)


@pytest.mark.parametrize("ends", [(2,), (1, 2)])
def test_a_key_that_changes_leaves_no_row_behind(tmp_path: Path, ends: tuple[int, ...]) -> None:
    """Said by one record, whose row before has another key; in one batch, and in two."""
    table = table_of(
        tmp_path,
        "delta",
        change("c", 1, None, row(1, "one")),
        change("u", 1, row(1, "one"), row(9, "one")),
    )
    for end in ends:
        table.batch({0: end})
    assert table.found() == [row(9, "one")]
    assert table.account.written == 2


@pytest.mark.parametrize("end", [1, 6])
@pytest.mark.parametrize("is_debezium", [True, False])
def test_a_key_that_is_a_time(tmp_path: Path, end: int, *, is_debezium: bool) -> None:
    """Its numbers count seconds in the row before a change and in a record's key, too."""
    json_values = JsonValues(
        (("at", parse("timestamp")), ("n", parse("long"))), units=(("at", "s"),)
    )
    if is_debezium:
        log = [
            *(change("c", None, None, {"at": 1_700_000_000 + it, "n": it}) for it in range(4)),
            change("d", None, {"at": 1_700_000_000}, None),
            change("u", None, {"at": 1_700_000_001}, {"at": 1_700_000_009, "n": 9}),
            (b'{"at": 1700000002}', b'{"op": "d"}'),
        ]
    else:
        log = [
            *((b"", b'{"at": %d, "n": %d}' % (1_700_000_000 + it, it)) for it in range(4)),
            (b"1700000000", None),
            (b'"1700000002"', None),
            (b'{"at": 1700000001}', b'{"at": 1700000009, "n": 9}'),
            (b'{"payload": {"at": 1700000001}, "schema": {}}', None),
        ]
    values = Debezium(json_values, ("at",)) if is_debezium else json_values
    table = KeyedTable(place_of(tmp_path, "delta"), {0: log}, keys=("at",), values=values)
    for it in (end, len(log)):
        table.batch({0: it})
    found = {it["n"]: it["at"].timestamp() - 1_700_000_000 for it in table.found()}
    assert found == {3: 3, 9: 9}
    assert table.account.dead == 0


@pytest.mark.parametrize("ends", [(4,), (1, 4), (1, 2, 3, 4)])
@pytest.mark.parametrize("form", FORMATS)
def test_what_was_not_read_stays_what_it_was(
    form: str, tmp_path: Path, ends: tuple[int, ...]
) -> None:
    """A large value behind a placeholder, from the table or from a record of the same batch."""
    table = table_of(
        tmp_path,
        form,
        change("c", 1, None, row(1, "one", "long")),
        change("u", 1, None, row(1, "first", PLACEHOLDER)),
        change("u", 1, None, row(1, PLACEHOLDER, "longer")),
        change("u", 1, None, row(1, "last", PLACEHOLDER)),
    )
    for end in ends:
        table.batch({0: end})
    assert table.found() == [row(1, "last", "longer")]


@pytest.mark.parametrize("ends", [(4,), (3, 4), (2, 4)])
def test_what_was_truncated_is_gone(tmp_path: Path, ends: tuple[int, ...]) -> None:
    """All rows before it, and none behind it."""
    table = table_of(
        tmp_path,
        "delta",
        change("c", 1, None, row(1, "one")),
        change("c", 2, None, row(2, "two")),
        change("t", None, None, None),
        change("c", 3, None, row(3, "three")),
    )
    for end in ends:
        table.batch({0: end}, cut=1)
    assert table.found() == [row(3, "three")]
    assert (table.account.read, table.account.written) == (4, 4)


def test_what_changes_nothing_that_is_known_is_dead() -> None:
    """Each of these records is a dead letter that says why; the others are changes."""
    some = [
        change("t", None, None, None),
        (b"{}", b'{"id": 1}'),
        change("d", None, None, None),
        change("c", 1, None, None),
        change("c", 1, None, {"id": None, "name": "x"}),
        (None, None),
        change("c", 1, None, {"id": "no number"}),
        (b"1", b'{"schema": {}, "payload": 5}'),
        (b"1", b'{"op": "c", "after": {"id": 1, "name": "a", "name": "b"}}'),
        (b"1", b'{"payload": {"op": "d", "before": {"id": 1}}, "payload": {}, "schema": {}}'),
        (b'{"id": 1, "id": 2}', b'{"op": "d"}'),
        (b'{"payload": {"id": 1}, "payload": {"id": 2}, "schema": {}}', None),
        change("c", 4, None, row(4, "four")),
    ]
    made = Truncates(Changes(VALUES, ("id",)), frozenset())
    found = made.convert(records_at(0, 0, some), made.schema)
    said = [
        "several partitions",
        "its op is None",
        "has no key",
        "no row after it",
        "it is a key",
        "has no key",
        "column id",
        "no change record",
        *["more than once"] * 4,
    ]
    assert sorted(found.dead) == list(range(12)), found.dead
    assert all(it in found.dead[at] for at, it in enumerate(said)), found.dead
    assert found.rows.num_rows == 1


@pytest.mark.parametrize(
    ("table", "values", "said"),
    [
        ({}, {"format": "json", "envelope": "debezium"}, "takes table.mode"),
        ({"mode": "upsert"}, {}, "needs table.keys"),
        ({"keys": ["id"]}, {}, "upsert"),
        ({"mode": "upsert", "keys": ["key"]}, {"envelope": "debezium"}, "json or avro"),
        ({"mode": "upsert", "keys": ["key"]}, {"envelope": "debesium"}, "did you mean"),
        ({"mode": "upsert", "keys": ["key"], "location": "parquet:x"}, {}, "delta: or iceberg:"),
        ({"mode": "upsert", "keys": ["key"], "partition-by": ["topic"]}, {}, "split by its keys"),
        ({"mode": "merge", "keys": ["key"]}, {}, "append or upsert"),
    ],
)
def test_what_cannot_be_is_refused(
    table: dict[str, Any], values: dict[str, Any], said: str
) -> None:
    """The file says so before anything is read, with what would be right instead."""
    with pytest.raises(WrongFile, match=said):
        read(table={"location": "delta:lake/orders", **table}, values=values)
