"""The headers of many records as one Arrow list column.

Header number 0 of all records that have one is read at once, then number 1, and so on: records of
a topic have few, and nearly the same count. What is left of a record with very many is read one by
one. Keys are text: what is not UTF-8 is replaced as Java does it.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.model.errors import CorruptBatch
from odradek.pipelines.columns import HEADERS_TYPE
from odradek.pipelines.decoding.slices import binary_column
from odradek.pipelines.decoding.varints import MalformedVarint, read_varints
from odradek.records.varint import read_varint

TOGETHER_MIN: Final = 8
"""Below so many records it is quicker to read them one by one."""


def headers_column(data: bytes, view: Any, at: Any, ends: Any) -> pa.Array:
    """The headers of records: `at` is where each count stands, `ends` where each record ends.

    MalformedVarint where they do not end exactly there.
    """
    if (at < ends).all() and not view[at].any() and (at + 1 == ends).all():
        return pa.nulls(len(at), HEADERS_TYPE)  # a count of 0, and nothing behind it
    counts, at = read_varints(view, at)
    if len(counts) and (counts.min() < 0 or (counts > ends - at).any()):
        raise MalformedVarint
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    total = int(offsets[-1])
    keys, values = (np.zeros((2, total), np.int64) for _ in range(2))  # starts and lengths
    active = np.flatnonzero(counts > 0)
    number = 0
    while len(active) >= TOGETHER_MIN:
        rows = offsets[active] + number
        for out, least in ((keys, 0), (values, -1)):
            lengths, starts = read_varints(view, at[active])
            if lengths.min() < least or (lengths > ends[active] - starts).any():
                raise MalformedVarint
            out[0, rows] = starts
            out[1, rows] = lengths
            at[active] = starts + np.maximum(lengths, 0).astype(np.int32)
        number += 1
        active = active[counts[active] > number]
    for index in active:
        at[index] = _one_by_one(
            data,
            (int(at[index]), int(ends[index])),
            keys[:, offsets[index] + number : offsets[index + 1]],
            values[:, offsets[index] + number : offsets[index + 1]],
        )
    if (at != ends).any():
        raise MalformedVarint
    entries = pa.StructArray.from_arrays(
        [
            _texts(binary_column(data, keys[0].astype(np.int32), keys[1])),
            binary_column(data, values[0].astype(np.int32), values[1]),
        ],
        fields=list(HEADERS_TYPE.value_type),
    )
    empty = counts == 0
    valid = pa.py_buffer(np.packbits(~empty, bitorder="little")) if empty.any() else None
    return pa.Array.from_buffers(
        HEADERS_TYPE,
        len(counts),
        [valid, pa.py_buffer(offsets.astype(np.int32))],
        children=[entries],
    )


def _one_by_one(data: bytes, between: tuple[int, int], keys: Any, values: Any) -> int:
    """Fills in the headers that are left of one record; where the last one ends."""
    at, end = between
    for index in range(keys.shape[1]):
        for out, least in ((keys, 0), (values, -1)):
            try:
                length, at = read_varint(data, at)
            except (CorruptBatch, IndexError):
                raise MalformedVarint from None
            if length < least or length > end - at:
                raise MalformedVarint
            out[0, index], out[1, index] = at, length
            at += max(length, 0)
    return at


def _texts(keys: pa.Array) -> pa.Array:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
