"""Records that truncate a topic's rows: it must be known which records are before them."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from odradek.pipelines.moving.values import Converted, Values
from odradek.pipelines.upserts.columns import OP, TRUNCATE


@dataclass(frozen=True, slots=True)
class Truncates:
    """Changes; those that truncate a topic of several partitions are dead."""

    values: Values
    alone: frozenset[str]
    """Topics of one partition."""

    @property
    def prefix(self) -> str:
        """The other's."""
        return self.values.prefix

    @property
    def schema(self) -> pa.Schema:
        """The other's."""
        return self.values.schema

    @property
    def may_grow(self) -> bool:
        """As the other."""
        return self.values.may_grow

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """What the other makes of it, but for such records."""
        found = self.values.convert(batch, table)
        if not found.rows.num_rows:
            return found
        topics = found.rows.column(f"{self.prefix}topic").to_pylist()
        is_truncate = found.rows.column(OP).to_numpy() == TRUNCATE
        wrong = [it for it in np.flatnonzero(is_truncate).tolist() if topics[it] not in self.alone]
        if not wrong:
            return found
        gone = sorted({*found.dead, *found.dropped})
        alive = np.delete(np.arange(batch.num_rows), gone)
        reasons = {
            int(alive[it]): f"it truncates, and {topics[it]} has several partitions: nothing says "
            "which of their records are before it"
            for it in wrong
        }
        kept = np.ones(found.rows.num_rows, bool)
        kept[wrong] = False
        return Converted(
            found.rows.filter(pa.array(kept)), {**found.dead, **reasons}, found.dropped
        )
