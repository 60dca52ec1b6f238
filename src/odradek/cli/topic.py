"""`odradek topic`: topics made, shown, enlarged, trimmed and taken away."""

import click

from odradek.cli.talking import (
    as_json,
    bootstrap,
    chosen,
    print_json,
    print_rows,
    settings_of,
    talk,
)
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.client.connection import Refused
from odradek.client.reader import EARLIEST, LATEST, offsets_at
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId, TopicPartition, topic_id_text
from odradek.model.names import INTERNAL_TOPICS


@click.group()
def command() -> None:
    """Topics: make, show, enlarge, trim, take away."""


@command.command(name="list")
@click.option("--internal", is_flag=True, help="Also those that the brokers keep for themselves.")
@as_json
@bootstrap
def list_topics(*, bootstrap: str, as_json: bool, internal: bool) -> None:
    """List the topics."""

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        answer = await cluster.refresh(None)
        return [
            (topic.name, len(topic.partitions), len(topic.partitions[0].replica_nodes))
            for topic in sorted(answer.topics, key=lambda topic: topic.name or "")
            if internal or topic.name not in INTERNAL_TOPICS
        ]

    print_rows(("topic", "partitions", "replicas"), talk(bootstrap, ask), as_json=as_json)


@command.command()
@click.argument("name")
@click.option("-p", "--partitions", type=int, default=-1, help="By default as the brokers say.")
@click.option("-r", "--replication-factor", "factor", type=int, default=-1, help="Likewise.")
@click.option("-c", "--config", "settings", multiple=True, metavar="NAME=VALUE", help="A setting.")
@bootstrap
def create(
    *, bootstrap: str, name: str, partitions: int, factor: int, settings: tuple[str, ...]
) -> None:
    """Make a topic."""
    topic = admin.NewTopic(name, partitions, factor, settings_of(settings))
    talk(bootstrap, lambda cluster: admin.create_topic(cluster, topic))
    click.echo(f"topic {name} is there")


@command.command()
@click.argument("name")
@as_json
@bootstrap
def describe(*, bootstrap: str, name: str, as_json: bool) -> None:
    """Show a topic: its partitions, who leads them, and where they begin and end."""

    async def ask(cluster: Cluster) -> tuple[str, list[dict[str, object]]]:
        topic = await cluster.topic(name)
        partitions = await admin.partitions_of(cluster, name)
        starts = await offsets_at(cluster, partitions, EARLIEST)
        ends = await offsets_at(cluster, partitions, LATEST)
        rows = [
            {
                "partition": row.partition_index,
                "leader": row.leader_id,
                "epoch": row.leader_epoch,
                "replicas": list(row.replica_nodes),
                "isr": list(row.isr_nodes),
                "start": starts[TopicPartition(name, row.partition_index)],
                "end": ends[TopicPartition(name, row.partition_index)],
            }
            for row in sorted(topic.partitions, key=lambda row: row.partition_index)
        ]
        return topic_id_text(TopicId(bytes(topic.topic_id))), rows

    topic_id, rows = talk(bootstrap, ask)
    if as_json:
        print_json({"topic": name, "id": topic_id, "partitions": rows})
        return
    click.echo(f"{name}  id {topic_id}  {len(rows)} partitions")
    print_rows(tuple(rows[0]), [tuple(row.values()) for row in rows])


@command.command()
@click.argument("names", nargs=-1, required=True)
@bootstrap
def delete(*, bootstrap: str, names: tuple[str, ...]) -> None:
    """Take topics away, with all their records."""
    outcomes = talk(bootstrap, lambda cluster: admin.delete_topics(cluster, names))
    for name, code in outcomes.items():
        if code is not ErrorCode.NONE:
            raise Refused(code, f"topic {name}")
        click.echo(f"topic {name} is gone")


@command.command()
@click.argument("name")
@click.option("-p", "--partitions", type=int, help="So many from now on; never fewer.")
@click.option("-c", "--config", "settings", multiple=True, metavar="NAME=VALUE", help="Set this.")
@click.option("-d", "--delete-config", "gone", multiple=True, metavar="NAME", help="Unset this.")
@bootstrap
def alter(
    *,
    bootstrap: str,
    name: str,
    partitions: int | None,
    settings: tuple[str, ...],
    gone: tuple[str, ...],
) -> None:
    """Give a topic more partitions, or other settings."""
    changes = settings_of(settings)

    async def ask(cluster: Cluster) -> None:
        if partitions is not None:
            await admin.grow_topic(cluster, name, partitions)
        if changes or gone:
            await admin.alter_settings(cluster, admin.TOPIC, name, to=changes, delete=gone)

    talk(bootstrap, ask)
    click.echo(f"topic {name} is altered")


@command.command()
@click.argument("name")
@click.option("-p", "--partition", "numbers", type=int, multiple=True, help="By default all.")
@click.option("-o", "--offset", type=int, default=-1, help="The new start; -1 deletes everything.")
@as_json
@bootstrap
def trim(
    *, bootstrap: str, name: str, numbers: tuple[int, ...], offset: int, as_json: bool
) -> None:
    """Delete the records before an offset."""

    async def ask(cluster: Cluster) -> dict[str, int]:
        partitions = await admin.partitions_of(cluster, name)
        before = dict.fromkeys(chosen(partitions, numbers), offset)
        return await admin.delete_records(cluster, before)

    print_rows(("partition", "start"), list(talk(bootstrap, ask).items()), as_json=as_json)
