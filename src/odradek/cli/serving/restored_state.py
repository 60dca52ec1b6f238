"""`odradek zookeeper restore-state`: a partition's state that is missing or spoilt is made again.

Only a person knows which replica to believe: no controller elects without the state. One that can
be read is never replaced, and a spoilt one only in the version that was read, together with a check
of the topic's znode, so neither a controller nor a second operator is overwritten: who comes second
is told that it is there. A controller sees it within ten seconds, a new one when it begins; either
gives it a leader epoch of its own.

A leader below the epoch of its followers' logs is not followed. So live replicas are asked for
theirs, and the epoch is put far above: those that cannot be asked may have heard of later ones.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from odradek.cli.reaching.talking import talk
from odradek.cli.reaching.tree import DestroyingTreeVerb, access_by, connection, in_tree
from odradek.cli.replicas.unclean_loss import logs_of
from odradek.cli.serving.restored_tree import EPOCHS
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import show, tell_table
from odradek.cli.words.failing import Failed
from odradek.cli.words.numbers import Whole
from odradek.client.cluster import Cluster
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import PartitionState, TopicAssignment
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.broker import BrokerIdsZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, PartitionZnode, TopicZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import (
    FIRST_INCARNATION,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
)
from odradek.zookeeper.client.errors import BadVersion, MultiFailed, NodeExists, NoNode
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Check, Create, SetData, WriteOp

COLUMNS = ("replica", "from", "end", "leader_epoch")
Logs = Mapping[int, Mapping[str, int]]
"""What live replicas say of their logs, by broker."""


class Place(NamedTuple):
    """What the tree says of a partition whose state is missing, or no state."""

    partition: TopicPartition
    topic: TopicAssignment
    topic_version: int
    controller_epoch: ControllerEpoch
    alive: frozenset[int]
    spoilt_version: int | None  # of what stands in the state's place, and is none

    @property
    def replicas(self) -> tuple[BrokerId, ...]:
        """Those that may have records."""
        return self.topic.partitions[self.partition.partition].replicas


@click.command("restore-state", cls=DestroyingTreeVerb)
@connection
@click.argument("topic")
@click.argument("number", metavar="PARTITION", type=Whole(0))
@click.option("--leader", type=int, required=True, metavar="BROKER", help="Whose log counts.")
@click.option(
    "--leader-epoch",
    type=Whole(0, (1 << 31) - 1),
    help="Above that of every log; brokers are not asked then.",
)
def restore_state(
    *,
    topic: str,
    number: int,
    leader: int,
    leader_epoch: int | None,
    connect: str,
    tls_file: Path | None,
) -> None:
    """Make a partition's state again that is missing or makes no sense in ZooKeeper.

    BROKER leads and is alone in sync: what only other replicas have is lost. The others follow it.
    A state that can be read is never replaced. Live replicas are asked for the ends and leader
    epochs of their logs, which are shown before it asks.
    """
    partition, access = TopicPartition(topic, number), access_by(tls_file)
    place = asyncio.run(in_tree(connect, partial(look, partition=partition), access))
    _check_leader(place, leader)
    logs: Logs = {}
    if leader_epoch is None:
        logs = talk(partial(_ask, place=place))
        if leader not in logs:
            raise Failed(
                f"broker {leader} does not tell of a log of {partition}",
                "odradek logdirs partitions; --leader names another, --leader-epoch asks no broker",
            )
        leader_epoch = max(it["leader_epoch"] for it in logs.values()) + EPOCHS
        tell_table(COLUMNS, [_row(it, logs) for it in place.replicas])
    confirm(f"broker {leader} leads {partition}, and what only other replicas have is lost")
    state = _state(place, BrokerId(leader), LeaderEpoch(leader_epoch), logs)
    asyncio.run(in_tree(connect, partial(create, place=place, state=state), access))
    text = f"{partition} is led by broker {leader}, from leader epoch {leader_epoch} on"
    show({"partition": str(partition), "leader": leader, "leader_epoch": leader_epoch}, text)


async def look(client: ZooKeeperClient, partition: TopicPartition) -> Place:
    """Refuses what has a state, or shall have none."""
    path = TopicZnode.path(partition.topic)
    try:
        found = await client.get(path)
    except NoNode:
        raise Failed(f"there is no topic {partition.topic!r}", "odradek topic list") from None
    topic = TopicZnode.decode(partition.topic, found.data)
    if partition.partition not in topic.partitions:
        last = max(topic.partitions)
        raise Failed(f"{partition.topic} has no partition {partition.partition}: 0 to {last}")
    if await client.exists(DeleteTopicZnode.path(partition.topic)) is not None:
        raise Failed(f"topic {partition.topic} is being deleted", "odradek cluster health")
    spoilt_version = await _spoilt_version(client, partition)
    epoch = ControllerEpochZnode.decode((await client.get(ControllerEpochZnode.PATH)).data)
    names = (await client.children(BrokerIdsZnode.PATH)).names
    alive = frozenset(map(int, names))
    return Place(partition, topic, found.stat.version, epoch, alive, spoilt_version)


async def _spoilt_version(client: ZooKeeperClient, partition: TopicPartition) -> int | None:
    """Of what somebody has left there that is no state; none where nothing is there."""
    try:
        found = await client.get(PartitionStateZnode.path(partition))
    except NoNode:
        return None
    try:
        PartitionStateZnode.decode(partition, found.data, found.stat.version)
    except MalformedZnode:
        return found.stat.version
    raise _is_there(partition)


def _is_there(partition: TopicPartition) -> Failed:
    text = f"{PartitionStateZnode.path(partition)} is there: it is not replaced"
    return Failed(text, f"odradek topic describe {partition.topic}")


def _check_leader(place: Place, leader: int) -> None:
    if leader not in place.replicas:
        known = ", ".join(map(str, place.replicas))
        raise Failed(f"broker {leader} has no replica of {place.partition}: {known} have")
    if leader not in place.alive:
        raise Failed(f"broker {leader} is not registered", "start it, or name another replica")


async def _ask(cluster: Cluster, place: Place) -> Logs:
    """Replicas that live, and have a log."""
    found: dict[int, Mapping[str, int]] = {}
    for broker in place.replicas:
        if broker in place.alive:
            logs = await logs_of(cluster, broker, place.partition.topic)
            if "leader_epoch" in logs.get(place.partition.partition, ()):
                found[broker] = logs[place.partition.partition]
    return found


def _row(broker: int, logs: Logs) -> tuple[object, ...]:
    log = logs.get(broker, {})
    start, end, epoch = map(log.get, ("log_start_offset", "log_end_offset", "leader_epoch"))
    return broker, start, end, epoch


def _state(place: Place, leader: BrokerId, epoch: LeaderEpoch, logs: Logs) -> PartitionState:
    incarnation = Incarnation(logs.get(leader, {}).get("incarnation", FIRST_INCARNATION))
    return PartitionState(
        leader=leader,
        leader_epoch=epoch,
        isr=(leader,),
        partition_epoch=PartitionEpoch(0),
        controller_epoch=place.controller_epoch,
        incarnations=() if incarnation == FIRST_INCARNATION else ((leader, incarnation),),
    )


async def create(client: ZooKeeperClient, place: Place, state: PartitionState) -> None:
    """The state, and the znodes above it that are missing: all or nothing."""
    partition = place.partition
    above = (PartitionZnode.parent(partition.topic), PartitionZnode.path(partition))
    missing = [it for it in above if await client.exists(it) is None]
    writes: list[WriteOp] = [Check(TopicZnode.path(partition.topic), place.topic_version)]
    writes += [Create(it, None, OPEN_ACL) for it in missing]
    data = PartitionStateZnode.encode(state)
    path = PartitionStateZnode.path(partition)
    if place.spoilt_version is None:
        writes.append(Create(path, data, OPEN_ACL))
    else:
        writes.append(SetData(path, data, place.spoilt_version))
    try:
        await client.multi(writes)
    except MultiFailed as failed:
        if isinstance(failed.cause, NodeExists):
            raise _is_there(partition) from None
        if isinstance(failed.cause, BadVersion | NoNode):
            text = f"the assignment of {partition.topic}, or this state, was changed meanwhile"
            raise Failed(text, "call it again") from None
        raise
