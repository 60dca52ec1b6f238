"""`odradek logdirs`: the log dirs of the brokers, and which partition is in which."""

import click

from odradek.cli.grammar import Noun
from odradek.cli.naming import TOPIC, brokers_named, topics_named
from odradek.cli.printing import Size, show_table
from odradek.cli.talking import talk
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult

_brokers = click.option("--broker", "brokers", type=int, multiple=True, help="Only this broker.")


async def log_dirs_of(cluster: Cluster, broker: BrokerId) -> list[DescribeLogDirsResult]:
    """One broker's, with the replicas in them."""
    answer = await (await cluster.broker(broker)).ask(DescribeLogDirsRequest(None))
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

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for broker in await brokers_named(cluster, brokers):
            for result in await log_dirs_of(cluster, broker):
                sizes = [row.partition_size for topic in result.topics for row in topic.partitions]
                code = ErrorCode(result.error_code)
                free, total = (
                    None if it < 0 else Size(it) for it in (result.usable_bytes, result.total_bytes)
                )
                state = "online" if code is ErrorCode.NONE else f"offline: {code.sentence}"
                rows.append(
                    (broker, result.log_dir, len(sizes), Size(sum(sizes)), free, total, state)
                )
        return rows

    columns = ("broker", "log_dir", "partitions", "size", "free", "total", "state")
    show_table(columns, talk(ask))


@command.command()
@click.argument("topics", nargs=-1, type=TOPIC)
@_brokers
def partitions(*, topics: tuple[str, ...], brokers: tuple[int, ...]) -> None:
    """List partitions with the log dir and the size of each replica.

    A future replica is the copy that is being filled while a replica moves to another log dir.
    """

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        named = {it.name for it in await topics_named(cluster, topics, internal=True)}
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
            for broker in await brokers_named(cluster, brokers)
            for result in await log_dirs_of(cluster, broker)
            for topic in result.topics
            if topic.name in named
            for row in topic.partitions
        ]

    columns = ("topic", "partition", "broker", "log_dir", "size", "offset_lag", "future")
    show_table(columns, talk(ask))
