"""Schemas of Avro as a registry has them, made whole: with the types that other schemas define.

A type has a full name, that of its namespace included; where a name stands it is of the namespace
around it. What follows sees plain names alone, each of one type: no namespace is left, and of two
types that differ by it the later one has a number.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.registry import (
    SchemaRegistry,
    WrongSchema,
    answer_by_id,
    newest,
    schema_by_id,
    schema_of,
    understood,
)

NAMED: Final = frozenset({"record", "enum", "fixed", "error"})
OF_AVRO: Final = NAMED | {
    "null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map",
}  # fmt: skip

Definitions = dict[str, tuple[Any, str]]
"""By full name: the type, and the namespace that it stands in."""


@lru_cache(maxsize=1_000)
def avro_schema(registry: SchemaRegistry, number: int) -> Any:
    """The schema that values with this number were written with."""
    schema = schema_by_id(registry, number)
    with understood(f"Avro schema {number}"):
        return _whole(schema, answer_by_id(registry, number), registry)


def newest_avro(registry: SchemaRegistry, subject: str) -> Any:
    """What is written with now under this name; None: the registry has none."""
    if (answer := newest(registry, subject)) is None:
        return None
    what = f"the newest schema of {subject}"
    schema = schema_of(answer, what)
    with understood(what):
        return _whole(schema, answer, registry)


def _whole(schema: Any, answer: Mapping[str, Any], registry: SchemaRegistry) -> Any:
    elsewhere: Definitions = {}
    _gather(elsewhere, answer, registry, ())
    return _Whole(elsewhere).type_of(schema, "")


def _gather(
    found: Definitions, answer: Mapping[str, Any], registry: SchemaRegistry, led: tuple[int, ...]
) -> None:
    """The types that a schema's references define, and theirs."""
    for it in answer.get("references") or ():
        subject = quote(it["subject"], safe="")
        number = registry.get(f"/subjects/{subject}/versions/{it['version']}")["id"]
        if number in led:
            raise WrongSchema(f"the reference {it['name']} leads back to itself")
        referred = answer_by_id(registry, number)
        _gather(found, referred, registry, (*led, number))
        _define(found, schema_by_id(registry, number), "")


def _define(found: Definitions, schema: Any, namespace: str) -> None:
    if isinstance(schema, list):
        for it in schema:
            _define(found, it, namespace)
    if not isinstance(schema, dict):
        return
    if isinstance(schema["type"], str) and schema["type"] in NAMED:
        full = _full_name(schema, namespace)
        found.setdefault(full, (schema, namespace))
        namespace = full.rpartition(".")[0]
    for inner in _inner(schema):
        _define(found, inner, namespace)


def _inner(schema: Mapping[str, Any]) -> list[Any]:
    fields = [it["type"] for it in schema.get("fields", ())]
    return [*(schema[it] for it in ("type", "items", "values") if it in schema), *fields]


def _full_name(schema: Mapping[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    if "." in name:
        return name
    return _joined(schema.get("namespace", namespace), name)


def _joined(namespace: str, name: str) -> str:
    return f"{namespace}.{name}" if namespace else name


class _Whole:
    """One schema; a type of another one stands where it is named first."""

    def __init__(self, elsewhere: Definitions) -> None:
        self._elsewhere = elsewhere
        self._defined: dict[str, Any] = {}
        self._plain: dict[str, str] = {}

    def type_of(self, schema: Any, namespace: str) -> Any:
        """The same type, whole."""
        if isinstance(schema, list):
            return [self.type_of(it, namespace) for it in schema]
        if isinstance(schema, str):
            return self._named(schema, namespace)
        if not isinstance(schema, dict):
            return schema
        found = dict(schema)
        if isinstance(schema["type"], str) and schema["type"] in NAMED:
            full = _full_name(schema, namespace)
            if full in self._defined:
                return self._again(full, schema)
            self._defined[full] = schema
            found["name"] = self._plain_name(full)
            found.pop("namespace", None)
            namespace = full.rpartition(".")[0]
        else:
            found["type"] = self.type_of(schema["type"], namespace)
        for name in ("items", "values"):
            if name in found:
                found[name] = self.type_of(found[name], namespace)
        if "fields" in found:
            fields = found["fields"]
            found["fields"] = [{**it, "type": self.type_of(it["type"], namespace)} for it in fields]
        return found

    def _named(self, name: str, namespace: str) -> Any:
        if name in OF_AVRO:
            return name
        for full in (name,) if "." in name else (_joined(namespace, name), name):
            if full in self._defined:
                return self._plain[full]
            if full in self._elsewhere:
                return self.type_of(*self._elsewhere[full])
        return name  # what reads the schema says that there is none

    def _again(self, full: str, schema: Any) -> str:
        if schema != self._defined[full]:
            raise InvalidOption(f"the Avro schema has two types {full!r}")
        return self._plain[full]

    def _plain_name(self, full: str) -> str:
        name = plain = full.rpartition(".")[2]
        taken, number = {*self._plain.values(), *OF_AVRO}, 1
        while plain in taken:
            number += 1
            plain = f"{name}_{number}"
        self._plain[full] = plain
        return plain
