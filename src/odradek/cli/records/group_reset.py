"""`odradek group reset-offsets`: a plan of where a group is moved, carried out with `--execute`."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from odradek.cli.reaching.naming import GROUP, groups_named, topic_named, topics_named
from odradek.cli.reaching.talking import chosen, talk
from odradek.cli.records.topic import led_partitions
from odradek.cli.showing.printing import show_table
from odradek.cli.words.failing import MISUSED, Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.moments import duration_of, millis_of
from odradek.cli.words.numbers import Whole
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import committed
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition

COLUMNS = ("topic", "partition", "before", "after")
WAYS = (
    "to_earliest",
    "to_latest",
    "to_current",
    "to_offset",
    "to_datetime",
    "by_duration",
    "shift_by",
    "from_file",
)


class Target(NamedTuple):
    """Where to."""

    way: str
    value: Any


def _ways(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of them must be said."""
    for option in (
        click.option(
            "--from-file",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            help="To the offsets of a file: lines `topic,partition,offset`, or the JSON "
            "that this verb prints.",
        ),
        click.option("--shift-by", type=int, help="So many further; a negative number goes back."),
        click.option("--by-duration", metavar="PT1H", help="To so long ago."),
        click.option("--to-datetime", metavar="TIME", help="To the first record at or after it."),
        click.option("--to-offset", type=Whole(0), help="To this offset."),
        click.option("--to-current", is_flag=True, help="To where it is: a plan to keep or edit."),
        click.option("--to-latest", is_flag=True, help="To the end of the partitions."),
        click.option("--to-earliest", is_flag=True, help="To the beginning of the partitions."),
    ):
        function = option(function)
    return function


@click.command(name="reset-offsets", cls=Verb)
@click.argument("group", type=GROUP)
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:0,1]",
    help="Only this topic, or some of its partitions.  [default: all that it has committed]",
)
@click.option("--all-topics", is_flag=True, help="All that it has committed: the default.")
@_ways
@click.option("--execute", is_flag=True, help="Do it; otherwise only the plan is shown.")
@click.option("--dry-run", is_flag=True, help="Only show the plan: the default.")
def reset_offsets(
    *,
    group: str,
    topics: tuple[str, ...],
    all_topics: bool,
    execute: bool,
    dry_run: bool,
    **ways: Any,
) -> None:
    """Move the committed offsets of a group that has no members.

    Prints where each partition is and where it would be; --execute does it. Offsets outside of a
    partition are moved to its nearest end.
    """
    said = [Target(way, ways[way]) for way in WAYS if ways[way] not in {None, False}]
    if len(said) != 1:
        raise click.UsageError(
            "say exactly one of --to-..., --by-duration, --shift-by, --from-file"
        )
    if execute and dry_run:
        raise click.UsageError("--execute and --dry-run exclude each other")
    if all_topics and topics:
        raise click.UsageError("--all-topics and --topic exclude each other")
    rows = talk(lambda cluster: reset(cluster, group, (topics, said[0]), execute=execute))
    show_table(COLUMNS, rows)
    if not execute:
        click.echo("odradek: this is a plan, nothing has changed; --execute does it", err=True)


async def reset(
    cluster: Cluster, group: str, to: tuple[Sequence[str], Target], *, execute: bool
) -> list[tuple[object, ...]]:
    """The rows of the plan, which is carried out if asked."""
    topics, target = to
    before = await committed(cluster, group)
    partitions = await _concerned(cluster, group, (topics, target), before)
    starts = await offsets_at(cluster, partitions, EARLIEST)
    ends = await offsets_at(cluster, partitions, LATEST)
    wanted = await _wanted(cluster, target, (before, starts, ends))
    after = {it: min(max(wanted[it], starts[it]), ends[it]) for it in partitions}
    if execute:
        try:
            await admin.reset_offsets(cluster, group, after)
        except Refused as refused:
            if refused.code is not ErrorCode.UNKNOWN_MEMBER_ID:
                raise
            text = f"group {group} has members, who go on from where they are: nothing is changed"
            raise Failed(text, f"stop them first; odradek group members {group}") from None
    return [(*it, before.get(it), after[it]) for it in partitions]


async def _concerned(
    cluster: Cluster,
    group: str,
    to: tuple[Sequence[str], Target],
    before: Mapping[TopicPartition, int],
) -> list[TopicPartition]:
    topics, target = to
    if target.way == "from_file":
        named = sorted(offsets_of_file(target.value))
        await topics_named(cluster, sorted({it.topic for it in named}))
        return named
    if not topics:
        if not before:
            await groups_named(cluster, [group])
            text = f"group {group} has no committed offsets: name its topics with --topic"
            raise Failed(text, f"odradek group describe {group}", MISUSED)
        there = {it.name for it in await topics_named(cluster, ())}
        return sorted(it for it in before if it.topic in there)
    found: set[TopicPartition] = set()
    for named_topic in topics:
        name, colon, numbers = named_topic.partition(":")
        partitions = led_partitions(await topic_named(cluster, name))
        try:
            some = [int(number) for number in numbers.split(",")] if colon else []
        except ValueError:
            text = f"--topic {named_topic}: {numbers!r} are no numbers of partitions"
            raise Failed(text, code=MISUSED) from None
        found.update(chosen(partitions, some))
    return sorted(found)


Known = tuple[
    Mapping[TopicPartition, int], Mapping[TopicPartition, int], Mapping[TopicPartition, int]
]


async def _wanted(cluster: Cluster, target: Target, known: Known) -> Mapping[TopicPartition, int]:
    before, starts, ends = known
    match target:
        case Target("to_earliest"):
            return starts
        case Target("to_latest"):
            return ends
        case Target("to_current"):
            return {it: before.get(it, ends[it]) for it in ends}
        case Target("to_offset", offset):
            return dict.fromkeys(ends, offset)
        case Target("shift_by", count):
            return {it: before.get(it, starts[it]) + count for it in ends}
        case Target("from_file", path):
            return offsets_of_file(path)
        case Target("by_duration", text):
            moment = cluster.world.clock.wall() - duration_of(text)
        case Target(_, text):
            moment = millis_of(text)
    found = await offsets_at(cluster, ends, moment)
    return {it: ends[it] if offset < 0 else offset for it, offset in found.items()}


def offsets_of_file(path: Path) -> dict[TopicPartition, int]:
    """Lines as Kafka's tool exports them, or our own JSON."""
    text = path.read_text()
    try:
        if text.lstrip().startswith("["):
            return {
                TopicPartition(row["topic"], int(row["partition"])): int(row["after"])
                for row in json.loads(text)
            }
        rows = [row for row in csv.reader(text.splitlines()) if row]
        return {
            TopicPartition(topic.strip(), int(number)): int(offset)
            for topic, number, offset in rows
        }
    except (ValueError, KeyError, TypeError) as error:
        text = f"{path}: not lines of `topic,partition,offset`, nor the JSON of a plan ({error})"
        raise Failed(text) from None
