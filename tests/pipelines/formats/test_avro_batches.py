"""Many records of Avro at once: the same rows and the same dead letters as one by one."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import fastavro
import pyarrow as pa
import pytest

from odradek.pipelines.formats.avro_types import as_stored, columns_of
from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.framed import Columns, FramedValues
from odradek.pipelines.formats.registry import SchemaRegistry, UnknownSchema
from odradek.pipelines.moving.values import Converted
from tests.pipelines.formats.records import records
from tests.pipelines.formats.test_avro_values import TIMES, value

SEEDS: Final = 60
BATCH: Final = 60
NAMES: Final = ("a", "b", "c", "d", "e")
TEXTS: Final = ("", "x", "löng", "😀" * 30)
LONGS: Final = (0, 1, -1, 63, 64, 1 << 31, -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63))
PLAIN: Final[dict[str, tuple[Any, ...]]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (0, -1, 1 << 20, (1 << 31) - 1, -(1 << 31)),
    "long": LONGS,
    "float": (0.5, float("inf"), float("nan")),
    "double": (0.1, -0.0, float("nan")),
    "bytes": (b"", b"\0\xff"),
    "string": TEXTS,
}
LOGICAL: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    *(
        ({"type": stored, "logicalType": logical}, (kept, 0, 1 << 40, -(1 << 62), 999))
        for stored, logical, kept, _ in TIMES
        if stored == "long"
    ),
    ({"type": "int", "logicalType": "date"}, (20_000, -719_162, -719_163, 2_932_896, 2_932_897)),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        (b"", b"\xff", b"\x01\x86\x9f", b"\x01\x86\xa0", b"\0" * 9, b"\xff" * 20),
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 30},
        (b"\x7f" * 8, b"\x7f" * 9, b"\x80" + b"\0" * 7, b"\x7f" * 13),
    ),
    ({"type": "bytes", "logicalType": "big-decimal"}, (b"\x04\x04\xd2\x04", b"\x04")),
)


@dataclass(frozen=True, slots=True)
class Given(SchemaRegistry):
    """Has the schemas that it is given, under their numbers."""

    schemas: Mapping[int, Any] = field(default_factory=dict, compare=False)

    def get(self, path: str) -> Any:
        """As a registry says it."""
        number = int(path.rpartition("/")[2])
        if number not in self.schemas:
            raise UnknownSchema(path)
        return {"schema": json.dumps(self.schemas[number])}


def _type(chance: Random, depth: int, names: list[str]) -> tuple[Any, Any]:
    """A type, and what makes values of it."""
    kind = chance.randrange(8 if depth < 2 else 5)
    if kind == 0:
        schema, values = chance.choice(LOGICAL)
        return schema, lambda: chance.choice(values)
    if kind < 4:
        name = chance.choice(list(PLAIN))
        return name, lambda: chance.choice(PLAIN[name])
    names.append(f"N{len(names)}")
    if kind == 4:
        named = {"name": names[-1], "type": "enum", "symbols": ["A", "B"]}
        sized = {"name": names[-1], "type": "fixed", "size": 3}
        return chance.choice([(named, lambda: "B"), (sized, lambda: b"abc")])
    if kind == 5:
        return _record(chance, depth + 1, names)
    if kind == 6 and depth == 0 and chance.random() < 0.2:
        return {"type": "array", "items": "long"}, lambda: [1, 2]
    inner, make = _type(chance, 2, names)
    branches = ["null", inner] if chance.random() < 0.5 else [inner, "null"]
    if inner == "null":
        branches = ["null"]
    return branches, lambda: make() if chance.random() < 0.7 else None


def _record(chance: Random, depth: int, names: list[str]) -> tuple[Any, Any]:
    name = names[-1]
    fields = [(it, *_type(chance, depth, names)) for it in NAMES[: chance.randrange(1, 6)]]
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": it, "type": kind} for it, kind, _ in fields],
    }
    return schema, lambda: {it: make() for it, _, make in fields}


def _bytes(chance: Random, number: int, schema: Any, make: Any) -> bytes | None:
    """A record; now and then one that something happened to."""
    found = bytearray(value(number, fastavro.parse_schema(as_stored(schema)), make()))
    match chance.randrange(40):
        case 0:
            return None
        case 1:
            return bytes(found[: chance.randrange(len(found))])
        case 2:
            return bytes(found) + b"\0"
        case 3 | 4 | 5:
            found[chance.randrange(len(found))] = chance.randrange(256)
        case 6:
            return struct.pack(">bI", 0, 99) + bytes(found[5:])
        case 7:
            at = chance.randrange(5, len(found) + 1)
            return bytes(found[:at]) + b"\xff" * 12 + bytes(found[at:])
    return bytes(found)


def _said(found: Converted) -> tuple[Any, ...]:
    """All of it, so that it can be compared: what is no number is not equal to itself."""
    return found.rows.schema, repr(found.rows.to_pylist()), dict(found.dead), found.dropped


@pytest.mark.parametrize("seed", range(SEEDS))
def test_at_once_and_one_by_one_give_the_same(seed: int) -> None:
    """Any schema, a newer one among it, and whatever may happen to bytes."""
    chance = Random(seed)
    schema, make = _record(chance, 0, ["R"])
    newer = {**schema, "fields": [*schema["fields"], {"name": "z", "type": ["null", "string"]}]}
    schemas = {1: schema, 2: newer}
    made = [
        _bytes(chance, 2, newer, lambda: {**make(), "z": chance.choice((None, *TEXTS))})
        if at > BATCH // 2 and seed % 3 == 0
        else _bytes(chance, 1, schema, make)
        for at in range(BATCH)
    ]
    match seed % 5:
        case 0:
            columns: Columns = ()
        case 1:
            columns = tuple((it, pa.int64()) for it in NAMES[:2])
        case _:
            columns = tuple((name, it.kind) for name, it in columns_of(newer).items())
    format_ = AvroValues(Given(f"http://{seed}", schemas=schemas), columns)
    batch = records([None, *made]).slice(1)
    fast = format_.convert(batch, format_.schema)
    slow = FramedValues.convert(format_, batch, format_.schema)
    assert _said(fast) == _said(slow)


def test_clean_records_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a batch for the sake of one that is cut off."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}
    format_ = AvroValues(Given("http://clean", schemas={1: schema}), (("a", pa.int64()),))
    good = value(1, fastavro.parse_schema(schema), {"a": 7})
    read: list[bytes] = []
    exact = AvroValues.read

    def noted(format_: AvroValues, some: bytes) -> Any:
        read.append(some)
        return exact(format_, some)

    monkeypatch.setattr(AvroValues, "read", noted)
    found = format_.convert(records([good, good[:5], good]), format_.schema)
    assert found.rows.column("a").to_pylist() == [7, 7]
    assert (list(found.dead), read) == ([1], [good[:5]])
