"""Some records of a batch are dead before a format sees them: it is given the others."""

import numpy as np
import pyarrow as pa

from odradek.pipelines.moving.values import Converted, Values


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
