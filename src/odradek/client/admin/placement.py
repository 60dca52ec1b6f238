"""What operators ask of the controller about replicas and leaders: moves, cancels, elections."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.client.errors import Refused, check
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition, by_topic
from odradek.model.units import SECOND, Millis
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

TIMEOUT = Millis(30 * SECOND)
CONTROLLER_SECONDS: Final = 5.0
Outcomes = dict[TopicPartition, Refused | None]
"""Why not, of each partition."""


class Ongoing(NamedTuple):
    """A reassignment that is not over."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas in the end."""
        return tuple(it for it in self.replicas if it not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas that were there before; what their order was is not known."""
        return tuple(it for it in self.replicas if it not in self.adding)


NOTHING_MOVES: Final = Ongoing((), (), ())


class Election(Enum):
    """Which leader is wanted; the values are those of the wire."""

    PREFERRED = 0
    UNCLEAN = 1


async def reassign(
    cluster: Cluster, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> Outcomes:
    """Begins moves to these replicas, or cancels them: None."""
    topics: dict[str, list[ReassignablePartition]] = {}
    for partition, replicas in targets.items():
        row = ReassignablePartition(partition.partition, replicas)
        topics.setdefault(partition.topic, []).append(row)
    rows = [ReassignableTopic(name, them) for name, them in topics.items()]
    request = AlterPartitionReassignmentsRequest(TIMEOUT, topics=rows)

    async def attempt() -> Outcomes:
        answer = await (await cluster.controller()).ask(request)
        check(answer.error_code, answer.error_message)
        return {
            TopicPartition(topic.name, row.partition_index): _why_not(row)
            for topic in answer.responses
            for row in topic.partitions
        }

    return await cluster.patiently(attempt)


def _why_not(row: object) -> Refused | None:
    code = getattr(row, "error_code", 0)
    return Refused(code, getattr(row, "error_message", None)) if code else None


async def reassignments(cluster: Cluster) -> dict[TopicPartition, Ongoing]:
    """All that are not over."""

    async def attempt() -> dict[TopicPartition, Ongoing]:
        return await _reassignments(await cluster.controller())

    return await cluster.patiently(attempt)


async def reassignments_if_known(cluster: Cluster) -> dict[TopicPartition, Ongoing]:
    """Likewise; none, where no controller answers soon or brokers are too old to say."""
    asked: Connection | None = None
    try:
        async with asyncio.timeout(CONTROLLER_SECONDS):
            asked = await cluster.controller()
            return await _reassignments(asked)
    except BrokerError:
        return {}
    except TimeoutError:
        if asked is not None:
            asked.close()  # what is asked next would wait behind this
        return {}


async def _reassignments(controller: Connection) -> dict[TopicPartition, Ongoing]:
    answer = await controller.ask(ListPartitionReassignmentsRequest(TIMEOUT))
    check(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, row.partition_index): Ongoing(
            tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
        )
        for topic in answer.topics
        for row in topic.partitions
    }


async def elect(
    cluster: Cluster,
    kind: Election,
    partitions: Iterable[TopicPartition] | None,
    *,
    is_forced: bool = False,
) -> Outcomes:
    """Elects leaders of these, or of all that need it: None.

    An unclean election is refused where a replica that may have everything is on a live broker,
    unless it is forced.
    """
    rows = [TopicPartitions(*it) for it in by_topic(partitions or ()).items()]
    request = ElectLeadersRequest(
        kind.value, None if partitions is None else rows, TIMEOUT, force=is_forced
    )

    async def attempt() -> Outcomes:
        answer = await (await cluster.controller()).ask(request)
        check(answer.error_code)
        return {
            TopicPartition(topic.topic, row.partition_id): _why_not(row)
            for topic in answer.replica_election_results
            for row in topic.partition_result
        }

    return await cluster.patiently(attempt)
