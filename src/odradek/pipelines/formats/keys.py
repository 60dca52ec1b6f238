"""What the bytes of a key become: a column beside those of the value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol

import pyarrow as pa

from odradek.pipelines.formats.avro_schemas import newest_avro
from odradek.pipelines.formats.avro_types import column_of as avro_column
from odradek.pipelines.formats.avro_values import read_avro_key
from odradek.pipelines.formats.fitting import NUMBER, fitted
from odradek.pipelines.formats.framed import OF_RECORD
from odradek.pipelines.formats.json_schema import read_json_key, type_said
from odradek.pipelines.formats.json_text import NoObject, read_value
from odradek.pipelines.formats.names import Unfit
from odradek.pipelines.formats.protobuf_schemas import newest_message
from odradek.pipelines.formats.protobuf_types import column_of as protobuf_column
from odradek.pipelines.formats.protobuf_values import read_protobuf_key
from odradek.pipelines.formats.registry import (
    SchemaRegistry,
    key_subject,
    newest_schema,
    understood,
)
from odradek.pipelines.formats.types import settled
from odradek.pipelines.tables.growth import grown

DECODED_KEY: Final = "_key_decoded"
PLAIN: Final = ("string", "json")
READERS: Final[Mapping[str, Callable[[SchemaRegistry, bytes], tuple[Any, pa.DataType]]]] = {
    "avro": read_avro_key,
    "protobuf": read_protobuf_key,
    "json-schema": read_json_key,
}
"""Of keys that have a schema in a registry."""

Decoded = tuple[pa.Array | None, dict[int, str]]
"""The column, and why some are null although their records have a key, by row number."""


class Keys(Protocol):
    """A format of keys."""

    @property
    def kind(self) -> pa.DataType | None:
        """The column of a table without rows; None: the first key says it."""

    def decoded(self, keys: pa.Array, known: pa.DataType | None) -> Decoded:
        """The keys of a batch; `known` is the column that the table has already."""


@dataclass(frozen=True, slots=True)
class PlainKeys:
    """Text, or JSON of any kind, of a type that the pipeline's file says."""

    form: str
    kind: pa.DataType

    def decoded(self, keys: pa.Array, known: pa.DataType | None) -> Decoded:  # noqa: ARG002
        """Each different key once."""
        encoded = keys.dictionary_encode()
        values: list[Any] = []
        faults: dict[int, str] = {}
        for number, key in enumerate(encoded.dictionary.to_pylist()):
            values.append(None)
            try:
                values[number] = fitted(self._read(key), self.kind)
            except (Unfit, NoObject) as reason:
                faults[number] = f"key: {reason}"
            except UnicodeDecodeError:
                faults[number] = "key: it is no text in UTF-8"
        return _of_rows(encoded, pa.array(values, self.kind), faults)

    def _read(self, key: bytes) -> Any:
        if self.form == "json":
            return read_value(key)
        text = key.decode()
        is_number = pa.types.is_integer(self.kind) or pa.types.is_floating(self.kind)
        return Decimal(text) if is_number and NUMBER.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class RegisteredKeys:
    """Behind the number of their schema; `kind` is that of the newest one."""

    form: str
    registry: SchemaRegistry
    kind: pa.DataType | None = None

    def decoded(self, keys: pa.Array, known: pa.DataType | None) -> Decoded:
        """Each different key once; a newer schema adds to the column."""
        encoded = keys.dictionary_encode()
        column: pa.DataType | None = self.kind if known is None else known
        values: list[Any] = []
        faults: dict[int, str] = {}
        for number, key in enumerate(encoded.dictionary.to_pylist()):
            values.append(None)
            try:
                values[number], said = READERS[self.form](self.registry, key)
                column = _wider(column, said)
            except (ArithmeticError, *OF_RECORD) as reason:
                faults[number] = f"key: {reason}"
        if column is None:
            return None, _by_row(encoded, faults)
        fitting = [
            None if number in faults else self._fitted(value, column, number, faults)
            for number, value in enumerate(values)
        ]
        return _of_rows(encoded, pa.array(fitting, column), faults)

    def _fitted(self, value: Any, column: pa.DataType, number: int, faults: dict[int, str]) -> Any:
        try:
            return fitted(value, column)
        except Unfit as reason:
            faults[number] = f"key: {reason}"
            return None


def with_newest(keys: RegisteredKeys, topics: tuple[str, ...]) -> RegisteredKeys:
    """With the column that the registry knows for the first of these topics that has one."""
    for topic in topics:
        kind = _newest(keys.form, keys.registry, key_subject(topic))
        if kind is not None and (kind := settled(kind)) is not None:
            return RegisteredKeys(keys.form, keys.registry, kind)
    return keys


def _newest(form: str, registry: SchemaRegistry, subject: str) -> pa.DataType | None:
    if form == "protobuf":
        found = newest_message(registry, subject)
    else:
        found = (newest_avro if form == "avro" else newest_schema)(registry, subject)
    if found is None:
        return None
    with understood(f"the newest schema of {subject}"):
        if form == "json-schema":
            return type_said(found)
        return (protobuf_column if form == "protobuf" else avro_column)(found).kind


def _wider(column: pa.DataType | None, said: pa.DataType) -> pa.DataType | None:
    """The column that holds keys of this type, too."""
    if column is None or pa.types.is_null(said):
        return settled(said) if column is None else column
    has, gets = (pa.schema([(DECODED_KEY, it)]) for it in (column, said))
    schema = grown(has, gets, "the table", can_widen=True)
    return column if schema is None else schema.field(0).type


def _of_rows(encoded: pa.DictionaryArray, values: pa.Array, faults: Mapping[int, str]) -> Decoded:
    return values.take(encoded.indices), _by_row(encoded, faults)


def _by_row(encoded: pa.DictionaryArray, faults: Mapping[int, str]) -> dict[int, str]:
    if not faults:
        return {}
    rows = enumerate(encoded.indices.to_pylist())
    return {at: faults[it] for at, it in rows if it in faults}
