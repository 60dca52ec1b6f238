"""Arrow columns out of buffers: of bytes, as slices that rise and do not overlap, and of numbers.

A buffer of bytes is seen as an Arrow array of slice, gap, slice, gap..., which costs nothing; Arrow
takes every second of them, which copies each slice once, in C++.

Nothing here calls `pa.array`, which imports pandas: half a second for each worker of Spark.
"""

from typing import Any

import numpy as np
import pyarrow as pa

_even: dict[int, pa.Array] = {}
KEPT_MAX = 16


def binary_column(data: Any, start: Any, length: Any) -> pa.Array:
    """The slices of `data` as a binary array; a length below 0 is null.

    `start` is of int32, and rises by at least each length.
    """
    count = len(start)
    null = length < 0
    if not count or null.all():
        return pa.nulls(count, pa.binary())
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2] = start
    offsets[1::2] = start
    offsets[1::2] += np.maximum(length, 0).astype(np.int32)
    offsets[-1] = offsets[-2]
    valid = None
    if null.any():
        bits = np.ones(2 * count, bool)
        bits[0::2] = ~null
        valid = pa.py_buffer(np.packbits(bits, bitorder="little"))
    both = pa.Array.from_buffers(
        pa.binary(), 2 * count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return both.take(_evens(count))


def _evens(count: int) -> pa.Array:
    """0, 2, 4...: kept for the counts that come again, as those of full fetches do."""
    found = _even.get(count)
    if found is None:
        if len(_even) >= KEPT_MAX:
            _even.clear()
        found = _even[count] = number_column(np.arange(0, 2 * count, 2, dtype=np.int32))
    return found


def number_column(values: Any) -> pa.Array:
    """An array of numpy as it lies in memory."""
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def text_column(text: str, count: int) -> pa.Array:
    """The same text so many times."""
    data = text.encode()
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(len(data))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data * count)]
    return pa.Array.from_buffers(pa.string(), count, buffers)
