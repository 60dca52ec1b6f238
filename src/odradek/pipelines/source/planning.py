"""From positions to ranges: what is to be read between two of them, cut into tasks.

The cuts of `minPartitions` and `maxRecordsPerPartition` are those of Spark's "kafka" source, range
by range. `maxBytesPerPartition` cuts further, by how many bytes an offset takes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.source.options import SourceOptions, Splits

TOGETHER_OFFSETS: Final = 1_000
"""A task takes longer to start than to read these."""
TOGETHER_MAX: Final = 8
"""Each range costs a round trip at least."""


def plan(
    options: SourceOptions,
    start: Positions,
    end: Positions,
    offset_bytes: Mapping[TopicPartition, float] | None = None,
) -> list[OffsetRange]:
    """The ranges of one batch: all of `end`, from `start` on or from 0 for a new partition.

    Empty ranges are left out; large ones are cut. `offset_bytes` is how many bytes an offset takes,
    by partition, for cuts by bytes.
    """
    ranges = [
        OffsetRange(
            partition.topic,
            end.topics[partition.topic].topic_id,
            partition.partition,
            start.offset(partition) or 0,
            end.offset(partition) or 0,
            start.leader_epoch(partition),
        )
        for partition in end
    ]
    splits = options.splits
    ranges = [it for it in ranges if it.size > 0]
    if splits.records_max is not None:
        ranges = [part for it in ranges for part in _cut(it, -(-it.size // splits.records_max))]
    if splits.bytes_max is not None and offset_bytes is not None:
        ranges = [
            part
            for it in ranges
            for part in _cut(
                it, -int(-it.size * offset_bytes.get(it.topic_partition, 0) // splits.bytes_max)
            )
        ]
    if splits.partitions_min is not None and len(ranges) < splits.partitions_min:
        ranges = _into_at_least(ranges, splits.partitions_min)
    return ranges


def together(
    options: SourceOptions, ranges: Sequence[OffsetRange]
) -> list[tuple[OffsetRange, ...]]:
    """The ranges of each task: neighbours that hold few offsets share one, unless options cut."""
    if options.splits != Splits():
        return [(it,) for it in ranges]
    tasks: list[list[OffsetRange]] = []
    for it in ranges:
        last = tasks[-1] if tasks else []
        offsets = sum(other.size for other in last) + it.size
        if last and len(last) < TOGETHER_MAX and offsets <= TOGETHER_OFFSETS:
            last.append(it)
        else:
            tasks.append([it])
    return [tuple(it) for it in tasks]


def _into_at_least(ranges: Sequence[OffsetRange], count: int) -> list[OffsetRange]:
    """Cuts the larger ranges in proportion; those that stay whole do not count in it."""
    total = sum(it.size for it in ranges)
    whole = [it for it in ranges if _share(it.size, total, count) == 1]
    left = total - sum(it.size for it in whole)
    parts = max(count - len(whole), 1)
    return [
        part
        for it in ranges
        for part in ([it] if it in whole else _cut(it, _share(it.size, left, parts)))
    ]


def _share(size: int, total: int, count: int) -> int:
    return max(int(size / total * count + 0.5), 1)


def _cut(of: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """So many pieces; what does not divide goes to the last ones."""
    left, start = of.size, of.start
    parts = max(1, min(parts, of.size))
    for part in range(parts):
        size = left // (parts - part)
        yield replace(of, start=start, end=start + size)
        left -= size
        start += size
