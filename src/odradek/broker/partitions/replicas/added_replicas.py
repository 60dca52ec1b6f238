"""Replicas that a reassignment adds, as the leader sees them: what they lack, and since when.

The leader alone knows this: it learns from fetches how far a follower is. Within a throttle one
replica after the other gets something: those of one broker stand only once none of them goes on.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Millis


class AddedReplica(NamedTuple):
    """One that has not everything yet."""

    partition: TopicPartition
    broker: BrokerId
    records: int  # that it still lacks
    stands: Millis  # none has come for so long


def added_replicas(
    led: Iterable[LeadingReplica], now: Millis, is_throttled: Callable[[TopicPartition], bool]
) -> list[AddedReplica]:
    """Of these partitions, few of which are reassigned at a time."""
    found: list[AddedReplica] = []
    newest: dict[BrokerId, Millis] = {}  # when one of those within the throttle went on
    for it in led:
        if not it.leader.adding:
            continue
        end = it.leader.log_end_offset
        for broker, follower in it.leader.followers():
            if broker not in it.leader.adding:
                continue
            if is_throttled(it.partition):
                newest[broker] = max(newest.get(broker, Millis(0)), follower.advanced_at)
            if follower.end_offset != end:
                records = end - (follower.end_offset or it.leader.log_start_offset)
                stands = Millis(now - follower.advanced_at)
                found.append(AddedReplica(it.partition, broker, records, stands))
    return [
        it._replace(stands=min(it.stands, Millis(now - newest[it.broker])))
        if it.broker in newest and is_throttled(it.partition)
        else it
        for it in found
    ]
