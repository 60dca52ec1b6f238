"""Columns of a record beside those of its value: headers, the type of its time, its decoded key."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.formats.fitting import NUMBER, fitted
from odradek.pipelines.formats.json_text import NoObject, read_value
from odradek.pipelines.formats.names import Unfit
from odradek.pipelines.moving.values import PREFIX, Converted, Values

CHOICES: Final = ("headers", "timestampType")
DECODED_KEY: Final = "_key_decoded"
KEY_FORMATS: Final = ("string", "json")


@dataclass(frozen=True, slots=True)
class Keys:
    """How the bytes of a key become a value: as text, or as JSON of any kind."""

    form: str
    kind: pa.DataType

    def decoded(self, keys: pa.Array) -> tuple[pa.Array, dict[int, str]]:
        """The column, and why some are null although their records have a key, by row number."""
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
        column = pa.array(values, self.kind).take(encoded.indices)
        if not faults:
            return column, {}
        rows = enumerate(encoded.indices.to_pylist())
        return column, {at: faults[it] for at, it in rows if it in faults}

    def _read(self, key: bytes) -> Any:
        if self.form == "json":
            return read_value(key)
        text = key.decode()
        is_number = pa.types.is_integer(self.kind) or pa.types.is_floating(self.kind)
        return Decimal(text) if is_number and NUMBER.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class Beside:
    """Another format, and these columns of its records."""

    values: Values
    columns: tuple[str, ...] = ()
    keys: Keys | None = None

    @property
    def prefix(self) -> str:
        """The other's."""
        return self.values.prefix

    @property
    def schema(self) -> pa.Schema:
        """The other's columns, then these."""
        return pa.schema([*self.values.schema, *self._fields()])

    @property
    def may_grow(self) -> bool:
        """As the other."""
        return self.values.may_grow

    def _fields(self) -> list[pa.Field]:
        fields = [pa.field(PREFIX + name, COLUMNS[name]) for name in self.columns]
        return fields if self.keys is None else [*fields, pa.field(DECODED_KEY, self.keys.kind)]

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """Rows of the other format; a record whose key is not what it should be is dead."""
        more = [batch.column(name) for name in self.columns]
        dead: dict[int, str] = {}
        if self.keys is not None:
            column, dead = self.keys.decoded(batch.column("key"))
            more.append(column)
        found = convert_sound(self.values, batch, table, dead)
        gone = sorted({*found.dead, *found.dropped})
        alive = np.delete(np.arange(batch.num_rows), gone)
        taken = [pc.take(it, pa.array(alive)) for it in more]
        schema = pa.schema([*found.rows.schema, *self._fields()])
        rows = pa.RecordBatch.from_arrays([*found.rows.columns, *taken], schema=schema)
        return Converted(rows, found.dead, found.dropped)


def convert_sound(
    values: Values, batch: pa.RecordBatch, table: pa.Schema, dead: dict[int, str]
) -> Converted:
    """What a format makes of the records that are not dead already."""
    if not dead:
        return values.convert(batch, table)
    sound = np.delete(np.arange(batch.num_rows), sorted(dead))
    found = values.convert(batch.take(pa.array(sound)), table)
    numbers = sound.tolist()
    more = {numbers[at]: reason for at, reason in found.dead.items()}
    return Converted(found.rows, dead | more, frozenset(numbers[at] for at in found.dropped))
