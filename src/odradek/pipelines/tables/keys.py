"""The key of a row: some of its columns, in an order that files and runs are sorted in.

A key of one column of whole numbers, times or dates is a number of 64 bits here; any other is bytes
that are ordered as its columns are. Bounds of files are bytes in either case.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.tables.files import DataFile

KEYS: Final = "keys"
"""The property of a table in which each key has one row: the columns of keys, as JSON."""
BOUNDS: Final = "keys"
"""In the statistics of a file: the least and the greatest of its keys, as hexadecimal digits."""
SHIFT: Final = 1 << 63
DECIMAL_BYTES: Final = 17
DECIMAL_SHIFT: Final = 1 << 130
DIGITS: Final = Context(prec=80)
ENDED: Final = b"\0\0"
ZERO: Final = b"\0\xff"

_NAME = re.compile(r"keys\.[0-9a-f]+\.parquet")

Keys = Any
"""An array of numpy: of 64-bit numbers, or of objects that are bytes."""
Bounds = tuple[bytes, bytes]
"""The least key and the greatest; they may be wider than the keys that are there."""


def keys_said(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of keys, by a table's properties; none where each record has a row."""
    return tuple(json.loads(properties.get(KEYS, "[]")))


def path_of(directory: str, nonce: str) -> str:
    """Of a new file whose rows are in the order of their keys."""
    return f"{directory}/keys.{nonce}.parquet"


def is_sorted(path: str) -> bool:
    """Whether a file's rows are in the order of their keys, because it was written here."""
    return _NAME.fullmatch(path.rpartition("/")[2]) is not None


