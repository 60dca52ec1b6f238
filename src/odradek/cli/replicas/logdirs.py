"""`odradek logdirs`: the log dirs of the brokers, and which partition is in which."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click

from odradek.cli.reaching.naming import TOPIC, brokers_named, topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.reaching.who_answers import itself, of_each
from odradek.cli.replicas import log_dir_balance, log_dir_move
from odradek.cli.replicas.log_dir_throttle import between_log_dirs
from odradek.cli.replicas.throttle import LIFT, RATE, rates, told_of_log_dirs
from odradek.cli.showing.cells import Size
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import show, show_outcomes, show_table
from odradek.cli.words.failing import FAILED, MISUSED, Failed, plain
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.cli.words.options import pasted
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.admin_operations import (
    LOG_DIR_CORDON,
    LOG_DIR_OFFLINE,
    LOG_DIR_REPLACE,
    LOG_DIR_UNCORDON,
    LOG_DIRS_DESCRIBE,
    AdminOperation,
)
from odradek.model.counting import counted
from odradek.model.errors import ErrorCode, UnsupportedVersion
from odradek.model.ids import BrokerId, TopicPartition, by_topic
from odradek.model.moments import moment_text
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)

SIZES: Final = ("bytes", "free")
DESCRIBED: Final = (
    "broker",
    "log_dir",
    "state",
    "since",
    "reason",
    "partitions",
    "leaders",
    "size",
    "free",
    "moves",
)

Told = tuple[list[tuple[object, ...]], bool]
"""Rows, and whether a broker was left out of them."""

_brokers = click.option("--broker", "brokers", type=int, multiple=True, help="Only this broker.")


async def log_dirs_of(
    cluster: Cluster, broker: BrokerId, partitions: Iterable[TopicPartition] | None = None
) -> list[DescribeLogDirsResult]:
    """One broker's, with its replicas in them: those of these partitions, or all."""
    wanted = None
    if partitions is not None:
        wanted = [DescribableLogDirTopic(*it) for it in by_topic(partitions).items()]
    answer = await (await itself(cluster, broker)).ask(DescribeLogDirsRequest(wanted))
    check(answer.error_code)
    return list(answer.results)


@click.group(cls=Noun, invoke_without_command=True, no_args_is_help=False)
@click.pass_context
def command(context: click.Context) -> None:
    """Log dirs: sizes, free space, failures.

    Without a verb it lists them.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_log_dirs, brokers=())


@command.command(name="list")
@_brokers
def list_log_dirs(*, brokers: tuple[int, ...]) -> None:
    """List log dirs: number and size of partitions, free space, state."""

    async def ask(cluster: Cluster) -> Told:
        async def of(broker: BrokerId) -> list[tuple[object, ...]]:
            results = await log_dirs_of(cluster, broker)
            sick = await sick_of(cluster, broker, results)
            return [_listed(broker, it, sick) for it in results]

        return await of_each(cluster, brokers, of)

    columns = ("broker", "log_dir", "partitions", "size", "free", "total", "state")
    _show(columns, talk(ask))


def _listed(
    broker: BrokerId, result: DescribeLogDirsResult, sick: Mapping[str, str]
) -> tuple[object, ...]:
    sizes = [row.partition_size for topic in result.topics for row in topic.partitions]
    free, total = (None if it < 0 else Size(it) for it in (result.usable_bytes, result.total_bytes))
    state = state_of(result, sick)
    return broker, result.log_dir, len(sizes), Size(sum(sizes)), free, total, state


def _show(columns: Sequence[str], told: Told, nothing: str = "") -> None:
    """With an exit code of its own where a broker was left out."""
    rows, is_left_out = told
    show_table(columns, rows, nothing)
    if is_left_out:
        sys.exit(FAILED)


async def sick_of(
    cluster: Cluster, broker: BrokerId, results: Iterable[DescribeLogDirsResult]
) -> Mapping[str, str]:
    """What is wrong with these, in their broker's words: Kafka's request has one error for all."""
    if all(it.error_code == ErrorCode.NONE for it in results):
        return {}
    try:
        wanted = Wanted(LOG_DIRS_DESCRIBE, resource=str(broker), broker=broker)
        described = (await operate(cluster, wanted))["dirs"]
    except UnsupportedVersion:
        return {}
    hanging = {it["dir"]: "hangs" for it in described if it["state"] == "hangs"}
    offline = [it for it in described if it["state"] == "offline" and it.get("reason")]
    why = {it["dir"]: plain(it["reason"]) for it in offline}
    return {**hanging, **{name: f"offline: {text}" for name, text in why.items()}}


def state_of(found: DescribeLogDirsResult, sick: Mapping[str, str]) -> str:
    """For people; as Kafka's request tells it, where its broker says no more."""
    code = ErrorCode(found.error_code)
    if found.log_dir in sick:
        return sick[found.log_dir]
    if code is not ErrorCode.NONE:
        return f"offline: {code.sentence}"
    return "cordoned" if found.is_cordoned else "online"


