"""Which partition a key belongs to: Kafka's murmur2, over all keys of one length at once."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEED: Final = np.uint32(0x9747B28C)
M: Final = np.uint32(0x5BD1E995)


def murmur2(keys: pa.Array) -> Any:
    """As uint32; a null counts as empty."""
    keys = pc.fill_null(keys, b"")
    lengths = pc.binary_length(keys).to_numpy(zero_copy_only=False)
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    data = keys.buffers()[2]
    bytes_ = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    found = np.empty(len(keys), np.uint32)
    with np.errstate(over="ignore"):
        for length in np.unique(lengths).tolist():
            chosen = np.flatnonzero(lengths == length)
            at = offsets[chosen].astype(np.int64)[:, None] + np.arange(length)
            found[chosen] = _hashed(bytes_[at], length)
    return found


def partitions(keys: pa.Array, count: int) -> Any:
    """Of each key, as Kafka's clients choose it."""
    return ((murmur2(keys) & np.uint32(0x7FFFFFFF)) % np.uint32(count)).astype(np.int32)


def _hashed(rows: Any, length: int) -> Any:
    """One hash for each row of a matrix of bytes."""
    found = np.full(len(rows), SEED ^ np.uint32(length), np.uint32)
    whole = length // 4 * 4
    words = np.ascontiguousarray(rows[:, :whole]).view("<u4") if whole else rows[:, :0]
    for column in range(whole // 4):
        word = words[:, column] * M
        word ^= word >> np.uint32(24)
        found = (found * M) ^ (word * M)
    rest = length - whole
    for place in reversed(range(rest)):
        found ^= rows[:, whole + place].astype(np.uint32) << np.uint32(8 * place)
    if rest:
        found *= M
    found ^= found >> np.uint32(13)
    found *= M
    return found ^ (found >> np.uint32(15))
