"""Change records of Debezium in Avro, with a registry, into tables of two formats."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa
import pytest

from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.debezium import PLACEHOLDER, Debezium
from tests.pipelines.formats.test_avro_batches import Given
from tests.pipelines.formats.test_avro_values import value
from tests.pipelines.upserts.keyed import FORMATS, KeyedTable, Record, place_of

ROW: Final[Mapping[str, Any]] = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "text", "type": ["null", "string"]},
    ],
}
KEY: Final[Mapping[str, Any]] = {"type": "record", "name": "Key", "fields": ROW["fields"][:1]}


def envelope(row: Mapping[str, Any]) -> dict[str, Any]:
    """As Debezium's converter registers it."""
    return {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", row]},
            {"name": "after", "type": ["null", "Value"]},
            {"name": "op", "type": "string"},
        ],
    }


OLD: Final = envelope(ROW)
NEW: Final = envelope(
    {**ROW, "fields": [*ROW["fields"], {"name": "note", "type": ["null", "string"]}]}
)
REGISTRY: Final = Given("http://debezium", schemas={1: OLD, 2: KEY, 3: NEW})


def _written(number: int, schema: Any, row: Any) -> bytes:
    return value(number, fastavro.parse_schema(dict(schema)), row)


def change(
    op: str, key: int, before: Any, after: Any, *, number: int = 1, schema: Any = OLD
) -> Record:
    """One record, its key in Avro, too."""
    told = {"before": before, "after": after, "op": op}
    return _written(2, KEY, {"id": key}), _written(number, schema, told)


def row(number: int, text: str | None) -> dict[str, Any]:
    """Of the database."""
    return {"id": number, "at": 1_700_000_000_000_000 + number, "text": text}


@pytest.mark.parametrize("ends", [(8,), tuple(range(1, 9))])
@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_those_of_the_database(form: str, tmp_path: Path, ends: tuple[int, ...]) -> None:
    """In one batch and in eight: a newer schema, a value not read, keys that go and that change."""
    newer = {**row(3, PLACEHOLDER), "note": "late"}
    records = [
        change("r", 1, None, row(1, "one")),
        change("c", 2, None, row(2, "two")),
        change("c", 3, None, row(3, "long")),
        change("d", 2, None, None),
        change("c", 4, None, row(4, "four")),
        (_written(2, KEY, {"id": 4}), None),
        change("u", 3, None, newer, number=3, schema=NEW),
        change("u", 1, row(1, "one"), row(9, "one")),
    ]
    columns = (("id", pa.int64()), ("text", pa.string()))
    after = pa.struct([*columns[:1], ("at", pa.timestamp("us", "UTC")), *columns[1:]])
    values = Debezium(AvroValues(REGISTRY, (("after", after),)), ("id",))
    table = KeyedTable(place_of(tmp_path, form), {0: records}, values=values)
    for end in ends:
        table.batch({0: end})
    assert table.account.dead == 0
    found = {it["id"]: (it["text"], it["note"]) for it in table.found()}
    assert found == {3: ("long", "late"), 9: ("one", None)}
