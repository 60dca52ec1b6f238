"""`odradek topic describe`: partitions with their leaders, replicas and offsets, and settings."""

from collections.abc import Mapping
from typing import NamedTuple

import click

from odradek.cli.reaching.naming import TOPIC, topics_named
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.aligning import GAP, LINE
from odradek.cli.showing.printing import is_terminal, print_json, show_table, tell
from odradek.cli.words.grammar import Verb
from odradek.cli.words.options import options
from odradek.client.admin import admin
from odradek.client.admin.placement import NOTHING_MOVES, Ongoing, reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.model.counting import counted
from odradek.model.ids import TopicId, TopicPartition, topic_id_text
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
    without a leader has no offsets. Settings are those that differ from the defaults.
    """

    async def ask(cluster: Cluster) -> list[Description]:
        topics = await topics_named(cluster, names, internal=internal)
        moves = await reassignments_if_known(cluster)
        return [await _described(cluster, topic, moves) for topic in topics]

    found = talk(ask)
    if options().as_json:
        print_json([it._asdict() for it in found])
        return
    if not is_terminal():
        for it in found:
            tell(GAP.join((_head(it), *_settings(it))))
        rows = [(it.topic, *row) for it in found for row in _rows(it, (*COLUMNS, *CHANGES))]
        show_table(("topic", *COLUMNS, *CHANGES), rows)
        return
    for number, it in enumerate(found):
        head = GAP.join((_head(it), *_settings(it)))
        if len(head) > LINE:
            head = f"\n{GAP}".join((_head(it), *_settings(it)))
        tell(("\n" if number else "") + head)
        changes = (name for name in CHANGES if any(row[name] for row in it.partitions))
        shown = (*COLUMNS, *changes)
        show_table(shown, _rows(it, shown))


def _head(it: Description) -> str:
    return GAP.join((it.topic, f"id {it.id}", counted(it.replication_factor, "replica")))


def _settings(it: Description) -> list[str]:
    return [f"{name}={value}" for name, value in it.settings.items()]


def _rows(it: Description, shown: tuple[str, ...]) -> list[tuple[object, ...]]:
    return [
        tuple(row[name] or None if name in CHANGES else row[name] for name in shown)
        for row in it.partitions
    ]


async def _described(
    cluster: Cluster, topic: MetadataResponseTopic, moves: Mapping[TopicPartition, Ongoing]
) -> Description:
    from odradek.config.describe import Source  # brings the table of all settings along

    name = topic.name or ""
    led = [TopicPartition(name, it.partition_index) for it in topic.partitions if it.leader_id >= 0]
    starts = await offsets_at(cluster, led, EARLIEST)
    ends = await offsets_at(cluster, led, LATEST)
    settings = await admin.describe_settings(cluster, admin.TOPIC, name)
    partitions: list[dict[str, object]] = [
        {
            "partition": row.partition_index,
            "leader": row.leader_id if row.leader_id >= 0 else None,
            "epoch": row.leader_epoch,
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
    topic_id = topic_id_text(TopicId(bytes(topic.topic_id)))
    return Description(name, topic_id, factor, own, partitions)


def _move(
    moves: Mapping[TopicPartition, Ongoing], topic: str, row: MetadataResponsePartition
) -> Ongoing:
    return moves.get(TopicPartition(topic, row.partition_index), NOTHING_MOVES)