def check_keys(names: Sequence[str], schema: pa.Schema) -> None:
    """Refuses what is no column, stands twice, or is of a type whose values are not compared."""
    for name in names:
        if name not in schema.names:
            known = ", ".join(schema.names)
            raise InvalidOption(
                f"table.keys: there is no column {name!r}; the columns are {known}. Those of "
                "values are declared in [values.columns]"
            )
        kind = schema.field(name).type
        if not (_is_number(kind) or _is_text(kind) or pa.types.is_decimal(kind)):
            raise InvalidOption(
                f"table.keys: column {name} is {kind}; keys are whole numbers, decimals, texts, "
                "bytes, dates and times"
            )
    if len(set(names)) < len(names):
        raise InvalidOption("table.keys names a column twice")


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_boolean(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def keys_of(rows: pa.RecordBatch, names: Sequence[str]) -> Keys:
    """The key of each row; none of its columns is null."""
    columns = [rows.column(name) for name in names]
    if len(columns) == 1:
        (column,) = columns
        return _numbers(column) if _is_number(column.type) else _objects(_plain(column))
    parts = [_ordered(column) for column in columns]
    return _objects(map(b"".join, zip(*parts, strict=True)))


def _objects(values: Any) -> Keys:
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found


def _numbers(column: pa.Array) -> Keys:
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _plain(column: pa.Array) -> list[bytes]:
    if pa.types.is_decimal(column.type):
        return [_of_decimal(it, column.type.scale) for it in column.to_pylist()]
    listed: list[bytes] = column.cast(pa.binary()).to_pylist()
    return listed


def _of_decimal(value: Decimal, scale: int) -> bytes:
    return (int(value.scaleb(scale, DIGITS)) + DECIMAL_SHIFT).to_bytes(DECIMAL_BYTES, "big")


def _ordered(column: pa.Array) -> list[bytes]:
    """Bytes of which none begins with another's."""
    if _is_number(column.type):
        return [as_bytes(it) for it in _numbers(column).tolist()]
    plain = _plain(column)
    if pa.types.is_decimal(column.type):
        return plain
    return [it.replace(b"\0", ZERO) + ENDED for it in plain]


def as_bytes(key: Any) -> bytes:
    """A key as bounds have it."""
    return key if isinstance(key, bytes) else (int(key) + SHIFT).to_bytes(8, "big")


def below(keys: Keys, bound: bytes | None) -> int:
    """How many of the ordered keys are less than a bound; None: all of them."""
    return len(keys) if bound is None else int(np.searchsorted(keys, _like(keys, bound)))


def up_to(keys: Keys, last: Any) -> int:
    """How many of the ordered keys are not greater than another."""
    return int(np.searchsorted(keys, last, side="right"))


def _like(keys: Keys, bound: bytes) -> Any:
    return int.from_bytes(bound, "big") - SHIFT if keys.dtype != object else bound


def within(keys: Keys, bounds: Bounds | None) -> bool:
    """Whether one of the ordered keys lies between these, both included."""
    if bounds is None:
        return bool(len(keys))
    first = below(keys, bounds[0])
    return first < len(keys) and as_bytes(keys[first]) <= bounds[1]


def bounds_said(bounds: Bounds) -> dict[str, list[str]]:
    """For a file's statistics."""
    return {BOUNDS: [it.hex() for it in bounds]}


def key_of_values(values: Sequence[Any], schema: pa.Schema) -> bytes:
    """The key of columns with these values, as bounds have it."""
    columns = [pa.array([it], kind.type) for it, kind in zip(values, schema, strict=True)]
    row = pa.RecordBatch.from_arrays(columns, schema=schema)
    return as_bytes(keys_of(row, schema.names)[0])


def bounds_of(file: DataFile) -> Bounds | None:
    """The bounds of a file; None: its statistics do not say them."""
    found = json.loads(file.stats).get(BOUNDS) if file.stats else None
    return None if found is None else (bytes.fromhex(found[0]), bytes.fromhex(found[1]))


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows in the order of their keys."""

    rows: pa.RecordBatch
    keys: Keys

    def slice(self, start: int, end: int) -> "Sorted":
        """Some of them."""
        return Sorted(self.rows.slice(start, end - start), self.keys[start:end])


def sorted_by(rows: pa.RecordBatch, names: Sequence[str]) -> Sorted:
    """Rows of one key stay in the order in which they are."""
    keys = keys_of(rows, names)
    order = np.argsort(keys, kind="stable")
    return Sorted(rows.take(pa.array(order)), keys[order])


Stream = Iterator[pa.RecordBatch]


def in_key_order(streams: Sequence[Stream], names: Sequence[str]) -> Iterator[Sorted]:
    """Streams that are each in the order of keys, as one.

    No stream has a key twice. Rows of one key come together, in the order of their streams.
    """
    left = dict(enumerate(streams))
    heads: dict[int, Sorted] = {}
    while True:
        for number in [it for it in left if it not in heads]:
            batch = next((it for it in left[number] if it.num_rows), None)
            if batch is None:
                del left[number]
            else:
                heads[number] = Sorted(batch, keys_of(batch, names))
        if not heads:
            return
        horizon = min(it.keys[-1] for it in heads.values())
        yield _together([_taken(heads, number, horizon) for number in sorted(heads)])


def _taken(heads: dict[int, Sorted], number: int, horizon: Any) -> Sorted:
    head = heads[number]
    count = up_to(head.keys, horizon)
    if count == len(head.keys):
        del heads[number]
    else:
        heads[number] = head.slice(count, len(head.keys))
    return head.slice(0, count)


def _together(parts: Sequence[Sorted]) -> Sorted:
    some = [it for it in parts if len(it.keys)]
    if len(some) == 1:
        return some[0]
    keys = np.concatenate([it.keys for it in some])
    order = np.argsort(keys, kind="stable")
    rows = pa.Table.from_batches([it.rows for it in some]).combine_chunks()
    return Sorted(rows.take(pa.array(order)).combine_chunks().to_batches()[0], keys[order])


class Ahead:
    """Sorted batches that are taken up to one key after the other."""

    def __init__(self, batches: Iterator[Sorted]) -> None:
        self._batches = batches
        self._head: Sorted | None = None

    def up_to(self, last: Any) -> Iterator[Sorted]:
        """All that is not greater."""
        return self._until(lambda keys: up_to(keys, last))

    def below(self, bound: bytes | None) -> Iterator[Sorted]:
        """All that is less."""
        return self._until(lambda keys: below(keys, bound))

    def _until(self, count_of: Callable[[Keys], int]) -> Iterator[Sorted]:
        while True:
            if self._head is None:
                self._head = next(self._batches, None)
            head = self._head
            if head is None:
                return
            count = count_of(head.keys)
            whole = count == len(head.keys)
            self._head = None if whole else head.slice(count, len(head.keys))
            if count:
                yield head.slice(0, count)
            if not whole:
                return
