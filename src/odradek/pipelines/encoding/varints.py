"""Zig-zag varints of many numbers at once, as columns of bytes."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

LOW: Final = np.uint64(0x7F)
SHIFT: Final = np.uint64(7)


def zigzag(numbers: Any) -> Any:
    """Of int64, as uint64."""
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def sizes(unsigned: Any) -> Any:
    """How many bytes each takes."""
    found = np.ones(len(unsigned), np.int64)
    rest = unsigned >> SHIFT
    while rest.any():
        found += rest > 0
        rest >>= SHIFT
    return found


def packed(columns: list[Any]) -> pa.Array:
    """One binary per row: the varints of that row's numbers, in the order of the columns."""
    lengths = [sizes(column) for column in columns]
    offsets = np.zeros(len(columns[0]) + 1, np.int32)
    np.cumsum(np.sum(lengths, axis=0), out=offsets[1:])
    data = np.zeros(int(offsets[-1]), np.uint8)
    at = offsets[:-1].astype(np.int64)
    for column, length in zip(columns, lengths, strict=True):
        _write(data, at, column, length)
        at += length
    return pa.Array.from_buffers(
        pa.binary(), len(columns[0]), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def _write(data: Any, at: Any, unsigned: Any, length: Any) -> None:
    for place in range(int(length.max(initial=0))):
        chosen = slice(None) if place == 0 else length > place
        low = (unsigned[chosen] & LOW).astype(np.uint8)
        low[length[chosen] > place + 1] |= 0x80
        data[at[chosen] + place] = low
        unsigned = unsigned >> SHIFT
