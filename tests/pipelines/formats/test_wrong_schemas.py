"""Schemas of a registry that say nothing: a dead letter for each of their records, one sentence."""

import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pytest

from odradek.pipelines.formats.avro_values import AvroValues, avro_values
from odradek.pipelines.formats.framed import FramedValues
from odradek.pipelines.formats.json_schema import JsonSchemaValues, json_schema_values
from odradek.pipelines.formats.keys import RegisteredKeys, with_newest
from odradek.pipelines.formats.protobuf_values import ProtobufValues, protobuf_values
from odradek.pipelines.formats.registry import SchemaRegistry, WrongSchema
from odradek.pipelines.moving.archiving.tracing import traced
from tests.pipelines.formats.protobuf_registry import answer, field, file, framed, message, serving
from tests.pipelines.formats.records import records

Make = Callable[[SchemaRegistry, tuple[str, ...]], FramedValues | JsonSchemaValues]

MAKERS: Final[dict[str, Make]] = {
    "avro": avro_values,
    "json-schema": json_schema_values,
    "protobuf": protobuf_values,
}
GOOD: Final[dict[str, tuple[Any, bytes]]] = {
    "avro": (
        {"type": "record", "name": "A", "fields": [{"name": "id", "type": "long"}]},
        b"\x02",
    ),
    "json-schema": ({"type": "object", "properties": {"id": {"type": "integer"}}}, b'{"id": 1}'),
    "protobuf": (file(message("A", field("id", 1, "int64"))), b"\x00\x08\x01"),
}


def avro_of(kind: object) -> dict[str, Any]:
    """A record with one field of this type."""
    return {"type": "record", "name": "A", "fields": [{"name": "x", "type": kind}]}


def record_of(*names: str) -> dict[str, Any]:
    """A record with whole numbers of these names."""
    fields = [{"name": it, "type": "int"} for it in names]
    return {"type": "record", "name": "R", "fields": fields}


NESTED: Final = 3_000
NESTED_ARRAYS: Final = json.dumps(avro_of("it")).replace(
    '"it"', '{"type":"array","items":' * NESTED + '"int"' + "}" * NESTED
)


WRONG: Final[tuple[tuple[str, object, str], ...]] = (
    ("avro", 5, "is no record"),
    ("avro", {"type": "record", "name": "A"}, "malformed"),
    ("avro", {"type": "record", "name": "A", "fields": 5}, "malformed"),
    ("avro", {"type": "record", "name": "A", "fields": ["x"]}, "malformed"),
    ("avro", {"type": "record", "name": "A", "fields": [{"name": "x"}]}, "malformed"),
    ("avro", {"type": "record", "fields": [{"name": "x", "type": "int"}]}, "malformed"),
    ("avro", avro_of("no.such.Type"), "has no type 'no.such.Type'"),
    ("avro", avro_of("A"), "contains itself"),
    ("avro", avro_of(5), "malformed"),
    ("avro", avro_of(None), "malformed"),
    ("avro", avro_of(["null", "int", "string"]), "union"),
    ("avro", avro_of({"type": "enum", "name": "E", "symbols": ["a", "a"]}), "unique"),
    ("avro", avro_of({"type": "fixed", "name": "F"}), "malformed"),
    ("avro", avro_of({"type": "array"}), "malformed"),
    ("avro", avro_of({"type": "bytes", "logicalType": "decimal"}), "malformed"),
    ("avro", avro_of({"type": "bytes", "logicalType": "decimal", "precision": "5"}), "malformed"),
    ("avro", avro_of({"type": "int", "logicalType": ["date"]}), "malformed"),
    ("avro", NESTED_ARRAYS, "nested too deep"),
    ("avro", avro_of({"type": "record", "name": "E", "fields": []}), "has no fields"),
    ("avro", avro_of(record_of("id", "ID")), "differs from 'ID' in case only"),
    ("avro", avro_of({"type": "array", "items": record_of("Id", "id")}), "differs from 'id' in"),
    ("json-schema", {"type": "object", "properties": ["id"]}, "malformed"),
    ("json-schema", {"type": "object", "properties": 5}, "malformed"),
    ("protobuf", "", "has no message"),
    ("protobuf", 5, "malformed"),
    ("protobuf", "AAAA", "no descriptor"),
    ("protobuf", file(message("A", field("x", 1, ".shop.A"))), "contains itself"),
    ("protobuf", file(message("A", field("x", 1, ".shop.None"))), "no schema of Protobuf"),
    ("protobuf", file(message("A"), imports=("gone.proto",)), "imports gone.proto"),
)


