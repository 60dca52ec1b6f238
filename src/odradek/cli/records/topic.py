"""`odradek topic`: topics created, listed, described, altered, trimmed and deleted."""

from collections.abc import Iterable
from typing import Final

import click

from odradek.cli.reaching.naming import TOPIC, topic_named, topics_named
from odradek.cli.reaching.talking import chosen, settings_of, talk
from odradek.cli.records import topic_description
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import NO_TOPIC, show_outcomes, show_table, tell_table
from odradek.cli.showing.progress import progress
from odradek.cli.words.failing import Failed, unknown
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.cli.words.moments import millis_of
from odradek.cli.words.numbers import PARTITIONS_MAX, REPLICAS_MAX, Whole
from odradek.cli.words.options import options
from odradek.client.admin import admin
from odradek.client.admin.placement import reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.counting import counted
from odradek.model.errors import BEING_DELETED, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.metadata import MetadataResponseTopic

Outcome = tuple[str, dict[str, object]]
NAMED_MAX: Final = 3
"""More partitions than these make a table, and no sentence."""


@click.group(cls=Noun)
def command() -> None:
    """Topics: create, list, describe, alter, trim, delete."""


command.add_command(topic_description.describe)


@command.command(name="list")
@click.argument("names", nargs=-1, type=TOPIC)
@click.option("--internal", is_flag=True, help="Include internal topics.")
def list_topics(*, names: tuple[str, ...], internal: bool) -> None:
    """List topics.

    NAMES may hold patterns such as 'orders-*'; without them all topics are listed.
    """

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        topics = await topics_named(cluster, names, internal=internal)
        adding: dict[TopicPartition, int] = {
            it: len(move.adding) for it, move in (await reassignments_if_known(cluster)).items()
        }
        return [
            (
                it.name,
                len(it.partitions),
                max(
                    (
                        len(row.replica_nodes)
                        - adding.get(TopicPartition(it.name or "", row.partition_index), 0)
                        for row in it.partitions
                    ),
                    default=0,
                ),
            )
            for it in topics
        ]

    rows = talk(ask)
    show_table(("topic", "partitions", "replicas"), rows, NO_TOPIC)


@command.command()
@click.argument("names", nargs=-1, required=True)
@click.option(
    "-p",
    "--partitions",
    type=Whole(largest=PARTITIONS_MAX),
    default=-1,
    help="Default: the brokers' num.partitions.",
)
@click.option(
    "-r",
    "--replication-factor",
    "factor",
    type=Whole(largest=REPLICAS_MAX),
    default=-1,
    help="Default: the brokers' default.replication.factor.",
)
@click.option("-c", "--config", "settings", multiple=True, metavar="NAME=VALUE", help="A setting.")
@click.option("--if-not-exists", is_flag=True, help="A topic that exists is no error.")
def create(
    *,
    names: tuple[str, ...],
    partitions: int,
    factor: int,
    settings: tuple[str, ...],
    if_not_exists: bool,
) -> None:
    """Create topics."""
    configs = [CreatableTopicConfig(*pair) for pair in settings_of(settings).items()]
    wanted = [CreatableTopic(name, partitions, factor, configs=configs) for name in names]

    async def ask(cluster: Cluster) -> list[Outcome]:
        request = CreateTopicsRequest(wanted, admin.TIMEOUT_MS)
        answer = await (await cluster.controller()).ask(request)
        outcomes: list[Outcome] = []
        failures: list[Refused] = []
        for row in answer.topics:
            is_there = row.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
            if is_there and if_not_exists and BEING_DELETED not in (row.error_message or ""):
                fields: dict[str, object] = {"topic": row.name, "created": False}
                outcomes.append((f"topic {row.name} exists already", fields))
            elif row.error_code:
                about = "" if row.error_message else f"topic {row.name!r}"
                failures.append(Refused(row.error_code, row.error_message, about=about))
            else:
                shape = {"partitions": row.num_partitions, "replicas": row.replication_factor}
                text = f"topic {row.name} created" + _shape(*shape.values())
                outcomes.append((text, {"topic": row.name, "created": True, **shape}))
        return _unless(outcomes, failures)

    show_outcomes(talk(ask))


