"""Many records of Avro at once, field by field: of all records the first, then the second.

Where a field of a record begins is known once those before it are read, and that of each record
at the same time as that of all others: numpy reads a field of all. What this gives is the same as
record by record. A record that is not plainly what its schema says (cut off, longer, a number of
too many bits, an index of no branch) is left out: the caller reads it by itself. A schema
with arrays or maps has no such way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.decoding.slices import binary_column, number_column
from odradek.pipelines.formats.avro_types import LOGICAL
from odradek.pipelines.formats.column import converted
from odradek.pipelines.formats.types import CALENDAR_MICROS, TIMESTAMP

MAGIC: Final = 0
HEAD_BYTES: Final = 5
SCHEMAS_MAX: Final = 16
"""Of one batch: where bytes are no numbers of schemas there may be as many as records."""
VARINT_SHIFT_MAX: Final = 63
WORD_BYTES: Final = 8
DIGITS_OF_WORD: Final = 18
CALENDAR_DAYS: Final = tuple(it // 86_400_000_000 for it in CALENDAR_MICROS)
MOMENTS: Final[Mapping[str, tuple[int, int]]] = {
    "timestamp-millis": (1_000, 1),
    "timestamp-micros": (1, 1),
    "timestamp-nanos": (1, 1_000),
}
"""How many microseconds a unit is, or how many units a microsecond is."""


class Slowly(Exception):
    """These records are read one by one."""


class Cursor:
    """Where each of some records is read next: `begin <= at <= end`, of those that are not bad."""

    def __init__(self, data: Any, at: Any, end: Any) -> None:
        self.data = data
        self.begin, self.at, self.end = at, at.copy(), end
        self.bad = np.zeros(len(at), bool)

    def part(self, rows: Any) -> "Cursor":
        """That of these records alone."""
        found = Cursor(self.data, self.at[rows], self.end[rows])
        found.bad = self.bad[rows]
        return found

    def take_back(self, rows: Any, part: "Cursor") -> None:
        """These records were read further."""
        self.at[rows], self.bad[rows] = part.at, part.bad

    def refuse(self, wrong: Any) -> None:
        """These records are read by themselves."""
        self.bad |= wrong

    def span(self, length: Any) -> tuple[Any, Any]:
        """So many bytes of each record: where they begin, and how many there are."""
        wrong = (length < 0) | (length > self.end - self.at)
        self.refuse(wrong)
        start, size = self.at, np.where(wrong, 0, length)
        self.at = start + size
        return start, size

    def bytes_at(self, at: Any) -> Any:
        """One byte of each record; of any where a record has ended."""
        return self.data[np.minimum(at, len(self.data) - 1)]

    def number(self) -> Any:
        """A varint of each record."""
        value = np.zeros(len(self.at), np.uint64)
        rows, shift = np.arange(len(self.at)), 0
        while len(rows):
            at = self.at[rows]
            byte = self.bytes_at(at)
            wrong = at >= self.end[rows]
            if shift == VARINT_SHIFT_MAX:
                wrong |= byte > 1
            self.bad[rows[wrong]] = True
            value[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.at[rows] = at + ~wrong
            rows, shift = rows[(byte > 0x7F) & ~wrong], shift + 7
        return (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)

    def words(self, size: int, kind: Any) -> Any:
        """So many bytes of each record, as a number of this type of numpy's."""
        start, _ = self.span(np.full(len(self.at), size))
        places = start[:, np.newaxis] + np.arange(size)
        return self.bytes_at(places).view(kind).reshape(len(start))

    def slices(self, start: Any, size: Any) -> pa.Array:
        """These bytes; null where a record is bad."""
        start = np.where(self.bad, self.begin, start).astype(np.int32)
        return binary_column(self.data, start, np.where(self.bad, -1, size))


Reader = Callable[[Cursor], "pa.Array | None"]
"""Reads a field of all records; None: the type has nothing but null."""


@dataclass(frozen=True, slots=True)
class RecordReader:
    """The fields of a record of Avro."""

    fields: Sequence[tuple[str, Reader]]

    def columns(self, cursor: Cursor) -> dict[str, pa.Array]:
        """A column for each field, but those that are never more than null."""
        read = [(name, reader(cursor)) for name, reader in self.fields]
        return {name: it for name, it in read if it is not None}

    def __call__(self, cursor: Cursor) -> pa.Array:
        """As one column."""
        found = self.columns(cursor)
        return pa.StructArray.from_arrays(list(found.values()), list(found))