def answers(form: str, schema: object) -> dict[str, Any]:
    """A registry with a good schema 1 and another one, 2, which is the newest of `shop`."""
    numbered = {1: GOOD[form][0], 2: schema}
    suffix = "?format=serialized" if form == "protobuf" else ""
    said = {
        number: answer(it)
        if form == "protobuf"
        else {"schema": it if it is NESTED_ARRAYS else json.dumps(it)}
        for number, it in numbered.items()
    }
    found = {f"/schemas/ids/{number}{suffix}": it for number, it in said.items()}
    for name in "value", "key":
        found[f"/subjects/shop-{name}/versions/latest"] = said[2] | {"id": 2}
    return found


@pytest.mark.parametrize(("form", "schema", "reason"), WRONG)
def test_a_schema_that_says_nothing(form: str, schema: object, reason: str) -> None:
    """Its records are dead letters, others go on; a run that would begin with it says so."""
    with serving(answers(form, schema)) as registry:
        empty = {"avro": AvroValues, "protobuf": ProtobufValues, "json-schema": JsonSchemaValues}
        good, bad = (framed(number, GOOD[form][1], indexes=b"") for number in (1, 2))
        values = empty[form](registry)
        batch = records([good, bad, good])
        ((_, found),) = traced(batch, lambda it: values.convert(it, values.schema))
        assert found.rows.column("id").to_pylist() == [1, 1]
        assert list(found.dead) == [1]
        assert reason in found.dead[1]
        assert "2" in found.dead[1], "which schema it is"
        if form != "protobuf" or reason not in {"has no message", "contains itself"}:
            with pytest.raises(WrongSchema, match=r"shop-value|schema 2"):
                MAKERS[form](registry, ("shop",))


@pytest.mark.parametrize("form", [*MAKERS])
def test_an_answer_that_is_none(form: str) -> None:
    """It has no schema, or is no object at all; of keys the same holds as of values."""
    suffix = "?format=serialized" if form == "protobuf" else ""
    kind = "PROTOBUF" if form == "protobuf" else "AVRO"
    wrong = ([5], {"schemaType": kind}, {"schemaType": kind, "schema": None})
    found = {f"/schemas/ids/{2 + at}{suffix}": it for at, it in enumerate(wrong)}
    with serving({**answers(form, 5), **found}) as registry:
        keys = [framed(number, GOOD[form][1], indexes=b"") for number in (1, 2, 3, 4)]
        column, faults = RegisteredKeys(form, registry).decoded(pa.array(keys), None)
        assert column is not None
        assert list(faults) == [1, 2, 3]
        assert all("malformed" in it for it in faults.values())


@pytest.mark.parametrize("form", [*MAKERS])
def test_keys_that_would_begin_with_it(form: str) -> None:
    """One sentence, which names the subject or the number."""
    schema = {"avro": avro_of(5), "json-schema": {"type": "object", "properties": 5}}.get(form, 5)
    with (
        serving(answers(form, schema)) as registry,
        pytest.raises(WrongSchema, match=r"shop-key|schema 2"),
    ):
        with_newest(RegisteredKeys(form, registry), ("shop",))


def test_references_of_protobuf() -> None:
    """That are missing, lead back to where they began, or say nothing."""
    imports = file(message("A"), imports=("b.proto",))
    back = file(message("B"), imports=("b.proto",))
    latest = "/subjects/b/versions/1"
    for known, reason in (
        ({}, "knows nothing at"),
        ({latest: {"id": 7}}, "knows nothing at"),
        ({latest: {"no": 7}}, "malformed"),
        ({latest: {"id": 2}}, "imports itself"),
        (
            {latest: {"id": 7}, "/schemas/ids/7?format=serialized": answer(back, b=("b", 1))},
            "itself",
        ),
    ):
        said = answers("protobuf", imports) | known
        said["/schemas/ids/2?format=serialized"] = answer(imports, b=("b", 1))
        with serving(said) as registry:
            values = ProtobufValues(registry)
            found = values.convert(records([framed(2, b"")] * 3), values.schema)
            assert list(found.dead) == [0, 1, 2]
            assert reason in found.dead[2], reason


def test_a_schema_that_holds_itself_twice() -> None:
    """A tree of two branches is looked at once, not once for each path through it."""
    branch = {"$ref": "#/definitions/tree"}
    tree = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, **{f"b{it}": branch for it in range(9)}},
    }
    with serving(answers("json-schema", {**tree, "definitions": {"tree": tree}})) as registry:
        values = json_schema_values(registry, ("shop",))
    assert "id" in values.schema.names


def test_an_unknown_schema_is_asked_for_once_in_a_batch() -> None:
    """And not for each of its records."""
    with serving({}) as registry:
        asked: list[str] = []

        class Counting(SchemaRegistry):
            def get(self, path: str) -> Any:
                asked.append(path)
                return super().get(path)

        values = AvroValues(Counting(registry.url))
        found = values.convert(records([framed(9, b"\x02", indexes=b"")] * 100), values.schema)
    assert len(found.dead) == 100
    assert len(asked) <= 2