@command.command()
@click.argument("topics", nargs=-1, type=TOPIC)
@_brokers
def partitions(*, topics: tuple[str, ...], brokers: tuple[int, ...]) -> None:
    """List partitions with the log dir and the size of each replica.

    A future replica is the copy that is being filled while a replica moves to another log dir.
    """

    async def ask(cluster: Cluster) -> Told:
        named = {it.name for it in await topics_named(cluster, topics, internal=True)}

        async def of(broker: BrokerId) -> list[tuple[object, ...]]:
            return [
                (
                    topic.name,
                    row.partition_index,
                    broker,
                    result.log_dir,
                    Size(row.partition_size),
                    row.offset_lag,
                    row.is_future_key,
                )
                for result in await log_dirs_of(cluster, broker)
                for topic in result.topics
                if topic.name in named
                for row in topic.partitions
            ]

        return await of_each(cluster, brokers, of)

    columns = ("topic", "partition", "broker", "log_dir", "size", "offset_lag", "future")
    _show(columns, talk(ask), "no replica is there")


@command.command()
@_brokers
def describe(*, brokers: tuple[int, ...]) -> None:
    """Show state, reason, size and running moves of each log dir.

    Brokers of Kafka tell less: use `odradek logdirs list` for them.
    """

    async def ask(cluster: Cluster) -> Told:
        async def of(broker: BrokerId) -> list[tuple[object, ...]]:
            wanted = Wanted(LOG_DIRS_DESCRIBE, resource=str(broker), broker=broker)
            return [_described(broker, it) for it in (await operate(cluster, wanted))["dirs"]]

        return await of_each(cluster, brokers, of)

    rows, is_left_out = talk(ask)
    show_table(DESCRIBED, rows)
    left = talk(rates).log_dirs
    if left:
        click.echo(pasted(f"{told_of_log_dirs(left)}; {LIFT} takes it away"), err=True)
    if is_left_out:
        sys.exit(FAILED)


def _described(broker: BrokerId, found: Mapping[str, Any]) -> tuple[object, ...]:
    since = found.get("since")
    return (
        broker,
        found["dir"],
        found["state"],
        None if since is None else moment_text(since),
        found.get("reason"),
        found.get("partitions"),
        found.get("leaders"),
        *(None if found.get(it) is None else Size(found[it]) for it in SIZES),
        tuple(map(_progress, found.get("moves", ()))),
    )


def _progress(move: Mapping[str, Any]) -> str:
    """How much of a copy is done, and how long the rest takes at its pace so far."""
    share = 100 if not move["bytes"] else 100 * (move["bytes"] - move["left"]) // move["bytes"]
    pace = move["bytes_per_second"]
    rest = f" {move['left'] // pace} s left" if pace else ""
    return f"{move['topic']}-{move['partition']} {share}%{rest}"


_of_broker = click.option("--broker", type=int, help="The broker; needed if there are several.")
_dir = click.argument("directory")


@command.command(cls=DestroyingVerb)
@_dir
@_of_broker
def offline(*, directory: str, broker: int | None) -> None:
    """Treat a log dir as failed, before its disk is pulled.

    The partitions in it are led by other brokers from then on. One that has failed by itself is
    offline already. Way back: with a good disk, restart the broker; `odradek logdirs replace` takes
    an empty one.
    """
    already = talk(lambda cluster: _offline_already(cluster, directory, broker))
    if already is not None:
        since, why = already["since"], already["reason"] or "of an error"
        when = "" if since is None else f" since {moment_text(since)}"
        show(already, f"{directory} is offline{when}: {why}; its disk can be pulled")
        return
    asked = f"take {directory} offline, with every replica in it"
    found = _operate(LOG_DIR_OFFLINE, directory, broker, asked)
    show(found, f"{directory} is offline; it held {counted(found['replicas'], 'replica')}")


@command.command()
@_dir
@_of_broker
def replace(*, directory: str, broker: int | None) -> None:
    """Use a new, empty disk in the place of one that failed.

    The replicas that were on the old disk are made anew and filled by their leaders; the broker
    goes on meanwhile.
    """
    found = _operate(LOG_DIR_REPLACE, directory, broker)
    show(found, f"{directory} is online; to be filled: {counted(found['replicas'], 'replica')}")


@command.command()
@_dir
@_of_broker
def cordon(*, directory: str, broker: int | None) -> None:
    """Put no new partition into a log dir."""
    found = _operate(LOG_DIR_CORDON, directory, broker)
    show(found, f"{directory} is cordoned")