@dataclass(frozen=True, slots=True)
class ManyRecords:
    """Some records of a batch: their numbers, ascending, and their columns."""

    at: Any
    kinds: pa.Schema
    columns: Mapping[str, pa.Array]

    def in_order_of(self, table: pa.Schema) -> list[pa.Array]:
        """A column for each of the table's; Slowly: one of them has another type."""
        found = [self.columns.get(it.name) for it in table]
        if any(it is not None and it.type != of.type for it, of in zip(found, table, strict=True)):
            raise Slowly
        return [
            pa.nulls(len(self.at), of.type) if it is None else it
            for it, of in zip(found, table, strict=True)
        ]


def framed_values(values: pa.Array) -> dict[int, tuple[Any, Cursor]]:
    """The records behind the number of each schema: their numbers, and where they begin."""
    _, places, data = values.buffers()
    offsets = np.frombuffer(places, np.int32)[values.offset : values.offset + len(values) + 1]
    start, end = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    at = np.flatnonzero(end - start >= HEAD_BYTES)  # where there is no value there are no bytes
    if not len(at):
        return {}
    start, end, whole = start[at], end[at], np.frombuffer(data, np.uint8)
    heads = whole[start[:, np.newaxis] + np.arange(HEAD_BYTES)]
    numbers = np.ascontiguousarray(heads[:, 1:]).view(">u4").reshape(len(at))
    start += HEAD_BYTES
    known = np.unique(numbers[heads[:, 0] == MAGIC]).tolist()
    groups = {}
    for number in known if len(known) <= SCHEMAS_MAX else ():
        mine = np.flatnonzero((numbers == number) & (heads[:, 0] == MAGIC))
        groups[number] = at[mine], Cursor(whole, start[mine], end[mine])
    return groups


def read_records(reader: RecordReader, framed: tuple[Any, Cursor], kinds: pa.Schema) -> ManyRecords:
    """The columns of those that are what their schema says, and no more."""
    at, cursor = framed
    columns = reader.columns(cursor)
    cursor.refuse(cursor.at != cursor.end)
    if cursor.bad.any():
        good = pa.array(~cursor.bad)
        columns = {name: it.filter(good) for name, it in columns.items()}
        at = at[~cursor.bad]
    return ManyRecords(at, kinds, columns)


def reader_of(schema: Mapping[str, Any]) -> RecordReader:
    """Of a record whose columns are known; Slowly: there is none."""
    found = _reader(schema, {})
    assert isinstance(found, RecordReader)
    return found


def _reader(schema: Any, named: dict[str, Reader]) -> Reader:
    if isinstance(schema, list):
        return _union([None if it == "null" else _reader(it, named) for it in schema])
    if isinstance(schema, str):
        plain = schema.rpartition(".")[2]
        return PRIMITIVE[plain] if plain in PRIMITIVE else named[plain]
    found = _defined(schema, named)
    if "name" in schema:
        named[str(schema["name"]).rpartition(".")[2]] = found
    return found


def _defined(schema: Mapping[str, Any], named: dict[str, Reader]) -> Reader:
    stored, logical = schema["type"], schema.get("logicalType")
    if not isinstance(stored, str):
        return _reader(stored, named)
    match stored:
        case "record":
            fields = [(it["name"], _reader(it["type"], named)) for it in schema["fields"]]
            return RecordReader(fields)
        case "enum":
            return _enum(schema["symbols"])
        case "array" | "map":
            raise Slowly
        case "fixed":
            plain = _fixed(schema["size"])
        case _:
            plain = _reader(stored, named)
    if logical == "decimal" and stored in {"bytes", "fixed"}:
        size = schema["size"] if stored == "fixed" else None
        return _decimal(schema["precision"], schema.get("scale", 0), size)
    meaning = stored, str(logical)
    if meaning not in LOGICAL:
        return plain
    if meaning[1] in MOMENTS:
        return _moment(*MOMENTS[meaning[1]])
    return _date if logical == "date" else _one_by_one(plain, meaning)


def _nothing(_cursor: Cursor) -> None:
    return None


def _flag(cursor: Cursor) -> pa.Array:
    found = cursor.words(1, np.uint8)
    cursor.refuse(found > 1)
    return pa.Array.from_buffers(
        pa.bool_(), len(found), [None, pa.py_buffer(np.packbits(found, bitorder="little"))]
    )


