"""Change records as Debezium writes them: what each does to a row of a table with keys.

A record has the row before and after a change, and says which kind of change it was. With schemas
(of Kafka Connect's JSON converter) all of that is the payload, and the schema is passed over: types
are those of declared columns, or of values. A change of a row's key comes as two records, or as one
whose row before has another key. What Debezium did not read, because the database keeps large
values apart, has a placeholder: such a column stays as it is.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.fitting import fitted
from odradek.pipelines.formats.json_text import NoObject, read_object
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.names import TwiceNamed, Unfit, once
from odradek.pipelines.formats.record_keys import CONNECT, key_values
from odradek.pipelines.formats.registry import UnknownSchema
from odradek.pipelines.formats.rows import make_rows, record_fields, with_columns
from odradek.pipelines.moving.values import PREFIX, Converted
from odradek.pipelines.tables.table import TableRefused
from odradek.pipelines.upserts.columns import (
    DELETE,
    KEEPS,
    NAMES_TYPE,
    OP,
    PUT,
    TRUNCATE,
    WAS,
)

OPS: Final[Mapping[str, int]] = {"c": PUT, "r": PUT, "u": PUT, "d": DELETE, "t": TRUNCATE}
"""Created, read by a snapshot, updated; deleted; truncated."""
PLACEHOLDER: Final = "__debezium_unavailable_value"
PLACEHOLDERS: Final = (
    PLACEHOLDER,
    PLACEHOLDER.encode(),
    base64.b64encode(PLACEHOLDER.encode()).decode(),
    [PLACEHOLDER],
    list(PLACEHOLDER.encode()),
    {PLACEHOLDER: PLACEHOLDER},
)
"""Of texts, of bytes in Avro and in JSON, of arrays of texts and of numbers, of maps."""
FAULTS: Final = (ValueError, UnknownSchema, InvalidOption, TableRefused)

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What one record says."""

    op: int
    fields: Fields  # of the row, or of its key alone
    keeps: tuple[str, ...] = ()
    was: Fields | None = None


