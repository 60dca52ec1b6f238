"""`odradek topic describe`: partitions with their leaders, replicas and offsets, and settings."""

from typing import NamedTuple

import click

from odradek.cli.grammar import Verb
from odradek.cli.naming import TOPIC, topics_named
from odradek.cli.options import options
from odradek.cli.printing import print_json, show_table
from odradek.cli.talking import talk
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.client.list_offsets import offsets_at
from odradek.client.offsets import EARLIEST, LATEST
from odradek.model.ids import TopicId, TopicPartition, topic_id_text
from odradek.wire.messages.metadata import MetadataResponseTopic

COLUMNS = ("partition", "leader", "epoch", "replicas", "isr", "start", "end")


class Description(NamedTuple):
    """One topic, as it is printed."""

    topic: str
    id: str
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
        return [await _described(cluster, topic) for topic in topics]

    found = talk(ask)
    if options().as_json:
        print_json([it._asdict() for it in found])
        return
    for number, it in enumerate(found):
        settings = "".join(f"  {name}={value}" for name, value in it.settings.items())
        click.echo(("\n" if number else "") + f"{it.topic}  id {it.id}{settings}")
        show_table(COLUMNS, [tuple(row.values()) for row in it.partitions])


async def _described(cluster: Cluster, topic: MetadataResponseTopic) -> Description:
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
        }
        for row in sorted(topic.partitions, key=lambda row: row.partition_index)
    ]
    own = {row.name: row.value for row in settings if row.config_source == Source.TOPIC}
    return Description(name, topic_id_text(TopicId(bytes(topic.topic_id))), own, partitions)