def _int(cursor: Cursor) -> pa.Array:
    found = cursor.number()
    single = found.astype(np.int32)
    cursor.refuse(single != found)
    return number_column(single)


def _long(cursor: Cursor) -> pa.Array:
    return number_column(cursor.number())


def _float(cursor: Cursor) -> pa.Array:
    return number_column(cursor.words(4, "<f4"))


def _double(cursor: Cursor) -> pa.Array:
    return number_column(cursor.words(8, "<f8"))


def _bytes(cursor: Cursor) -> pa.Array:
    return cursor.slices(*cursor.span(cursor.number()))


def _string(cursor: Cursor) -> pa.Array:
    try:
        return _bytes(cursor).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise Slowly from error


PRIMITIVE: Final[Mapping[str, Reader]] = {
    "null": _nothing,
    "boolean": _flag,
    "int": _int,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}


def _fixed(size: int) -> Reader:
    def read(cursor: Cursor) -> pa.Array:
        return cursor.slices(*cursor.span(np.full(len(cursor.at), size)))

    return read


def _enum(symbols: Sequence[str]) -> Reader:
    texts = pa.array(symbols, pa.string())

    def read(cursor: Cursor) -> pa.Array:
        return texts.take(number_column(_index(cursor, len(symbols))))

    return read


def _index(cursor: Cursor, count: int) -> Any:
    found = cursor.number()
    wrong = (found < 0) | (found >= count)
    cursor.refuse(wrong)
    return np.where(wrong, 0, found)


def _union(branches: Sequence[Reader | None]) -> Reader:
    """Of null and of one type: more have no column."""
    there, reader = next(
        ((at, it) for at, it in enumerate(branches) if it is not None), (0, _nothing)
    )

    def read(cursor: Cursor) -> pa.Array | None:
        rows = np.flatnonzero(_index(cursor, len(branches)) == there)
        part = cursor.part(rows)
        found = reader(part)
        cursor.take_back(rows, part)
        if found is None or len(rows) == len(cursor.at):
            return found
        at = np.zeros(len(cursor.at), np.int64)
        at[rows] = np.arange(1, len(rows) + 1)
        return found.take(pa.array(at - 1, mask=at == 0))

    return read


def _decimal(precision: int, scale: int, size: int | None) -> Reader:
    """Of up to eight bytes; longer ones are read by themselves."""
    kind = pa.decimal128(precision, scale)
    most = 10 ** min(precision, DIGITS_OF_WORD)

    def read(cursor: Cursor) -> pa.Array:
        length = cursor.number() if size is None else np.full(len(cursor.at), size)
        start, length = cursor.span(length)
        cursor.refuse(length > WORD_BYTES)
        value = np.zeros(len(start), np.int64)
        for at in range(min(WORD_BYTES, int(length.max(initial=0)))):
            has = at < length
            byte = cursor.bytes_at(start + at).astype(np.int8 if at == 0 else np.uint8)
            value = np.where(has, value << 8 | byte, value)
        cursor.refuse((value <= -most) | (value >= most))
        words = np.stack([value, value >> 63], axis=1)
        return pa.Array.from_buffers(kind, len(value), [None, pa.py_buffer(words)])

    return read


def _date(cursor: Cursor) -> pa.Array:
    found = cursor.number()
    cursor.refuse((found < CALENDAR_DAYS[0]) | (found > CALENDAR_DAYS[1]))
    return number_column(found.astype(np.int32)).view(pa.date32())


def _moment(micros: int, units: int) -> Reader:
    def read(cursor: Cursor) -> pa.Array:
        found = cursor.number()
        first, last = (it * units // micros for it in CALENDAR_MICROS)
        wrong = (found < first) | (found > last) | (found % units != 0)
        cursor.refuse(wrong)
        times = np.where(wrong, 0, found) * micros // units
        return number_column(times).view(TIMESTAMP)

    return read


def _one_by_one(plain: Reader, meaning: tuple[str, str]) -> Reader:
    """Of types whose values are texts, and whose meaning is not that of a number."""
    column = LOGICAL[meaning]

    def read(cursor: Cursor) -> pa.Array:
        stored = plain(cursor)
        assert stored is not None
        try:
            return pa.array([converted(column, it) for it in stored.to_pylist()], column.kind)
        except (ArithmeticError, ValueError) as error:
            raise Slowly from error

    return read
