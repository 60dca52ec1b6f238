"""Values that are JSON behind the number of their JSON Schema, as Confluent's serializers write it.

The schema that a value was written with gives columns their types, so that these do not depend on
which values come first; what it leaves open is typed by values, as that of plain JSON is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.formats.framed import HEAD, OF_RECORD, Schemas, parted
from odradek.pipelines.formats.json_text import read_value
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.names import Unfit, check_name
from odradek.pipelines.formats.registry import (
    SchemaRegistry,
    newest_schema,
    schema_by_id,
    understood,
    value_subject,
)
from odradek.pipelines.formats.sound import convert_sound
from odradek.pipelines.formats.types import DEPTH_MAX, TIMESTAMP, type_of
from odradek.pipelines.moving.values import PREFIX, Converted

SIMPLE: Final[Mapping[str, pa.DataType]] = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}
TEXTS: Final[Mapping[str, pa.DataType]] = {"date-time": TIMESTAMP, "date": pa.date32()}
VALUE: Final = "value"


@lru_cache(maxsize=1_000)
def _known(registry: SchemaRegistry, number: int) -> pa.Schema:
    schema = schema_by_id(registry, number)
    with understood(f"JSON Schema {number}"):
        return pa.schema(columns_of(schema))


@dataclass(frozen=True, slots=True)
class JsonSchemaValues:
    """JSON objects with a schema; `json` has the columns of the newest one."""

    registry: SchemaRegistry
    json: JsonValues = field(default_factory=JsonValues)

    @property
    def prefix(self) -> str:
        """As of all that is decoded."""
        return self.json.prefix

    @property
    def schema(self) -> pa.Schema:
        """Of a table without rows."""
        return self.json.schema

    @property
    def may_grow(self) -> bool:
        """A newer schema has more."""
        return True

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """One row for each object."""
        dead: dict[int, str] = {}
        texts: list[bytes | None] = []
        schemas = Schemas(batch, table)
        for at, value in enumerate(batch.column(VALUE).to_pylist()):
            texts.append(None if value is None else value[HEAD.size :])
            if value is not None:
                try:
                    schemas.take(self._columns(value), at)
                except OF_RECORD as error:
                    dead[at] = str(error)
        place = batch.schema.get_field_index(VALUE)
        plain = batch.set_column(place, VALUE, pa.array(texts, pa.binary()))
        return convert_sound(self.json, plain, schemas.table, dead)

    def _columns(self, value: bytes) -> pa.Schema:
        number, _ = parted(value)
        return _known(self.registry, number)


def read_json_key(registry: SchemaRegistry, key: bytes) -> tuple[Any, pa.DataType]:
    """What a key holds, and the type that its schema says, or else the value."""
    number, body = parted(key)
    schema = schema_by_id(registry, number)
    value = read_value(bytes(body))
    with understood(f"JSON Schema {number}"):
        kind = type_said(schema)
    return value, type_of(value) if kind is None else kind


def type_said(schema: Any) -> pa.DataType | None:
    """What a schema of any kind says; None: it may be of several types, or of any."""
    return _type(schema, Whole(schema), 0)


def columns_of(schema: Any) -> list[tuple[str, pa.DataType]]:
    """The properties of an object whose types the schema says; others are left to values."""
    kind = _type(schema, Whole(schema), 0)
    if kind is None or not pa.types.is_struct(kind):
        return []
    return [(it.name, it.type) for it in kind if not it.name.startswith(PREFIX)]


def _fits(name: str, others: Iterable[str]) -> bool:
    try:
        check_name(name, others)
    except Unfit:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Whole:
    """The schema that references are within, and those of them that led to where one is."""

    schema: Any
    within: tuple[str, ...] = ()


def _type(schema: Any, whole: Whole, depth: int) -> pa.DataType | None:
    """None: it may be of several types, of any, or hold itself."""
    if depth > DEPTH_MAX or not isinstance(schema, dict):
        return None
    if (place := schema.get("$ref")) is not None:
        if place in whole.within:
            return None
        inner = Whole(whole.schema, (*whole.within, place))
        return _type(_resolved(whole.schema, str(place)), inner, depth + 1)
    for name in ("oneOf", "anyOf"):
        if isinstance(choices := schema.get(name), list):
            some = [it for it in choices if it != {"type": "null"}]
            return _type(some[0], whole, depth + 1) if len(some) == 1 else None
    said = schema.get("type")
    names = [it for it in (said if isinstance(said, list) else [said]) if it != "null"]
    match names:
        case ["string"]:
            return TEXTS.get(str(schema.get("format")), pa.string())
        case ["array"]:
            item = _type(schema.get("items"), whole, depth + 1)
            return None if item is None else pa.list_(item)
        case ["object"]:
            return _object(schema, whole, depth + 1)
        case [str() as name]:
            return SIMPLE.get(name)
    return None


def _object(schema: Mapping[str, Any], whole: Whole, depth: int) -> pa.DataType | None:
    properties = schema.get("properties")
    if not properties:
        value = _type(schema.get("additionalProperties"), whole, depth)
        return None if value is None else pa.map_(pa.string(), value)
    kinds = ((name, _type(it, whole, depth)) for name, it in properties.items())
    said = [(name, kind) for name, kind in kinds if kind is not None and _fits(name, properties)]
    return pa.struct(said) if said else None


def _resolved(whole: Any, place: str) -> Any:
    """What a reference within the schema means."""
    if not place.startswith("#/"):
        return None
    found = whole
    for name in place.split("/")[1:]:
        if not isinstance(found, dict):
            return None
        found = found.get(name.replace("~1", "/").replace("~0", "~"))
    return found


def json_schema_values(registry: SchemaRegistry, topics: tuple[str, ...]) -> JsonSchemaValues:
    """With the columns of the newest schemas of the topics, as far as the registry has them."""
    columns: dict[str, pa.DataType] = {}
    for topic in topics:
        schema = newest_schema(registry, value_subject(topic))
        if schema is not None:
            with understood(f"the newest schema of {value_subject(topic)}"):
                found = columns_of(schema)
            for name, kind in found:
                columns.setdefault(name, kind)
    return JsonSchemaValues(registry, JsonValues(tuple(columns.items())))