def _shape(partitions: int, factor: int) -> str:
    if partitions < 0:
        return ""
    return f": {counted(partitions, 'partition')}, {counted(factor, 'replica')} each"


def _unless(outcomes: list[Outcome], failures: list[Refused]) -> list[Outcome]:
    """What was done is shown, before the first thing that was not done is told."""
    if failures:
        if outcomes:
            show_outcomes(outcomes)
        raise failures[0]
    return outcomes


@command.command(cls=DestroyingVerb)
@click.argument("names", nargs=-1, required=True, type=TOPIC)
@click.option("--if-exists", is_flag=True, help="A topic that does not exist is no error.")
def delete(*, names: tuple[str, ...], if_exists: bool) -> None:
    """Delete topics with all their records.

    NAMES may hold patterns such as 'test-*'.
    """

    async def look(cluster: Cluster) -> list[tuple[str, int, int]]:
        known = {topic.name for topic in await topics_named(cluster, (), internal=True)}
        there = [name for name in names if name in known or not if_exists]
        found = await topics_named(cluster, there) if there else []
        return [(it.name or "", len(it.partitions), await _records(cluster, it)) for it in found]

    found = talk(look)
    if not found:
        show_outcomes([])
        return
    confirm("delete " + ", ".join(_size(*it) for it in found))
    gone = [name for name, _, _ in found]

    async def ask(cluster: Cluster) -> list[Outcome]:
        from odradek.cli.brokers.cluster_health import deletions_that_wait  # it brings much along

        outcomes: list[Outcome] = []
        failures: list[Refused] = []
        half = int(options().seconds * SECOND) // 2  # then there is time to ask what it waits for
        answers = await admin.delete_topics(cluster, gone, half)
        waits = await deletions_that_wait(cluster)
        for name, code in answers.items():
            if name in waits and code in {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}:
                why = "; ".join(waits[name])
                text = f"topic {name} is being deleted, and waits: {why}"
                outcomes.append((text, {"topic": name, "deleted": False, "waits": waits[name]}))
            elif code is ErrorCode.NONE:
                outcomes.append((f"topic {name} deleted", {"topic": name, "deleted": True}))
            else:
                failures.append(Refused(code, about=f"topic {name!r}"))
        return _unless(outcomes, failures)

    show_outcomes(talk(ask))


def _size(name: str, partitions: int, records: int) -> str:
    return f"topic {name} ({counted(partitions, 'partition')}, {counted(records, 'record')})"


async def _records(cluster: Cluster, topic: MetadataResponseTopic) -> int:
    """How many offsets its partitions hold, of those that somebody leads."""
    led = led_partitions(topic)
    starts = await offsets_at(cluster, led, EARLIEST)
    ends = await offsets_at(cluster, led, LATEST)
    return sum(ends[it] - starts[it] for it in led)


def led_partitions(topic: MetadataResponseTopic) -> list[TopicPartition]:
    """Those that can be asked without waiting for an election."""
    return sorted(
        TopicPartition(topic.name or "", row.partition_index)
        for row in topic.partitions
        if row.leader_id >= 0
    )


@command.command()
@click.argument("names", nargs=-1, required=True, type=TOPIC)
@click.option(
    "-p", "--partitions", type=Whole(1, largest=PARTITIONS_MAX), help="The new number; never fewer."
)
@click.option("-c", "--config", "settings", multiple=True, metavar="NAME=VALUE", help="Set this.")
@click.option(
    "-d", "--delete-config", "gone", multiple=True, metavar="NAME", help="Back to the default."
)
def alter(
    *,
    names: tuple[str, ...],
    partitions: int | None,
    settings: tuple[str, ...],
    gone: tuple[str, ...],
) -> None:
    """Change the number of partitions, or settings."""
    changes = settings_of(settings)
    if partitions is None and not changes and not gone:
        raise click.UsageError("nothing to change: use --partitions, --config or --delete-config")

    async def ask(cluster: Cluster) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for topic in await topics_named(cluster, names):
            name = topic.name or ""
            if changes or gone:
                await refuse_unknown_settings(cluster, admin.TOPIC, name, (*changes, *gone))
            if partitions is not None:
                await admin.grow_topic(cluster, name, partitions)
            if changes or gone:
                await admin.alter_settings(cluster, admin.TOPIC, name, to=changes, delete=gone)
            done = [] if partitions is None else [counted(partitions, "partition")]
            done += [f"{setting}={value}" for setting, value in changes.items()]
            done += [f"{setting} back to its default" for setting in gone]
            fields = {"partitions": partitions, "set": changes, "deleted": list(gone)}
            outcomes.append((f"topic {name}: {', '.join(done)}", {"topic": name, **fields}))
        return outcomes

    show_outcomes(talk(ask))


