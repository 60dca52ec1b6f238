"""`kafka-get-offsets`: where partitions begin and end, and where a time is in them."""

import re
from collections.abc import Callable

import click

from odradek.cli.kafka.script import Script, ask
from odradek.cli.words.failing import Failed
from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.model.ids import TopicPartition
from odradek.model.names import INTERNAL_TOPICS

Rule = tuple[re.Pattern[str], Callable[[int], bool]]
TIMES = {"latest": -1, "earliest": -2, "max-timestamp": -3}


@click.command("kafka-get-offsets", cls=Script)
@click.option("--topic", help="A regular expression.")
@click.option("--partitions", help="0,2,4")
@click.option("--topic-partitions", metavar="TOPIC:0-2,...", help="Ranges, without their end.")
@click.option("--time", default="latest", help="-1 latest, -2 earliest, -3 max-timestamp, or ms.")
@click.option("--exclude-internal-topics", "without_internal", is_flag=True)
def command(
    *,
    topic: str | None,
    partitions: str | None,
    topic_partitions: str | None,
    time: str,
    without_internal: bool,
) -> None:
    """Kafka's script for the offsets of partitions."""
    try:
        moment = TIMES[time] if time in TIMES else int(time)
    except ValueError:
        raise click.UsageError(f"Malformed time argument {time}") from None
    rules = [_rule(text) for text in (topic_partitions or "").split(",") if text]
    if not rules:
        numbers = {int(it) for it in (partitions or "").split(",") if it}
        rules = [(re.compile(topic or ".*"), lambda it: not numbers or it in numbers)]

    async def look(cluster: Cluster) -> list[str]:
        answer = await cluster.refresh(None)
        wanted: list[TopicPartition] = []
        leaderless: list[TopicPartition] = []
        for found in answer.topics:
            name = found.name or ""
            if without_internal and name in INTERNAL_TOPICS:
                continue
            for row in found.partitions:
                if any(fits.fullmatch(name) and has(row.partition_index) for fits, has in rules):
                    partition = TopicPartition(name, row.partition_index)
                    (wanted if row.leader_id >= 0 else leaderless).append(partition)
        if not wanted and not leaderless:
            raise Failed("Could not match any topic-partitions with the specified filters")
        for it in leaderless:
            click.echo(f"Skip getting offsets for topic-partition {it} due to error", err=True)
        offsets = await offsets_at(cluster, wanted, moment)
        lines = [(str(it), f"{it.topic}:{it.partition}:{offsets[it]}") for it in wanted]
        return [line for it, line in sorted(lines) if not line.endswith(":-1")]

    for line in ask(look):
        click.echo(line)


def _rule(text: str) -> Rule:
    """`topic:1-3`: a regular expression, and the numbers 1 and 2."""
    name, _, numbers = text.partition(":")
    low, dash, high = numbers.partition("-")
    try:
        first, end = int(low or 0), int(high) if high else None
    except ValueError:
        raise click.UsageError(f"Invalid rule: {text}") from None
    if numbers and not dash:
        return re.compile(name or ".*"), lambda it: it == first
    return re.compile(name or ".*"), lambda it: it >= first and (end is None or it < end)
