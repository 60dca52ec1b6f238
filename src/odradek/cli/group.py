"""`odradek group`: consumer groups, where they are, and how far behind."""

from collections.abc import Mapping

import click

from odradek.cli.consume import millis_of
from odradek.cli.talking import as_json, bootstrap, print_json, print_rows, talk
from odradek.client import admin
from odradek.client.cluster import Cluster
from odradek.client.member import committed
from odradek.client.reader import EARLIEST, LATEST, offsets_at
from odradek.model.ids import TopicPartition
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.wire.messages.describe_groups import DescribedGroup
from odradek.wire.prefixed import read_prefixed

COLUMNS = ("topic", "partition", "committed", "end", "lag", "member", "client", "host")


@click.group()
def command() -> None:
    """Consumer groups: show, move, forget."""


@command.command(name="list")
@as_json
@bootstrap
def list_groups(*, bootstrap: str, as_json: bool) -> None:
    """List the groups."""
    groups = talk(bootstrap, admin.list_groups)
    rows = [(group.group_id, group.group_state, group.protocol_type) for group in groups]
    print_rows(("group", "state", "protocol"), rows, as_json=as_json)


@command.command()
@click.argument("group")
@as_json
@bootstrap
def describe(*, bootstrap: str, group: str, as_json: bool) -> None:
    """Show who is in a group, where it is, and how far behind."""

    async def ask(cluster: Cluster) -> tuple[DescribedGroup, list[tuple[object, ...]]]:
        described = await admin.describe_group(cluster, group)
        owners = _owners(described)
        positions = await committed(cluster, group)
        partitions = sorted({*positions, *owners})
        ends = await offsets_at(cluster, partitions, LATEST)
        rows = []
        for it in partitions:
            offset = positions.get(it)
            lag = None if offset is None else ends[it] - offset
            rows.append((*it, offset, ends[it], lag, *owners.get(it, (None, None, None))))
        return described, rows

    described, rows = talk(bootstrap, ask)
    if as_json:
        partitions = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        state = described.group_state
        print_json({"group": group, "state": state, "partitions": partitions})
        return
    lag = sum(row[4] for row in rows if isinstance(row[4], int))
    members = len(described.members)
    click.echo(f"{group}  {described.group_state}  {members} members  lag {lag}")
    print_rows(COLUMNS, rows)


def _owners(described: DescribedGroup) -> dict[TopicPartition, tuple[str, str, str]]:
    owners = {}
    for member in described.members:
        if described.protocol_type != "consumer" or not member.member_assignment:
            continue
        assignment = read_prefixed(ConsumerProtocolAssignment, member.member_assignment)
        for row in assignment.assigned_partitions:
            for number in row.partitions:
                owner = (member.member_id, member.client_id, member.client_host)
                owners[TopicPartition(row.topic, number)] = owner
    return owners


@command.command(name="reset-offsets")
@click.argument("group")
@click.option("-t", "--topic", "topics", multiple=True, help="By default all it has committed.")
@click.option("--to-earliest", is_flag=True, help="To where the partitions begin.")
@click.option("--to-latest", is_flag=True, help="To where they end.")
@click.option("--to-offset", type=int, help="To this offset.")
@click.option("--to-datetime", help="To the first record of this time or later.")
@click.option("--shift-by", type=int, help="So many further, or back.")
@click.option("--dry-run", is_flag=True, help="Only show what would become of it.")
@as_json
@bootstrap
def reset_offsets(  # noqa: PLR0913 - each is an option
    *,
    bootstrap: str,
    group: str,
    topics: tuple[str, ...],
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_datetime: str | None,
    shift_by: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Move a group that has no members."""
    chosen = [
        to_earliest,
        to_latest,
        to_offset is not None,
        bool(to_datetime),
        shift_by is not None,
    ]
    if sum(map(bool, chosen)) != 1:
        raise click.UsageError("say exactly one of --to-... and --shift-by")

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        before = await committed(cluster, group)
        partitions = [it for it in sorted(before) if not topics or it.topic in topics]
        for name in topics:
            partitions += await admin.partitions_of(cluster, name)
        partitions = sorted(set(partitions))
        starts = await offsets_at(cluster, partitions, EARLIEST)
        ends = await offsets_at(cluster, partitions, LATEST)
        wanted: Mapping[TopicPartition, int] = starts if to_earliest else ends
        if to_offset is not None:
            wanted = dict.fromkeys(partitions, to_offset)
        elif shift_by is not None:
            wanted = {it: before.get(it, starts[it]) + shift_by for it in partitions}
        elif to_datetime:
            found = await offsets_at(cluster, partitions, millis_of(to_datetime))
            wanted = {it: ends[it] if offset < 0 else offset for it, offset in found.items()}
        after = {it: min(max(wanted[it], starts[it]), ends[it]) for it in partitions}
        if not dry_run:
            await admin.reset_offsets(cluster, group, after)
        return [(*it, before.get(it), after[it]) for it in partitions]

    rows = talk(bootstrap, ask)
    print_rows(("topic", "partition", "before", "after"), rows, as_json=as_json)


@command.command()
@click.argument("groups", nargs=-1, required=True)
@bootstrap
def delete(*, bootstrap: str, groups: tuple[str, ...]) -> None:
    """Forget groups that have no members."""
    for group in groups:
        talk(bootstrap, lambda cluster, name=group: admin.delete_group(cluster, name))  # type: ignore[misc]
        click.echo(f"group {group} is forgotten")


@command.command(name="delete-offsets")
@click.argument("group")
@click.argument("topic")
@bootstrap
def delete_offsets(*, bootstrap: str, group: str, topic: str) -> None:
    """Forget where a group is in a topic."""

    async def ask(cluster: Cluster) -> None:
        partitions = await admin.partitions_of(cluster, topic)
        await admin.delete_offsets(cluster, group, partitions)

    talk(bootstrap, ask)
    click.echo(f"group {group} has never been in {topic}")
