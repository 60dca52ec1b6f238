"""`odradek transaction`: transactions at coordinators and in partitions, and those that hang."""

from collections.abc import Mapping, Sequence
from typing import Final

import click

from odradek.cli.brokers.sick import spans
from odradek.cli.reaching.naming import TOPIC, brokers_that_answer, end_if_unreadable, topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.cells import Moment
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import is_terminal, show_outcomes, show_table
from odradek.cli.words.failing import FAILED, Failed
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.cli.words.states import state_option
from odradek.client.admin import transactions
from odradek.client.admin.transactions import Listed, ListedTransactions, Looked, OpenTransaction
from odradek.client.cluster import Cluster
from odradek.model.ids import TopicPartition
from odradek.model.units import MINUTE, Timestamp
from odradek.wire.messages.list_transactions import ListTransactionsRequest

DESCRIBED: Final = (
    "transactional_id",
    "coordinator",
    "producer_id",
    "producer_epoch",
    "state",
    "timeout_ms",
    "started",
    "partitions",
)
OPEN: Final = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "start_offset",
    "last_timestamp",
)
STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
LATE_MINUTES: Final = 15


@click.group(cls=Noun)
def command() -> None:
    """Transactions: list, describe, find and abort those that hang."""


@command.command(name="list")
@state_option(STATES, "Only those in this state, as Ongoing.")
def list_transactions(*, states: tuple[str, ...]) -> None:
    """List transactional ids, with their coordinators and states."""
    told = talk(lambda cluster: _told(cluster, ListTransactionsRequest(states)))
    nothing = "" if told.unreadable else "no transactional id is known"
    show_table(Listed._fields, told.found, nothing)
    end_if_unreadable(told.unreadable, ())


async def _told(cluster: Cluster, request: ListTransactionsRequest) -> ListedTransactions:
    """Those of the brokers that answer; the others are told."""

    async def attempt() -> ListedTransactions:
        brokers = await brokers_that_answer(cluster, ())
        return await transactions.transactions_of(cluster, brokers, request)

    return await cluster.patiently(attempt)


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="TRANSACTIONAL_ID...")
def describe(*, names: tuple[str, ...]) -> None:
    """Describe transactional ids: the producer, and the partitions of what is open."""

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for name in names:
            state = await transactions.describe(cluster, name)
            request = ListTransactionsRequest((), [state.producer_id])
            listed = (await _told(cluster, request)).found
            coordinators = [it.coordinator for it in listed if it.transactional_id == name]
            started = state.transaction_start_time_ms
            rows.append(
                (
                    name,
                    coordinators[0] if coordinators else None,
                    state.producer_id,
                    state.producer_epoch,
                    state.transaction_state,
                    state.transaction_timeout_ms,
                    None if started < 0 else Moment(started),
                    where({it.topic: it.partitions for it in state.topics}),
                )
            )
        return rows

    show_table(DESCRIBED, talk(ask))


def where(partitions: Mapping[str, Sequence[int]]) -> str:
    """All of them for a script; runs of numbers for people: there may be hundreds."""
    if options().as_json or not is_terminal():
        return " ".join(f"{topic}-{at}" for topic, them in partitions.items() for at in them)
    return ", ".join(f"{topic}: {spans(them)}" for topic, them in partitions.items())


@command.command()
@click.argument("topics", nargs=-1, required=True, type=TOPIC)
def producers(*, topics: tuple[str, ...]) -> None:
    """List the transactions that partitions of topics have open.

    Readers of committed records wait at the lowest start_offset of a partition.
    """

    async def ask(cluster: Cluster) -> Looked:
        return await transactions.open_in_all(cluster, await _partitions(cluster, topics))

    looked = talk(ask)
    show_table(OPEN, map(_row, looked.found), "no transaction is open")
    end_if_not_asked(looked)


@command.command()
@click.argument("topics", nargs=-1, type=TOPIC)
@click.option(
    "--minutes",
    type=Whole(0),
    default=LATE_MINUTES,
    show_default=True,
    help="Only those without a record for so long.",
)
def hanging(*, topics: tuple[str, ...], minutes: int) -> None:
    """Find transactions that are open in a partition and that no coordinator will end.

    Exit code 1 if there are some, or if a partition could not be asked; `odradek transaction abort`
    ends one.
    """

    async def ask(cluster: Cluster) -> Looked:
        before = Timestamp(cluster.world.clock.wall() - minutes * MINUTE)
        return await transactions.hanging(cluster, await _partitions(cluster, topics), before)

    looked = talk(ask)
    show_table(OPEN, map(_row, looked.found), "no transaction hangs")
    end_if_not_asked(looked)
    if looked.found:
        raise SystemExit(FAILED)


@command.command(cls=DestroyingVerb)
@click.argument("topic", type=TOPIC)
@click.argument("partition", type=Whole(0))
@click.argument("start_offset", type=Whole(0))
@click.option("--force", is_flag=True, help="Also if its coordinator may end it yet.")
def abort(*, topic: str, partition: int, start_offset: int, force: bool) -> None:
    """Abort a transaction in a partition, by the offset where it starts.

    Without --force only one that hangs: `odradek transaction hanging` finds it.
    """
    at = TopicPartition(topic, partition)

    async def find(cluster: Cluster) -> OpenTransaction:
        for it in await transactions.open_in(cluster, at):
            if it.start_offset == start_offset:
                known = await transactions.hanging(cluster, [at], Timestamp(it.last_timestamp + 1))
                if not force and it not in known.found:
                    raise Failed(f"{at}: a coordinator will end it; --force ends it here and now")
                return it
        raise Failed(f"{at} has no open transaction that starts at offset {start_offset}")

    found = talk(find)
    confirm(f"abort the transaction of producer {found.producer_id} in {at}")
    talk(lambda cluster: transactions.abort(cluster, found))
    said = {"topic": topic, "partition": partition, "producer_id": found.producer_id}
    show_outcomes([(f"{at}: aborted from offset {start_offset} on", said)])


async def _partitions(cluster: Cluster, topics: tuple[str, ...]) -> list[TopicPartition]:
    found = await topics_named(cluster, topics, internal=True)
    return sorted(
        TopicPartition(topic.name or "", row.partition_index)
        for topic in found
        for row in topic.partitions
    )


def end_if_not_asked(looked: Looked) -> None:
    """Names the partitions whose leaders have said nothing, and says so by the exit code."""
    for at, error in looked.not_asked.items():
        click.echo(f"odradek: {at} could not be asked: {error}", err=True)
    if looked.not_asked:
        raise SystemExit(FAILED)


def _row(it: OpenTransaction) -> tuple[object, ...]:
    return (*it.partition, *it[1:-1], Moment(it.last_timestamp))
