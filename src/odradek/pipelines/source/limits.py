"""How far the next micro-batch of a stream goes: `maxOffsetsPerTrigger` and its kin.

The arithmetic is that of Spark's "kafka" source, so that the same stream has the same batches:
each partition gets its share of the limit, at least one offset. `maxBytesPerTrigger` does the same
with bytes. Both may be set, then the smaller one counts; `minOffsetsPerTrigger` waits for more, but
not longer than `maxTriggerDelay`.
"""

import math
from collections.abc import Mapping
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.pipelines.source.options import Limits

INT64_MAX: Final = (1 << 63) - 1

OffsetsOf = Mapping[TopicPartition, int]


def limited(start: OffsetsOf, end: OffsetsOf, limit: int) -> dict[TopicPartition, int]:
    """The ends of a batch of about so many offsets; all of `end` if that is no more."""
    sizes = {it: end[it] - start[it] for it in end if end[it] > start[it]}
    return _prorated(start, end, sizes, limit)


def limited_by_bytes(
    start: OffsetsOf, end: OffsetsOf, limit: int, offset_bytes: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """The same for bytes, where an offset of each partition takes so many."""
    sizes = {it: end[it] - start[it] for it in end if end[it] > start[it]}
    total = sum(size * offset_bytes.get(it, 0) for it, size in sizes.items())
    if total <= limit:
        return dict(end)
    share = limit / total
    return {
        it: min(offset, start[it] + max(1, int(sizes[it] * share))) if it in sizes else offset
        for it, offset in end.items()
    }


def _prorated(
    start: OffsetsOf, end: OffsetsOf, sizes: OffsetsOf, limit: int
) -> dict[TopicPartition, int]:
    total = float(sum(sizes.values()))
    if total < 1:
        return dict(end)
    found = {}
    for it, offset in end.items():
        found[it] = offset
        if it in sizes:
            share = limit * (sizes[it] / total)
            # So that small partitions do not starve.
            count = math.ceil(share) if share < 1 else math.floor(share)
            found[it] = min(offset, start[it] + min(count, INT64_MAX - start[it]))
    return found


class TriggerDelay:
    """Whether a batch waits for more records: until there are enough, or for long enough."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._last: Millis | None = None  # when a batch was last let go

    def holds(self, waiting: int, now: Millis) -> bool:
        """Whether so many offsets are too few now."""
        least = self._limits.offsets_min
        if least is None:
            return False
        late = self._last is None or now - self._last >= self._limits.delay_ms_max
        if waiting >= least or late:
            self._last = now
            return False
        return True