@dataclass(frozen=True, slots=True)
class Debezium:
    """Change records in another format; `keys` are those of the table."""

    values: JsonValues | AvroValues
    keys: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """Before the names of a record's own columns."""
        return PREFIX

    @property
    def schema(self) -> pa.Schema:
        """Of a table without rows: the columns of rows after a change."""
        if isinstance(self.values, JsonValues):
            return self.values.schema
        return pa.schema([*record_fields(), *_after(pa.schema(self.values.columns))])

    @property
    def may_grow(self) -> bool:
        """As the other format."""
        return self.values.may_grow

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """A change for each record."""
        dead: dict[int, str] = {}
        found: list[Change | None] = []
        keys = batch.column("key")
        for at, value in enumerate(batch.column("value").to_pylist()):
            found.append(None)
            try:
                envelope, kinds = self._envelope(value)
                table = table if kinds is None else with_columns(table, kinds, batch, at)
                found[at] = self._change(envelope, keys[at].as_py(), table)
            except FAULTS as reason:
                dead[at] = str(reason)
        parsed = [None if it is None else it.fields for it in found]
        is_json = isinstance(self.values, JsonValues)
        rows = make_rows(batch, parsed, table, dead=dead, may_grow=is_json and self.values.may_grow)
        alive = [it for at, it in enumerate(found) if it is not None and at not in dead]
        return Converted(self._told(rows.rows, alive, table), rows.dead)

    def _envelope(self, value: bytes) -> tuple[Fields, pa.Schema | None]:
        if isinstance(self.values, AvroValues):
            record, kinds = self.values.read(value)
            return record, _after(kinds)
        found = read_object(value)
        if found.keys() == CONNECT:
            found = once(found, "payload")
        if not isinstance(found, dict):
            raise Unfit("the payload is no change record of Debezium")
        return found, None

    def _change(self, envelope: Fields, key: bytes | None, table: pa.Schema) -> Change:
        said = once(envelope, "op")
        op = OPS.get(said) if isinstance(said, str) else None
        if op is None:
            raise Unfit(f"it is no change record of Debezium: its op is {said!r}"[:100])
        before, after = (_row(envelope, name) for name in ("before", "after"))
        if op == TRUNCATE:
            return Change(op, {})
        if op == DELETE:
            return Change(op, self._key(before, key, table))
        if after is None:
            raise Unfit(f"op {said!r} has no row after it")
        keeps = tuple(name for name, it in after.items() if it in PLACEHOLDERS)
        if set(keeps) & set(self.keys):
            raise Unfit("its key was not read by Debezium")
        fields = _without(after, keeps)
        self._scale(fields, table)
        return Change(op, fields, keeps, self._was(before, after, table))

    def _scale(self, fields: dict[str, Any], table: pa.Schema) -> None:
        """Numbers that are times into milliseconds."""
        if isinstance(self.values, JsonValues):
            self.values.in_units(fields, table)

    def _key(self, before: Fields | None, key: bytes | None, table: pa.Schema) -> Fields:
        """Of a row that is deleted: from what it was, or else from the record's own key."""
        if before is not None and all(before.get(it) is not None for it in self.keys):
            return self._key_in(before, table)
        if isinstance(self.values, AvroValues):
            return self._key_of_avro(key)
        kinds = [table.field(it).type for it in self.keys]
        try:
            said = key_values(key, self.keys, kinds, self.values.units_in(table))
            return dict(zip(self.keys, said, strict=True))
        except NoObject as error:
            raise Unfit(str(error)) from error

    def _key_in(self, row: Fields, table: pa.Schema) -> dict[str, Any]:
        found = {it: once(row, it) for it in self.keys}
        self._scale(found, table)
        return found

    def _key_of_avro(self, key: bytes | None) -> Fields:
        assert isinstance(self.values, AvroValues)
        if key is None:
            raise Unfit("it deletes a row, and has no key")
        record, _ = self.values.read(key)
        return {it: record.get(it) for it in self.keys}

    def _was(self, before: Fields | None, after: Fields, table: pa.Schema) -> Fields | None:
        """The key before, if it is known and another one."""
        if before is None or any(before.get(it) is None for it in self.keys):
            return None
        if all(before[it] == after.get(it) for it in self.keys):
            return None
        key = self._key_in(before, table)
        return {name: fitted(it, table.field(name).type) for name, it in key.items()}

    def _told(
        self, rows: pa.RecordBatch, changes: Sequence[Change], table: pa.Schema
    ) -> pa.RecordBatch:
        ops = pa.array(np.array([it.op for it in changes], np.int32))
        keeps = [self._kept(it, rows.schema) for it in changes]
        was = pa.struct([pa.field(it, table.field(it).type) for it in self.keys])
        return (
            rows.append_column(OP, ops)
            .append_column(KEEPS, pa.array(keeps, NAMES_TYPE))
            .append_column(WAS, pa.array([it.was for it in changes], was))
        )

    @staticmethod
    def _kept(change: Change, schema: pa.Schema) -> list[str] | None:
        """A column that the table does not have has nothing to keep."""
        return [it for it in change.keeps if it in schema.names] or None


def _row(envelope: Fields, name: str) -> Fields | None:
    found = once(envelope, name)
    if found is not None and not isinstance(found, dict):
        raise Unfit(f"it is no change record of Debezium: {name} is no row")
    return found


def _without(row: Fields, names: Sequence[str]) -> dict[str, Any]:
    """The other fields; of which still is known whether they stand twice."""
    left = {name: it for name, it in row.items() if name not in names}
    return TwiceNamed(left, row.names) if isinstance(row, TwiceNamed) else left


def _after(envelope: pa.Schema) -> pa.Schema:
    """The columns of rows after a change."""
    if "after" not in envelope.names or not pa.types.is_struct(envelope.field("after").type):
        return pa.schema([])
    return pa.schema(list(envelope.field("after").type))
