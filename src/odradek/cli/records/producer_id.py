"""`odradek producer-id`: the idempotent producers that partitions remember."""

import click

from odradek.cli.reaching.naming import TOPIC, topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.records.topic import led_partitions
from odradek.cli.showing.cells import Moment
from odradek.cli.showing.printing import show_table
from odradek.cli.words.grammar import Noun
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.ids import TopicPartition
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest

COLUMNS = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "last_timestamp",
    "transaction_start",
)


@click.group(cls=Noun)
def command() -> None:
    """Producer ids that partitions remember."""


@command.command(name="list")
@click.argument("topics", nargs=-1, required=True, type=TOPIC)
def list_producer_ids(*, topics: tuple[str, ...]) -> None:
    """List the producers whose sequence numbers the partitions of topics remember.

    transaction_start is the first offset of a transaction that is not ended.
    """

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        found = await topics_named(cluster, topics, internal=True)
        led = [it for topic in found for it in led_partitions(topic)]
        return [row for it in led for row in await _producers(cluster, it)]

    show_table(COLUMNS, talk(ask), "no idempotent producer is remembered")


async def _producers(cluster: Cluster, it: TopicPartition) -> list[tuple[object, ...]]:
    request = DescribeProducersRequest([TopicRequest(it.topic, [it.partition])])
    answer = await (await cluster.leader(it)).ask(request)
    found = answer.topics[0].partitions[0]
    check(found.error_code, found.error_message, about=str(it))
    return [
        (
            *it,
            row.producer_id,
            row.producer_epoch,
            row.last_sequence,
            Moment(row.last_timestamp),
            None if row.current_txn_start_offset < 0 else row.current_txn_start_offset,
        )
        for row in found.active_producers
    ]
