"""Who reads what transactions leave: readers of committed records, and the audit in the end."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final

from odradek.client.cluster import Cluster
from odradek.client.records.group_offsets import committed_request, read_committed
from odradek.client.records.offsets import (
    LATEST,
    Answers,
    FoundOffset,
    list_offsets,
    read_list_offsets,
)
from odradek.client.records.reader import Reader
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch

TARGET: Final = "target"
TARGETS: Final = tuple(TopicPartition(TARGET, number) for number in range(3))
WATCH_MILLIS: Final = 60
QUIET: Final = 3

Note = Callable[..., None]


async def read(cluster: Cluster, note: Note) -> None:
    """Committed records, from the beginning, again and again."""
    reader = Reader(cluster, dict.fromkeys(TARGETS, 0), committed=True)
    while True:
        for partition, record in await reader.poll(200):
            note("reader", "txn.read", partition.partition, record.offset, record.value)


async def watch(cluster: Cluster, note: Note, rest: Callable[[int], Awaitable[None]]) -> None:
    """How far each partition is stable, as its leader says it under the epoch that it has."""
    while True:
        for partition in TARGETS:
            try:
                leader_epoch, stable = await _end(cluster, partition, committed=True)
            except BrokerError:
                continue
            note("watcher", "txn.stable", partition.partition, leader_epoch, stable)
        await rest(WATCH_MILLIS)


async def position(cluster: Cluster, group: str, source: TopicPartition) -> int:
    """Where the group is for good: what a transaction may still change is waited for."""
    request = committed_request(group, [source])
    request.require_stable = True
    found: list[int] = []

    def checked(answer: Any) -> None:
        known = read_committed(answer).get(source)
        found[:] = [0 if known is None else known.offset]

    await cluster.ask_coordinator(group, request, checked=checked)
    return found[0]


async def read_all(cluster: Cluster, note: Note) -> None:
    """All that is committed in the end."""
    reader = Reader(cluster, dict.fromkeys(TARGETS, 0), committed=True)
    quiet = 0
    while quiet < QUIET:
        found = await reader.poll(200)
        quiet = 0 if found else quiet + 1
        for at, record in found:
            note("auditor", "final.read", at.partition, record.offset, record.value)


async def unstable(cluster: Cluster, partitions: Iterable[TopicPartition]) -> str:
    """Where something is still undecided; nothing, where all is stable to its end."""
    for at in partitions:
        _, stable = await cluster.patiently(partial(_end, cluster, at, committed=True))
        _, end = await cluster.patiently(partial(_end, cluster, at, committed=False))
        if stable != end:
            return f"{at} is stable up to {stable}, not {end}"
    return ""


async def _end(
    cluster: Cluster, partition: TopicPartition, *, committed: bool
) -> tuple[LeaderEpoch, int]:
    """Where readers find it to end, and the leader epoch that its leader confirms by answering."""
    try:
        await cluster.learn([partition.topic])
        leader = await cluster.leader(partition)
        known = cluster.metadata.partition(partition)
        assert known is not None, partition
        request = list_offsets(cluster.metadata, {partition: LATEST}, committed=committed)
        answers = Answers[FoundOffset]()
        read_list_offsets(await leader.ask(request), answers)
        for refused in answers.refused.values():
            raise refused
    except BrokerError:
        cluster.forget(partition.topic)
        raise
    return known.leader_epoch, answers.found[partition].offset
