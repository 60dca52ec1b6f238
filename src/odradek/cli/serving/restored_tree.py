"""`odradek zookeeper raise-epochs`: what has to grow in a tree that was restored from a backup.

Logs hold leader epochs and producer ids that were given after the backup. A leader below the epoch
of its followers' logs is not followed, and a producer under an id that is in a log already would
be taken for the earlier one. So both are put far above whatever they can have reached since. Which
replicas were in sync at the end no backup knows: brokers that were not have to start last.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, NamedTuple

import click

from odradek.cli.reaching.tree import TreeVerb, access_by, connection, in_tree
from odradek.cli.showing.printing import show
from odradek.cli.words.failing import Failed
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.broker import BrokerIdsZnode
from odradek.metadata.znodes.cluster import ProducerIdBlock, ProducerIdBlockZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicsZnode
from odradek.model.counting import counted
from odradek.model.ids import BrokerId, ProducerId, TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.zookeeper.client.errors import NoNode
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import GetData, SetData, WriteOp

EPOCHS: Final = 10_000
PRODUCER_IDS: Final = 1_000_000_000
"""By so much they are raised: more than is given between two backups."""


class Raised(NamedTuple):
    """What was done."""

    partitions: int
    first_producer_id: int


@click.command("raise-epochs", cls=TreeVerb)
@connection
def raise_epochs(*, connect: str, tls_file: Path | None) -> None:
    """Make a tree that was restored from a backup fit for its brokers.

    Leader epochs and producer ids that were given after the backup stand in the logs; those of the
    tree are put above them. No broker may be registered. See the runbook.
    """
    raised = asyncio.run(in_tree(connect, raise_all, access_by(tls_file)))
    text = f"{counted(raised.partitions, 'leader epoch')} raised by {EPOCHS}; producer ids go on"
    show(raised._asdict(), f"{text} at {raised.first_producer_id}")


async def raise_all(client: ZooKeeperClient) -> Raised:
    """Of the whole tree; a second time does no harm."""
    alive = (await client.children(BrokerIdsZnode.PATH)).names
    if alive:
        names = ", ".join(sorted(alive))
        next_step = (
            "stop all brokers; those of the backup, and those that were killed, are registered"
            " until their sessions end (zookeeper.session.timeout.ms): then call it again"
        )
        raise Failed(f"brokers {names} are registered", next_step)
    writes: list[WriteOp] = []
    partitions = [it async for it in _partitions(client)]
    answers = await client.batch([GetData(PartitionStateZnode.path(it)) for it in partitions])
    for partition, answer in zip(partitions, answers, strict=True):
        if isinstance(answer, NoNode):  # without a state no leader is elected
            continue
        if not isinstance(answer, Data):
            raise Failed(f"{PartitionStateZnode.path(partition)}: {answer}")
        version = answer.stat.version
        state = PartitionStateZnode.decode(partition, answer.data, version)
        state = state._replace(leader_epoch=LeaderEpoch(state.leader_epoch + EPOCHS))
        data = PartitionStateZnode.encode(state)
        writes.append(SetData(PartitionStateZnode.path(partition), data, version))
    count = len(writes)
    block = await client.get(ProducerIdBlockZnode.PATH)
    newest = ProducerIdBlockZnode.decode(block.data)
    first = (0 if newest is None else newest.last) + PRODUCER_IDS
    given = ProducerIdBlock(BrokerId(0), ProducerId(first - 1), ProducerId(first - 1))
    data = ProducerIdBlockZnode.encode(given)
    writes.append(SetData(ProducerIdBlockZnode.PATH, data, block.stat.version))
    for answer in await client.batch(list(client.packed(writes))):
        if isinstance(answer, KeeperError):
            raise answer
    return Raised(count, first)


async def _partitions(client: ZooKeeperClient) -> AsyncIterator[TopicPartition]:
    for topic in sorted((await client.children(TopicsZnode.PATH)).names):
        try:
            numbers = (await client.children(f"{TopicsZnode.PATH}/{topic}/partitions")).names
        except NoNode:  # its controller died before it had partitions
            continue
        for number in sorted(map(int, numbers)):
            yield TopicPartition(topic, number)
