"""Which replicas to move between the log dirs of a broker, so that each has about as many bytes.

The largest replica that does not turn the difference around goes from the fullest dir to the
emptiest, again and again, until no move gains a tenth of the mean. Replicas that are moving already
count where they go to, and stay out of the plan.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsResult

GAIN_MIN: Final = 10
"""A move is worth it if it is larger than this share of the mean of all dirs (one in so many)."""


class Planned(NamedTuple):
    """One move."""

    broker: BrokerId
    partition: TopicPartition
    size: int
    source: str
    target: str


def plan(broker: BrokerId, dirs: Sequence[DescribeLogDirsResult]) -> list[Planned]:
    """The moves, the largest first; dirs that are offline take no part."""
    movable, sizes = _contents(dirs)
    planned: list[Planned] = []
    if not sizes:
        return planned
    worth = sum(sizes.values()) // len(sizes) // GAIN_MIN
    while True:
        source = max(sizes, key=lambda it: (sizes[it], it))
        target = min(sizes, key=lambda it: (sizes[it], it))
        gap = sizes[source] - sizes[target]
        fitting = [(size, it) for it, size in movable[source].items() if worth < size < gap]
        if not fitting:
            return planned
        size, partition = min(fitting, key=lambda it: (abs(it[0] - gap / 2), it[1]))
        del movable[source][partition]
        sizes[source] -= size
        sizes[target] += size
        planned.append(Planned(broker, partition, size, source, target))


def _contents(
    dirs: Iterable[DescribeLogDirsResult],
) -> tuple[dict[str, dict[TopicPartition, int]], dict[str, int]]:
    """What may move from each dir, and how full it is once the running moves are over."""
    online = [it for it in dirs if it.error_code == ErrorCode.NONE]
    rows = [
        (it.log_dir, TopicPartition(topic.name, row.partition_index), row)
        for it in online
        for topic in it.topics
        for row in topic.partitions
    ]
    moving = {partition: where for where, partition, row in rows if row.is_future_key}
    movable: dict[str, dict[TopicPartition, int]] = {it.log_dir: {} for it in online}
    sizes = dict.fromkeys(movable, 0)
    for where, partition, row in rows:
        if row.is_future_key:
            continue
        sizes[moving.get(partition, where)] += row.partition_size
        if partition not in moving:
            movable[where][partition] = row.partition_size
    return movable, sizes


async def begin(cluster: Cluster, broker: BrokerId, moves: Iterable[Planned]) -> None:
    """Has the broker begin them all; it carries them out one after the other for each dir."""
    by_target: dict[str, list[TopicPartition]] = {}
    for move in moves:
        by_target.setdefault(move.target, []).append(move.partition)
    for target, partitions in by_target.items():
        for code in (await admin.move_replicas(cluster, broker, target, partitions)).values():
            check(code)
