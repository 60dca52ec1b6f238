"""Schemas of Avro whose types other schemas of the registry define."""

import io
import json
from typing import Any, Final

import fastavro
import pytest

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.formats.avro_values import AvroValues, avro_values
from odradek.pipelines.formats.keys import RegisteredKeys, with_newest
from tests.pipelines.formats.protobuf_registry import framed, serving
from tests.pipelines.formats.records import records


def record(name: str, **fields: Any) -> dict[str, Any]:
    """A type of this full name."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": it, "type": kind} for it, kind in fields.items()],
    }


COUNTRY: Final = {"type": "enum", "name": "shop.Country", "symbols": ["DE", "FR"]}
ADDRESS: Final = record("shop.Address", street="string", country="Country")
ORDER: Final = record(
    "shop.Order",
    id="long",
    to=["null", "Address"],
    bill={"type": "array", "items": "shop.Address"},
    country="Country",
)


def answer(schema: Any, *subjects: str) -> dict[str, Any]:
    """With references to these subjects."""
    said = [{"name": f"shop.{it.title()}", "subject": it, "version": 1} for it in subjects]
    return {"schema": json.dumps(schema), "references": said}


def answers(**schemas: dict[str, Any]) -> dict[str, Any]:
    """A registry of these subjects; the first is number 1, and the newest of values and keys."""
    found: dict[str, Any] = {}
    for number, (subject, it) in enumerate(schemas.items(), 1):
        found[f"/schemas/ids/{number}"] = it
        found[f"/subjects/{subject}/versions/1"] = it | {"id": number}
    for name in "value", "key":
        found[f"/subjects/shop-{name}/versions/latest"] = found["/schemas/ids/1"] | {"id": 1}
    return found


def written(row: Any, *schemas: Any) -> bytes:
    """By a library that was given the schemas in the order in which they need each other."""
    named: dict[str, Any] = {}
    for it in schemas:
        parsed = fastavro.parse_schema(it, named_schemas=named)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, row)
    return framed(1, out.getvalue(), indexes=b"")


def test_types_of_other_schemas() -> None:
    """They are found, also those that they need themselves, and one that two of them need."""
    place = {"street": "Long Street", "country": "FR"}
    row = {"id": 7, "to": place, "bill": [place, place], "country": "DE"}
    said = answers(
        order=answer(ORDER, "address", "country"),
        address=answer(ADDRESS, "country"),
        country=answer(COUNTRY),
    )
    value = written(row, COUNTRY, ADDRESS, ORDER)
    with serving(said) as registry:
        for values in avro_values(registry, ("shop",)), AvroValues(registry):
            for count in 1, 500:
                found = values.convert(records([value] * count), values.schema)
                assert not found.dead
                (last,) = found.rows.slice(count - 1).to_pylist()
                assert {name: last[name] for name in row} == row
        keys = with_newest(RegisteredKeys("avro", registry), ("shop",))
        assert keys.kind is not None
        assert [it.name for it in keys.kind] == list(row)


def test_two_types_of_one_plain_name() -> None:
    """Each is of its namespace, and none is read as the other."""
    ours, theirs = record("shop.Place", x="long"), record("other.Place", x="string", y="string")
    both = record("shop.Both", a="Place", b="other.Place", c="Place", d="other.Place")
    one, two = {"x": 1}, {"x": "one", "y": "two"}
    row = {"a": one, "b": two, "c": one, "d": two}
    said = answers(both=answer(both, "ours", "theirs"), ours=answer(ours), theirs=answer(theirs))
    with serving(said) as registry:
        values = AvroValues(registry)
        found = values.convert(records([written(row, ours, theirs, both)]), values.schema)
        assert not found.dead
        (read,) = found.rows.to_pylist()
    assert {name: read[name] for name in row} == row


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "knows nothing at"),
        ({"address": {"schema": "5", "references": [5]}}, "malformed"),
        ({"address": answer(ADDRESS, "address")}, "leads back to itself"),
        ({"address": answer(ADDRESS)}, "no type 'Country'"),
        ({"address": answer(record("shop.Address", inner="Address"))}, "contains itself"),
        ({"address": answer(record("shop.Order", id="int"))}, "no type 'Address'"),
    ],
)
def test_references_that_say_nothing(more: dict[str, Any], reason: str) -> None:
    """Their records are dead letters; a run that would begin with them says so at once."""
    with serving(answers(order=answer(ORDER, "address"), **more)) as registry:
        values = AvroValues(registry)
        found = values.convert(records([framed(1, b"\x02", indexes=b"")] * 2), values.schema)
        assert list(found.dead) == [0, 1]
        assert reason in found.dead[1]
        with pytest.raises(PipelineError, match=reason):
            avro_values(registry, ("shop",))
