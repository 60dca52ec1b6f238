"""Partitions that no broker leads: why, as the controller says, before a user waits in vain."""

import asyncio
from collections.abc import Container, Iterable
from typing import Final

import click

from odradek.cli.brokers.sick import Sick
from odradek.cli.reaching.patience import SILENT_SECONDS
from odradek.cli.words.failing import Failed
from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.model.causes import CauseKind
from odradek.model.ids import TopicPartition
from odradek.wire.messages.metadata import MetadataResponseTopic

NEXT: Final = "odradek cluster health has all that is wrong"


async def all_leaderless(cluster: Cluster) -> list[Sick]:
    """Those of all topics, cause by cause."""
    from odradek.cli.brokers.cluster_health import leaderless  # brings much along, seldom needed

    return await leaderless(cluster)


async def without_leader(cluster: Cluster, topics: Iterable[MetadataResponseTopic]) -> list[Sick]:
    """Those of these topics; the controller is not asked where all partitions have leaders."""
    names = {it.name for it in topics if any(row.leader_id < 0 for row in it.partitions)}
    return only(await all_leaderless(cluster), names) if names else []


async def refuse_if_lost(cluster: Cluster, topic: MetadataResponseTopic) -> None:
    """A topic of which no partition has a leader, where no election mends it."""
    if any(row.leader_id >= 0 for row in topic.partitions):
        return
    for it in await without_leader(cluster, [topic]):
        if it.kind is CauseKind.NO_STATE:
            raise _lost(it)


def _lost(it: Sick) -> Failed:
    return Failed(f"no leader: {it.where}: {it.cause}", NEXT)


def only(found: Iterable[Sick], topics: Container[str | None]) -> list[Sick]:
    """What is said of these topics."""
    told = (
        it._replace(partitions={name: at for name, at in it.partitions.items() if name in topics})
        for it in found
    )
    return [it for it in told if it.partitions]


def text_of(it: Sick) -> str:
    """For a line of stderr."""
    return f"no leader: {it.where}: {it.cause}; {NEXT}"


async def offsets_or_why(
    cluster: Cluster, partitions: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """`offsets_at`; but what no election mends is not waited for, and of the rest it is said why.

    Where the state of a partition is lost it gets no leader before somebody has acted.
    """
    wanted = list(partitions)
    limit = asyncio.timeout(SILENT_SECONDS)
    try:
        async with limit:
            return await offsets_at(cluster, wanted, timestamp)
    except TimeoutError:
        if not limit.expired():
            raise
    for it in only(await all_leaderless(cluster), {at.topic for at in wanted}):
        if not _names(it, wanted):
            continue
        if it.kind is CauseKind.NO_STATE:
            raise _lost(it)
        click.echo(f"odradek: {text_of(it)}", err=True)
    return await offsets_at(cluster, wanted, timestamp)


def _names(it: Sick, wanted: Iterable[TopicPartition]) -> bool:
    return any(at.partition in it.partitions.get(at.topic, ()) for at in wanted)
