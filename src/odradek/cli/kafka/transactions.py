"""`kafka-transactions`: transactions at coordinators and in partitions, and those that hang."""

from typing import Final

import click

from odradek.cli.kafka.script import Commands, Misused, ask, show
from odradek.cli.records.transaction import end_if_not_asked
from odradek.client.admin import transactions
from odradek.client.admin.transactions import Looked
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import MINUTE, Timestamp
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    ProducerState,
    TopicRequest,
)

LISTED: Final = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBED: Final = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
PRODUCERS: Final = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
HANGING: Final = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)
NONE: Final = "None"
LATE_MINUTES: Final = 15


@click.group("kafka-transactions", cls=Commands)
def command() -> None:
    """Kafka's script for transactions."""


@command.command(name="list")
@click.option("--duration-filter", "longer_than", type=int, default=-1)
def list_transactions(*, longer_than: int) -> None:
    """List transactions."""
    show(LISTED, ask(lambda it: transactions.list_transactions(it, longer_than=longer_than)))


@command.command()
@click.option("--transactional-id", "name", required=True)
def describe(*, name: str) -> None:
    """Describe the state of an active transactional-id."""

    async def look(cluster: Cluster) -> tuple[object, ...]:
        state = await transactions.describe(cluster, name)
        listed = await transactions.list_transactions(cluster, producers=[state.producer_id])
        coordinators = [it.coordinator for it in listed if it.transactional_id == name]
        start, now = state.transaction_start_time_ms, cluster.world.clock.wall()
        partitions = (f"{it.topic}-{number}" for it in state.topics for number in it.partitions)
        return (
            coordinators[0] if coordinators else NONE,
            name,
            state.producer_id,
            state.producer_epoch,
            state.transaction_state,
            state.transaction_timeout_ms,
            NONE if start < 0 else start,
            NONE if start < 0 else now - start,
            ",".join(partitions),
        )

    show(DESCRIBED, [ask(look)])


@command.command()
@click.option("--broker-id", type=int)
@click.option("--topic", required=True)
@click.option("--partition", type=int, required=True)
def describe_producers(*, broker_id: int | None, topic: str, partition: int) -> None:
    """Describe the states of active producers for a topic partition."""
    at = TopicPartition(topic, partition)

    async def look(cluster: Cluster) -> list[ProducerState]:
        asked = cluster.leader(at) if broker_id is None else cluster.broker(BrokerId(broker_id))
        answer = await (await asked).ask(DescribeProducersRequest([TopicRequest(*at_one(at))]))
        found = answer.topics[0].partitions[0]
        check(found.error_code, found.error_message, about=str(at))
        return list(found.active_producers)

    rows = [
        (
            it.producer_id,
            it.producer_epoch,
            it.coordinator_epoch,
            it.last_sequence,
            it.last_timestamp,
            NONE if it.current_txn_start_offset < 0 else it.current_txn_start_offset,
        )
        for it in ask(look)
    ]
    show(PRODUCERS, rows)


def at_one(at: TopicPartition) -> tuple[str, list[int]]:
    """As requests have it, by topics."""
    return at.topic, [at.partition]


@command.command()
@click.option("--topic", required=True)
@click.option("--partition", type=int, required=True)
@click.option("--start-offset", type=int)
@click.option("--producer-id", type=int)
@click.option("--producer-epoch", type=int)
@click.option("--coordinator-epoch", type=int)
def abort(
    *,
    topic: str,
    partition: int,
    start_offset: int | None,
    producer_id: int | None,
    producer_epoch: int | None,
    coordinator_epoch: int | None,
) -> None:
    """Abort a hanging transaction (requires administrative privileges)."""
    at = TopicPartition(topic, partition)
    if start_offset is not None:
        ask(lambda cluster: _abort(cluster, at, start_offset))
        return
    if producer_id is None:
        raise Misused(
            "The transaction to abort must be identified either with --start-offset (for brokers "
            "on 3.0 or above) or with --producer-id, --producer-epoch, and --coordinator-epoch "
            "(for older brokers)"
        )
    if producer_epoch is None:
        raise Misused("Missing required argument --producer-epoch")
    if coordinator_epoch is None:
        raise Misused("Missing required argument --coordinator-epoch")
    epochs = producer_epoch, coordinator_epoch
    ask(lambda cluster: transactions.abort_named(cluster, at, producer_id, epochs))


async def _abort(cluster: Cluster, at: TopicPartition, start_offset: int) -> None:
    for it in await transactions.open_in(cluster, at):
        if it.start_offset == start_offset:
            await transactions.abort(cluster, it)
            return
    raise Misused(
        f"Could not find any open transactions starting at offset {start_offset} on partition {at}"
    )


@command.command()
@click.option("--broker-id", type=int)
@click.option("--max-transaction-timeout", "minutes", type=int, default=LATE_MINUTES)
@click.option("--topic")
@click.option("--partition", type=int)
def find_hanging(
    *, broker_id: int | None, minutes: int, topic: str | None, partition: int | None
) -> None:
    """Find hanging transactions."""
    if topic is None and broker_id is None:
        raise Misused(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope "
            "of the search"
        )
    if topic is None and partition is not None:
        raise Misused("The --partition argument requires --topic to be provided")

    async def look(cluster: Cluster) -> tuple[Looked, int]:
        answer = await cluster.refresh(None if topic is None else [topic])
        for it in answer.topics:
            check(it.error_code, about=f"topic {it.name!r}")
        partitions = [
            TopicPartition(it.name or "", row.partition_index)
            for it in answer.topics
            for row in it.partitions
            if (partition is None or row.partition_index == partition)
            and (broker_id is None or broker_id in row.replica_nodes)
        ]
        now = cluster.world.clock.wall()
        before = Timestamp(now - minutes * MINUTE)
        return await transactions.hanging(cluster, sorted(partitions), before), now

    looked, now = ask(look)
    show(
        HANGING,
        [(*it.partition, *it[1:], (now - it.last_timestamp) // MINUTE) for it in looked.found],
    )
    end_if_not_asked(looked)