async def refuse_unknown_settings(
    cluster: Cluster, kind: int, name: str, settings: Iterable[str]
) -> None:
    """A name that the brokers do not know would be kept and have no effect."""
    known = {row.name for row in await admin.describe_settings(cluster, kind, name)}
    for setting in settings:
        if setting not in known and not setting.startswith("listener.name."):
            what = "topic setting" if kind == admin.TOPIC else "broker setting"
            noun = "topic" if kind == admin.TOPIC else "broker"
            raise unknown(what, setting, known, f"odradek config describe {noun} {name} --all")


@command.command(cls=DestroyingVerb)
@click.argument("name", type=TOPIC)
@click.option("-p", "--partition", "numbers", type=int, multiple=True, help="Default: all.")
@click.option("-o", "--before-offset", "--offset", "offset", type=Whole(0))
@click.option("--before-time", metavar="TIME", help="2026-01-31T12:00, or milliseconds since 1970.")
@click.option("--all", "everything", is_flag=True, help="All records that are there now.")
def trim(
    *,
    name: str,
    numbers: tuple[int, ...],
    offset: int | None,
    before_time: str | None,
    everything: bool,
) -> None:
    """Delete the records before an offset or a time.

    Shows which offsets will be deleted and asks.
    """
    if (offset is not None) + (before_time is not None) + everything != 1:
        raise click.UsageError("say one of --before-offset, --before-time and --all")

    async def look(cluster: Cluster) -> list[tuple[TopicPartition, int, int]]:
        await topic_named(cluster, name)
        partitions = chosen(await admin.partitions_of(cluster, name), numbers)
        starts = await offsets_at(cluster, partitions, EARLIEST)
        ends = await offsets_at(cluster, partitions, LATEST)
        wanted = dict(ends)
        if offset is not None:
            wanted = dict.fromkeys(partitions, offset)
        elif before_time is not None:
            found = await offsets_at(cluster, partitions, millis_of(before_time))
            wanted = {it: ends[it] if at < 0 else at for it, at in found.items()}
        for it in partitions:
            if wanted[it] > ends[it]:
                text = f"{it} ends at {ends[it]}: offset {wanted[it]} is not in it"
                raise Failed(text, "odradek offsets list " + name)
        return [(it, starts[it], wanted[it]) for it in partitions if wanted[it] > starts[it]]

    plan = talk(look)
    if not plan:
        raise Failed(f"topic {name}: no records lie before that; nothing was deleted")
    what = f"delete {counted(sum(end - start for _, start, end in plan), 'record')}"
    if len(plan) > NAMED_MAX:
        told = [(str(it), start, end - 1) for it, start, end in plan]
        tell_table(("partition", "from offset", "to offset"), told)
        confirm(f"{what} of {counted(len(plan), 'partition')}")
    else:
        named = (f"{it} offsets {start} to {end - 1}" for it, start, end in plan)
        confirm(f"{what}: {', '.join(named)}")

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        with progress("trimming", len(plan)) as bar:
            for it, start, end in plan:
                (begins,) = (await admin.delete_records(cluster, {it: end})).values()
                rows.append((it.topic, it.partition, start, begins, begins - start))
                bar.update(1)
        return rows

    show_table(("topic", "partition", "start_before", "start", "deleted"), talk(ask))
