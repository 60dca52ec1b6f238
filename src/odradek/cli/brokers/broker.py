"""`odradek broker`: the brokers of the cluster."""

from collections import Counter
from collections.abc import Mapping

import click

from odradek.cli.brokers.broker_clients import clients
from odradek.cli.brokers.broker_demote import demote
from odradek.cli.brokers.broker_drain import drain, undrain
from odradek.cli.reaching.acting_controller import Seen, acting_controller, tell_doubt
from odradek.cli.reaching.naming import brokers_named
from odradek.cli.reaching.talking import talk
from odradek.cli.replicas.cordon import cordoned
from odradek.cli.replicas.logdirs import log_dirs_of, sick_of, state_of
from odradek.cli.showing.cells import Size, cell
from odradek.cli.showing.printing import is_terminal, show, show_table
from odradek.cli.words.grammar import Noun
from odradek.cli.words.options import pasted
from odradek.client.admin.placement import Ongoing, reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.model.ids import TopicPartition
from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.metadata import MetadataResponse

COLUMNS = ("broker", "host", "port", "rack", "controller", "leaders", "replicas", "out_of_sync")


@click.group(cls=Noun)
def command() -> None:
    """Brokers: list them, show one, empty one."""


command.add_command(clients)
command.add_command(drain)
command.add_command(undrain)
command.add_command(demote)


@command.command(name="list")
def list_brokers() -> None:
    """List the brokers that are registered, with the partitions they lead and host."""

    async def ask(cluster: Cluster) -> tuple[list[tuple[object, ...]], Seen, list[int]]:
        rows, seen = await _rows(cluster)
        return rows, seen, await cordoned(cluster)

    rows, seen, closed = talk(ask)
    show_table(COLUMNS, rows)
    tell_doubt(seen)
    if closed:
        names = ", ".join(map(str, closed))
        calls = "; ".join(f"odradek broker undrain {it}" for it in closed)
        told = f"cordoned, without new replicas: {names} ({calls})"
        click.echo(pasted(told), err=True)


async def _rows(cluster: Cluster) -> tuple[list[tuple[object, ...]], Seen]:
    answer, moves = await cluster.refresh(None), await reassignments_if_known(cluster)
    seen = await acting_controller(cluster, answer.controller_id)
    return rows_of(answer, moves, seen), seen


def rows_of(
    answer: MetadataResponse, moves: Mapping[TopicPartition, Ongoing], seen: Seen
) -> list[tuple[object, ...]]:
    """One row for each broker; replicas that are being added are not counted as out of sync."""
    partitions = [row for topic in answer.topics for row in topic.partitions]
    coming = Counter(
        broker
        for topic in answer.topics
        for row in topic.partitions
        if (move := moves.get(TopicPartition(topic.name or "", row.partition_index))) is not None
        for broker in move.adding
        if broker not in row.isr_nodes
    )
    rows: list[tuple[object, ...]] = []
    for broker in sorted(answer.brokers, key=lambda it: it.node_id):
        me = broker.node_id
        hosted = [row for row in partitions if me in row.replica_nodes]
        rows.append(
            (
                me,
                broker.host,
                broker.port,
                broker.rack,
                seen.acts(me),
                sum(row.leader_id == me for row in hosted),
                len(hosted),
                sum(me not in row.isr_nodes for row in hosted) - coming[me],
            )
        )
    return rows


@command.command()
@click.argument("broker", type=int)
def describe(*, broker: int) -> None:
    """Describe one broker: endpoint, partitions, log dirs."""

    async def ask(cluster: Cluster) -> dict[str, object]:
        (known,) = await brokers_named(cluster, [broker])
        (row,) = [row for row in (await _rows(cluster))[0] if row[0] == broker]
        found: dict[str, object] = dict(zip(COLUMNS, row, strict=True))
        found["cordoned"] = broker in await cordoned(cluster)
        dirs = await log_dirs_of(cluster, known)
        sick = await sick_of(cluster, known, dirs)
        found["log_dirs"] = [
            {
                "log_dir": it.log_dir,
                "size": sum(row.partition_size for topic in it.topics for row in topic.partitions),
                "free": it.usable_bytes if it.usable_bytes >= 0 else None,
                "state": state_of(it, sick),
            }
            for it in dirs
        ]
        return found

    found = talk(ask)
    dirs = found["log_dirs"]
    assert isinstance(dirs, list)
    names = (*COLUMNS, "cordoned")
    lines = [f"{name.replace('_', ' ')}: {cell(found[name])}" for name in names]
    lines += [f"log dir {it['log_dir']}: {it['state']}, {_size(it['size'])}" for it in dirs]
    show(found, *lines)


def _size(size: int) -> str:
    return cell(Size(size), for_people=True) if is_terminal() else f"{size} bytes"


@command.command()
@click.argument("broker", type=int, required=False)
def apis(*, broker: int | None) -> None:
    """List the APIs and the versions that a broker offers to clients."""

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        (first, *_) = await brokers_named(cluster, [] if broker is None else [broker])
        answer = await (await cluster.broker(first)).ask(ApiVersionsRequest(), 0)
        return [
            (row.api_key, _api_name(row.api_key), row.min_version, row.max_version)
            for row in sorted(answer.api_keys, key=lambda row: row.api_key)
        ]

    show_table(("key", "api", "min", "max"), talk(ask))


def _api_name(key: int) -> str | None:
    return APIS[key].name if key in APIS else None
