"""Zig-zag varints at many positions at once.

Nearly all take one byte or two, so each further byte is read only where there is one. What a
position leads to is not believed: a number of more than ten bytes, or one that runs out of the
data, is refused as a whole; the caller knows which batch holds it.
"""

from typing import Any, Final

import numpy as np

SHIFT_MAX: Final = 63


class MalformedVarint(Exception):
    """A number that is cut off, or longer than 64 bits need."""


def read_varints(data: Any, at: Any) -> tuple[Any, Any]:
    """The numbers at these positions, as int64, and the positions behind them.

    `data` is an array of bytes, `at` one of int32, which stays as it is.
    """
    try:
        low = data[at]
        value = low.astype(np.int64)
        behind = at + np.int32(1)
        more = np.flatnonzero(low >= 0x80)
        if not len(more):
            return (value >> 1) ^ -(value & 1), behind
        value[more] &= 0x7F
        shift = 7
        while len(more):
            if shift > SHIFT_MAX:
                raise MalformedVarint
            byte = data[behind[more]].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            behind[more] += 1
            more = more[byte >= 0x80]
            shift += 7
    except IndexError:
        raise MalformedVarint from None
    unsigned = value.view(np.uint64) >> np.uint64(1)
    return unsigned.view(np.int64) ^ -(value & 1), behind
