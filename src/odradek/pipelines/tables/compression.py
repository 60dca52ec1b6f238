"""Which columns of a file are compressed: not those whose bytes cannot be made fewer.

Keys and values may be compressed or encrypted already, then trying costs as much time as all the
rest of writing. The first rows of a file tell.
"""

from typing import Final

import pyarrow as pa

SAMPLE_BYTES: Final = 256 << 10
WORTH: Final = 0.95
NONE: Final = "none"


def compression_of(table: pa.Table, codec: str) -> dict[str, str]:
    """The codec of each column of Parquet, by its path."""
    return {
        path: NONE if _is_dense(table.column(field.name), codec) else codec
        for field in table.schema
        for path in _paths(field.name, field.type)
    }


def _paths(path: str, kind: pa.DataType) -> list[str]:
    """What Parquet calls the columns that a type is made of."""
    if pa.types.is_struct(kind):
        return [it for field in kind for it in _paths(f"{path}.{field.name}", field.type)]
    if pa.types.is_map(kind):
        pairs = f"{path}.key_value"
        return [*_paths(f"{pairs}.key", kind.key_type), *_paths(f"{pairs}.value", kind.item_type)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _paths(f"{path}.list.element", kind.value_type)
    return [path]


def _is_dense(column: pa.ChunkedArray, codec: str) -> bool:
    """Whether the codec makes nothing of a column of bytes, as far as its first rows tell."""
    if codec == NONE or not pa.types.is_binary(column.type):
        return False
    for chunk in column.chunks:
        data = chunk.buffers()[2]
        if data is None or not data.size:
            continue
        taken = data.slice(0, min(data.size, SAMPLE_BYTES))
        return bool(len(pa.compress(taken, codec, asbytes=True)) > WORTH * taken.size)
    return False
