"""`odradek offsets`: where partitions begin and end, and where a time is in them."""

import click

from odradek.cli.reaching.naming import TOPIC, topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.records.leaderless import offsets_or_why, text_of, without_leader
from odradek.cli.records.topic import led_partitions
from odradek.cli.showing.printing import show_table
from odradek.cli.words.grammar import Noun
from odradek.cli.words.moments import millis_of
from odradek.client.cluster import Cluster
from odradek.client.records.offsets import EARLIEST, LATEST


@click.group(cls=Noun)
def command() -> None:
    """Offsets of partitions: first, last, by time."""


@command.command(name="list")
@click.argument("topics", nargs=-1, type=TOPIC)
@click.option("--at", metavar="TIME", help="Add the offset of the first record at or after it.")
@click.option("--internal", is_flag=True, help="Include internal topics.")
def list_offsets(*, topics: tuple[str, ...], at: str | None, internal: bool) -> None:
    """List the first and the next offset of each partition.

    TIME is 2026-01-31T12:00 (UTC without a zone) or milliseconds since 1970.
    """
    moment = None if at is None else millis_of(at)

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        found = await topics_named(cluster, topics, internal=internal)
        led = [it for topic in found for it in led_partitions(topic)]
        for it in await without_leader(cluster, found):
            click.echo(text_of(it), err=True)
        starts = await offsets_or_why(cluster, led, EARLIEST)
        ends = await offsets_or_why(cluster, led, LATEST)
        rows: list[tuple[object, ...]] = [
            (*it, starts[it], ends[it], ends[it] - starts[it]) for it in led
        ]
        if moment is None:
            return rows
        then = await offsets_or_why(cluster, led, moment)
        offsets = [None if then[it] < 0 else then[it] for it in led]
        return [(*row, offset) for row, offset in zip(rows, offsets, strict=True)]

    columns = ("topic", "partition", "start", "end", "records")
    show_table(
        (*columns, "at") if at is not None else columns,
        talk(ask),
        "no partition is there that has a leader",
    )