@command.command()
@_dir
@_of_broker
def uncordon(*, directory: str, broker: int | None) -> None:
    """Put new partitions into a log dir again."""
    found = _operate(LOG_DIR_UNCORDON, directory, broker)
    show(found, f"{directory} takes new partitions")


@command.command()
@_dir
@click.argument("topics", nargs=-1, type=TOPIC, required=True)
@click.option("-p", "--partition", "numbers", type=int, multiple=True, help="Only this partition.")
@_of_broker
@click.option("--throttle", "rate", type=RATE, help="Bytes a second, such as 20M, while it lasts.")
@click.option("--no-wait", is_flag=True, help="Return once it has begun.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
def move(  # noqa: PLR0913 - one for each option
    *,
    directory: str,
    topics: tuple[str, ...],
    numbers: tuple[int, ...],
    broker: int | None,
    rate: int | None,
    no_wait: bool,
    dry_run: bool,
) -> None:
    """Move replicas of topics to another log dir of their broker.

    They are served meanwhile. It waits until they stand in DIRECTORY; interrupted, the broker goes
    on.
    """

    async def ask(cluster: Cluster) -> tuple[log_dir_move.Rows, bool]:
        number = await _one_broker(cluster, broker)
        partitions = [
            TopicPartition(topic.name or "", row.partition_index)
            for topic in await topics_named(cluster, topics)
            for row in sorted(topic.partitions, key=lambda it: it.partition_index)
            if not numbers or row.partition_index in numbers
        ]
        look = partial(log_dirs_of, cluster, number)
        moves = log_dir_move.Moves(number, directory, partitions, look)
        bound = None if dry_run else rate
        async with between_log_dirs(cluster, number, bound, ends=not no_wait) as lasting:
            lasting.goes_on = not dry_run
            await moves.begin(cluster, dry_run=dry_run)
            if not moves.rows():
                raise Failed(f"broker {number} has no replica of these partitions")
            if not no_wait:
                await moves.wait()
        return moves.rows(), moves.failed

    rows, failed = talk(ask, endless=True)
    show_table(log_dir_move.COLUMNS, rows)
    if failed:
        sys.exit(FAILED)


async def _one_broker(cluster: Cluster, number: int | None) -> BrokerId:
    known = await brokers_named(cluster, () if number is None else (number,))
    if len(known) > 1:
        raise Failed("the cluster has several brokers: name one with --broker", code=MISUSED)
    await itself(cluster, known[0])
    return known[0]


async def _offline_already(
    cluster: Cluster, directory: str, number: int | None
) -> dict[str, Any] | None:
    broker = await _one_broker(cluster, number)
    wanted = Wanted(LOG_DIRS_DESCRIBE, resource=str(broker), broker=broker)
    for found in (await operate(cluster, wanted))["dirs"]:
        if found["dir"] == directory and found["state"] == "offline":
            fields = {"since": found.get("since"), "reason": found.get("reason")}
            return {"broker": broker, "log_dir": directory, "replicas": 0, **fields}
    return None


def _operate(
    operation: AdminOperation, directory: str, number: int | None, asked: str = ""
) -> dict[str, Any]:
    broker = talk(lambda cluster: _one_broker(cluster, number))
    if asked:
        confirm(f"broker {broker}: {asked}")
    wanted = Wanted(operation, {"dir": directory}, resource=str(broker), broker=broker)
    found = talk(lambda cluster: operate(cluster, wanted))
    return {"broker": broker, "log_dir": directory, **found}


@command.command()
@_brokers
@click.option("--execute", is_flag=True, help="Begin the moves; without it the plan is shown.")
def balance(*, brokers: tuple[int, ...], execute: bool) -> None:
    """Plan moves that spread the bytes of each broker evenly over its log dirs.

    `odradek logdirs describe` shows how far the moves are.
    """

    async def ask(cluster: Cluster) -> tuple[list[log_dir_balance.Planned], bool]:
        async def of(broker: BrokerId) -> list[log_dir_balance.Planned]:
            found = log_dir_balance.plan(broker, await log_dirs_of(cluster, broker))
            if execute:
                await log_dir_balance.begin(cluster, broker, found)
            return found

        return await of_each(cluster, brokers, of)

    planned, is_left_out = talk(ask)
    verb = "moves" if execute else "would move"
    show_outcomes(
        [
            (
                f"broker {it.broker}: {it.partition} {verb} from {it.source} to {it.target}",
                {
                    "broker": it.broker,
                    "topic": it.partition.topic,
                    "partition": it.partition.partition,
                    "source": it.source,
                    "target": it.target,
                    "size": it.size,
                },
            )
            for it in planned
        ],
        "no move would make the log dirs of a broker more equal",
    )
    if is_left_out:
        sys.exit(FAILED)
