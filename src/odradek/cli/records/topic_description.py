"""`odradek topic describe`: partitions with their leaders, replicas and offsets, and settings.

A broker of an older release, or of Kafka's, that was restarted while a partition's state could not
be read does not know the partition, and others may name the leader that it was. So where a
partition, a topic or an offset is missing the controller is asked which partitions have no leader,
and why: it alone knows that.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import click

from odradek.cli.brokers.sick import Sick
from odradek.cli.reaching.naming import TOPIC, topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.records.leaderless import all_leaderless, only, text_of
from odradek.cli.showing.aligning import GAP, LINE
from odradek.cli.showing.printing import NO_TOPIC, is_terminal, print_json, show_table, tell
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.options import options
from odradek.client.admin import admin
from odradek.client.admin.placement import NOTHING_MOVES, Ongoing, reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.client.records.list_offsets import offsets_at, offsets_told_now
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.counting import counted
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, TopicId, TopicPartition, topic_id_text
from odradek.wire.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

COLUMNS = ("partition", "leader", "epoch", "replicas", "isr", "start", "end")
CHANGES = ("adding", "removing", "offline")
"""Shown to people where a partition has any."""


class Description(NamedTuple):
    """One topic, as it is printed."""

    topic: str
    id: str
    replication_factor: int
    settings: dict[str, str | None]
    partitions: list[dict[str, object]]


@click.command(cls=Verb)
@click.argument("names", nargs=-1, type=TOPIC)
@click.option("--internal", is_flag=True, help="Include internal topics.")
def describe(*, names: tuple[str, ...], internal: bool) -> None:
    """Describe topics: partitions, leaders, replicas, offsets, settings.

    NAMES may hold patterns such as 'orders-*'; without them all topics are described. A partition
    without a leader has no offsets, and why it has none is said. Settings are those that differ
    from the defaults.
    """
    found, why = talk(lambda cluster: described(cluster, names, internal=internal))
    _show(found)
    for it in why:
        click.echo(text_of(it), err=True)


def _show(found: Sequence[Description]) -> None:
    if options().as_json:
        print_json([it._asdict() for it in found])
        return
    if not is_terminal():
        for it in found:
            tell(GAP.join((_head(it), *_settings(it))))
        rows = [(it.topic, *row) for it in found for row in _rows(it, (*COLUMNS, *CHANGES))]
        show_table(("topic", *COLUMNS, *CHANGES), rows)
        return
    if not found:
        tell(NO_TOPIC)
    for number, it in enumerate(found):
        head = GAP.join((_head(it), *_settings(it)))
        if len(head) > LINE:
            head = f"\n{GAP}".join((_head(it), *_settings(it)))
        tell(("\n" if number else "") + head)
        changes = (name for name in CHANGES if any(row[name] for row in it.partitions))
        shown = (*COLUMNS, *changes)
        show_table(shown, _rows(it, shown))


def _head(it: Description) -> str:
    if not it.id:
        return GAP.join((it.topic, "the broker that was asked does not know it"))
    return GAP.join((it.topic, f"id {it.id}", counted(it.replication_factor, "replica")))


def _settings(it: Description) -> list[str]:
    return [f"{name}={value}" for name, value in it.settings.items()]


def _rows(it: Description, shown: tuple[str, ...]) -> list[tuple[object, ...]]:
    return [
        tuple(None if row[name] == [] else row[name] for name in shown) for row in it.partitions
    ]


async def described(
    cluster: Cluster, names: Sequence[str], *, internal: bool
) -> tuple[list[Description], list[Sick]]:
    """The topics, and why partitions of them have no leader."""
    topics, why = await _topics(cluster, names, internal=internal)
    moves = await reassignments_if_known(cluster)
    starts, why = await _offsets(cluster, topics, EARLIEST, why)
    ends, why = await _offsets(cluster, topics, LATEST, why)
    shown = {it.name for it in topics}
    found = [await _described(cluster, it, moves, (starts, ends)) for it in topics]
    return found, only(why or (), shown)


Why = list[Sick] | None
"""Of partitions that have no leader; None: not asked for yet."""


async def _topics(
    cluster: Cluster, names: Sequence[str], *, internal: bool
) -> tuple[list[MetadataResponseTopic], Why]:
    """With partitions that the broker which answers does not know."""
    why: Why = None
    try:
        topics = await topics_named(cluster, names, internal=internal)
    except Failed:
        why = await all_leaderless(cluster)
        unknown = {name for it in why for name in it.partitions if name in names}
        if not unknown:
            raise
        known = [it for it in names if it not in unknown]
        topics = await topics_named(cluster, known, internal=internal) if known else []
        topics += [MetadataResponseTopic(ErrorCode.NONE, it) for it in sorted(unknown)]
    if why is None and any(map(_lacks_some, topics)):
        why = await all_leaderless(cluster)
    for topic in topics:
        numbers = {it.partition_index for it in topic.partitions}
        more = {at for it in why or () for at in it.partitions.get(topic.name or "", ())} - numbers
        topic.partitions = [*topic.partitions, *map(_without_state, sorted(more))]
    return topics, why


def _lacks_some(topic: MetadataResponseTopic) -> bool:
    """A partition between others, or the leader of one."""
    numbers = [it.partition_index for it in topic.partitions]
    return max(numbers, default=-1) >= len(numbers) or any(
        it.leader_id < 0 for it in topic.partitions
    )


def _without_state(number: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(ErrorCode.LEADER_NOT_AVAILABLE, number, NO_BROKER)


async def _offsets(
    cluster: Cluster, topics: Iterable[MetadataResponseTopic], timestamp: int, why: Why
) -> tuple[dict[TopicPartition, int], Why]:
    """Where a leader does not tell one the controller may know that it is none."""
    led = {
        TopicPartition(topic.name or "", row.partition_index): row
        for topic in topics
        for row in topic.partitions
        if row.leader_id >= 0
    }
    found = await offsets_told_now(cluster, led, timestamp)
    left = [it for it in led if it not in found]
    if left:
        why = await all_leaderless(cluster) if why is None else why
        for it in left:
            if any(it.partition in sick.partitions.get(it.topic, ()) for sick in why):
                led[it].leader_id = NO_BROKER
        left = [it for it in left if led[it].leader_id >= 0]
        found |= await offsets_at(cluster, left, timestamp)
    return found, why


async def _described(
    cluster: Cluster,
    topic: MetadataResponseTopic,
    moves: Mapping[TopicPartition, Ongoing],
    offsets: tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]],
) -> Description:
    from odradek.config.describe import Source  # brings the table of all settings along

    name, (starts, ends) = topic.name or "", offsets
    is_known = topic.topic_id != NO_TOPIC_ID
    try:
        settings = await admin.describe_settings(cluster, admin.TOPIC, name)
    except Refused as error:
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        settings = []  # another broker was asked, which does not know the topic
    partitions: list[dict[str, object]] = [
        {
            "partition": row.partition_index,
            "leader": row.leader_id if row.leader_id >= 0 else None,
            "epoch": row.leader_epoch if row.leader_epoch >= 0 else None,
            "replicas": list(row.replica_nodes),
            "isr": list(row.isr_nodes),
            "start": starts.get(TopicPartition(name, row.partition_index)),
            "end": ends.get(TopicPartition(name, row.partition_index)),
            "adding": list(_move(moves, name, row).adding),
            "removing": list(_move(moves, name, row).removing),
            "offline": list(row.offline_replicas),
        }
        for row in sorted(topic.partitions, key=lambda row: row.partition_index)
    ]
    own = {row.name: row.value for row in settings if row.config_source == Source.TOPIC}
    factor = max(
        (len(it.replica_nodes) - len(_move(moves, name, it).adding) for it in topic.partitions),
        default=0,
    )
    topic_id = topic_id_text(TopicId(bytes(topic.topic_id))) if is_known else ""
    return Description(name, topic_id, factor, own, partitions)


def _move(
    moves: Mapping[TopicPartition, Ongoing], topic: str, row: MetadataResponsePartition
) -> Ongoing:
    return moves.get(TopicPartition(topic, row.partition_index), NOTHING_MOVES)
