"""Records of a batch that are made into rows apart: some at once, some by themselves, some dead."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.columns import completed
from odradek.pipelines.moving.values import Converted, Values

NO_ROWS: Final = np.array([], np.int64)

Part = tuple[Any, pa.RecordBatch]
"""Numbers of records, ascending, and their rows."""


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


def others_of(batch: pa.RecordBatch, parts: Sequence[Part]) -> Any:
    """The numbers of the records that are in no part."""
    return np.delete(np.arange(batch.num_rows), np.concatenate([NO_ROWS, *(at for at, _ in parts)]))


def with_others(
    batch: pa.RecordBatch, parts: Sequence[Part], convert: Callable[[pa.RecordBatch], Converted]
) -> Converted:
    """These rows, and in their order what becomes of the other records, which are looked at so."""
    if len(parts) == 1 and len(parts[0][0]) == batch.num_rows:
        return Converted(parts[0][1])
    others = others_of(batch, parts)
    found = convert(batch.take(pa.array(others)))
    numbers = others.tolist()
    dead = {numbers[at]: reason for at, reason in found.dead.items()}
    dropped = frozenset(numbers[at] for at in found.dropped)
    alive = np.delete(others, sorted({*found.dead, *found.dropped}))
    return Converted(in_order([*parts, (alive, found.rows)]), dead, dropped)


def in_order(parts: Sequence[Part]) -> pa.RecordBatch:
    """The rows of all parts by the numbers of their records; the last part has all columns."""
    schema = parts[-1][1].schema
    rows = pa.Table.from_batches([completed(rows, schema) for _, rows in parts]).combine_chunks()
    order = np.argsort(np.concatenate([at for at, _ in parts]))
    (found,) = rows.take(pa.array(order)).to_batches() or [parts[-1][1]]
    return found
