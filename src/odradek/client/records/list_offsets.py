"""Where partitions begin or end, or where the first record of a time is: asked of their leaders."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from odradek.client.cluster import Cluster
from odradek.client.records.offsets import (
    Answers,
    FoundOffset,
    by_leader,
    list_offsets,
    read_list_offsets,
)
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId, TopicPartition


async def offsets_at(
    cluster: Cluster, partitions: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Where partitions begin or end, or where the first record of a time is; -1: there is none."""
    wanted = dict.fromkeys(partitions, timestamp)
    answers = Answers[FoundOffset]()

    async def attempt() -> None:
        left = {it: timestamp for it in wanted if it not in answers.found}
        answers.refused.clear()
        try:
            await _ask(cluster, left, answers)
            for refused in answers.refused.values():
                raise refused
        except BrokerError:
            for it in left:
                if it not in answers.found:
                    cluster.forget(it.topic)
            raise

    await cluster.patiently(attempt)
    return {it: answers.found[it].offset for it in wanted}


async def offsets_told_now(
    cluster: Cluster, partitions: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Likewise, of those whose leaders tell it at once: each is asked once."""
    answers = Answers[FoundOffset]()
    with suppress(BrokerError):
        await _ask(cluster, dict.fromkeys(partitions, timestamp), answers)
    return {it: found.offset for it, found in answers.found.items()}


async def _ask(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], answers: Answers[FoundOffset]
) -> None:
    async def ask(leader: BrokerId, theirs: Mapping[TopicPartition, int]) -> None:
        request = list_offsets(cluster.metadata, theirs)
        read_list_offsets(await (await cluster.broker(leader)).ask(request), answers)

    await cluster.learn(it.topic for it in wanted)
    leaders = by_leader(cluster.metadata, wanted)
    await asyncio.gather(*(ask(leader, theirs) for leader, theirs in leaders.items()))
