"""`kafka-consumer-groups`: groups listed, described, moved and deleted."""

from pathlib import Path
from typing import Any

import click

from odradek.cli.kafka.script import Misused, Script, ask, the_one, told
from odradek.cli.reaching.naming import groups_named
from odradek.cli.records.group import Position, owners_of, positions
from odradek.cli.records.group_reset import WAYS, Target, reset
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.coordinators import COORDINATOR_VERSION, find_coordinator
from odradek.client.records.member import committed
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.describe_groups import DescribedGroup

NO_ACTION = "WARN: No action will be performed as the --execute option is missing."


@click.command("kafka-consumer-groups", cls=Script)
@click.option("--list", "list_", is_flag=True)
@click.option("--describe", is_flag=True)
@click.option("--reset-offsets", is_flag=True)
@click.option("--delete", is_flag=True)
@click.option("--delete-offsets", is_flag=True)
@click.option("--group", "groups", multiple=True)
@click.option("--all-groups", is_flag=True)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:0,1]")
@click.option("--all-topics", is_flag=True)
@click.option("--members", is_flag=True)
@click.option("--offsets", is_flag=True)
@click.option("--state", is_flag=False, flag_value="", default=None, metavar="[STATE,...]")
@click.option("--verbose", is_flag=True)
@click.option("--to-earliest", is_flag=True)
@click.option("--to-latest", is_flag=True)
@click.option("--to-current", is_flag=True)
@click.option("--to-offset", type=int)
@click.option("--to-datetime")
@click.option("--by-duration")
@click.option("--shift-by", type=int)
@click.option("--from-file", type=click.Path(path_type=Path, exists=True))
@click.option("--execute", is_flag=True)
@click.option("--dry-run", is_flag=True)
@click.option("--export", is_flag=True, help="Print the plan as CSV.")
def command(
    *,
    list_: bool,
    describe: bool,
    reset_offsets: bool,
    delete: bool,
    delete_offsets: bool,
    **said: Any,
) -> None:
    """Kafka's script for consumer groups."""
    action = the_one(
        {
            "list": list_,
            "describe": describe,
            "delete": delete,
            "reset-offsets": reset_offsets,
            "delete-offsets": delete_offsets,
        }
    )
    if action != "list" and not said["groups"] and not said["all_groups"]:
        raise Misused(f"Option [{action}] takes one of these options: --all-groups, --group")
    if action == "reset-offsets":
        _reset(said)
        return
    actions = {
        "list": _list,
        "describe": _describe,
        "delete": _delete,
        "delete-offsets": _delete_offsets,
    }
    try:
        ask(lambda cluster: actions[action](cluster, said))
    except BrokerError as error:
        # Kafka's script tells it on standard output, and ends with 0: ours is no success
        click.echo(f"\nError: {error}")
        raise SystemExit(1) from None


async def _named(cluster: Cluster, said: dict[str, Any]) -> list[str]:
    return await groups_named(cluster, ()) if said["all_groups"] else list(said["groups"])


async def _list(cluster: Cluster, said: dict[str, Any]) -> None:
    groups = await admin.list_groups(cluster)
    if said["state"] is None:
        for group in groups:
            click.echo(group.group_id)
        return
    wanted = {it.strip().lower() for it in said["state"].split(",") if it.strip()}
    rows = [(group.group_id, group.group_state) for group in groups]
    for name, state in [("GROUP", "STATE"), *rows]:
        if state == "STATE" or not wanted or state.lower() in wanted:
            click.echo(f"{name:25} {state:20}")


async def _describe(cluster: Cluster, said: dict[str, Any]) -> None:
    known = set(await groups_named(cluster, ()))
    for name in await _named(cluster, said):
        if name not in known:
            click.echo(f"\nError: Consumer group '{name}' does not exist.")
            raise SystemExit(1)
        group = await admin.describe_group(cluster, name)
        if group.group_state == "Empty":
            click.echo(f"\nConsumer group '{name}' has no active members.", err=True)
        elif group.group_state in {"PreparingRebalance", "CompletingRebalance"}:
            click.echo(f"\nWarning: Consumer group '{name}' is rebalancing.", err=True)
        if said["members"]:
            _print_members(group, verbose=said["verbose"])
        elif said["state"] is not None:
            await _print_state(cluster, group)
        else:
            _print_positions(name, await positions(cluster, group))


def _print_positions(group: str, rows: list[Position]) -> None:
    def text(value: object) -> str:
        return "-" if value is None else str(value)

    group_width = max(15, len(group))
    topic_width = max([15, *(len(row.topic) for row in rows)])
    member_width = max([15, *(len(text(row.member)) for row in rows)])
    host_width = max([15, *(len(text(row.host)) for row in rows)])
    header = ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")
    lines: list[tuple[str, ...]] = [("GROUP", "TOPIC", *header, "CONSUMER-ID", "HOST", "CLIENT-ID")]
    for row in rows:
        numbers = (row.partition, row.committed, row.end, row.lag)
        named = (row.member, row.host, row.client)
        lines.append((group, row.topic, *map(text, numbers), *map(text, named)))
    for name, topic, partition, at, end, lag, member, host, client in lines:
        click.echo(
            f"\n{name:{group_width}} {topic:{topic_width}} {partition:10} {at:15} {end:15} "
            f"{lag:15} {member:{member_width}} {host:{host_width}} {client}",
            nl=False,
        )
    click.echo()


def _print_members(group: DescribedGroup, *, verbose: bool) -> None:
    owners: dict[str, dict[str, list[int]]] = {}
    for partition, (member, *_) in owners_of(group).items():
        owners.setdefault(member, {}).setdefault(partition.topic, []).append(partition.partition)
    rows = [("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")]
    for it in group.members:
        shares = owners.get(it.member_id, {})
        count = sum(map(len, shares.values()))
        text = ", ".join(
            f"{topic}({','.join(map(str, sorted(them)))})" for topic, them in sorted(shares.items())
        )
        rows.append(
            (group.group_id, it.member_id, it.client_host, it.client_id, str(count), text or "-")
        )
    widths = [max(15, *(len(row[i]) for row in rows)) for i in range(5)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        click.echo("\n" + " ".join(cells) + " " + (row[5] if verbose else ""), nl=False)
    click.echo()


async def _print_state(cluster: Cluster, group: DescribedGroup) -> None:
    answer = await (await cluster.any()).ask(find_coordinator(group.group_id), COORDINATOR_VERSION)
    where = f"{answer.host}:{answer.port}  ({answer.node_id})"
    width = max(25, len(where))
    rows = [
        ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
        (group.group_id, where, group.protocol_data, group.group_state, str(len(group.members))),
    ]
    for name, at, strategy, state, count in rows:
        click.echo(f"\n{name:25} {at:{width}} {strategy:20} {state:15} {count}", nl=False)
    click.echo()


def _reset(said: dict[str, Any]) -> None:
    if said["execute"] and said["dry_run"]:
        raise Misused("Option [reset-offsets] only accepts one of --execute and --dry-run")
    ways = [Target(way, said[way]) for way in WAYS if said[way] not in {None, False}]
    if len(ways) != 1:
        raise Misused("Option [reset-offsets] takes exactly one of --to-..., --shift-by, ...")
    if not said["topics"] and not said["all_topics"] and ways[0].way != "from_file":
        raise Misused("One of the reset scopes should be defined: --all-topics, --topic")

    async def run(cluster: Cluster) -> list[tuple[object, ...]]:
        topics = () if said["all_topics"] else said["topics"]
        execute = said["execute"]
        found: list[tuple[object, ...]] = []
        for name in await _named(cluster, said):
            rows = await reset(cluster, name, (topics, ways[0]), execute=execute)
            found += [(name, *row) for row in rows]
        return found

    rows = ask(run)
    if not said["execute"] and not said["dry_run"]:
        click.echo(NO_ACTION, err=True)
    if said["export"]:
        several = len({row[0] for row in rows}) > 1
        for group, topic, partition, _, after in rows:
            click.echo(f"{f'{group},' if several else ''}{topic},{partition},{after}")
        click.echo()
        return
    shown = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")]
    shown += [(str(g), str(t), str(p), str(after)) for g, t, p, _, after in rows]
    for group, topic, partition, after in shown:
        click.echo(f"\n{group:30} {topic:30} {partition:10} {after:15}", nl=False)
    click.echo()


async def _delete(cluster: Cluster, said: dict[str, Any]) -> None:
    failed: list[str] = []
    done: list[str] = []
    for name in await _named(cluster, said):
        try:
            await admin.delete_group(cluster, name)
            done.append(f"'{name}'")
        except BrokerError as error:
            failed.append(f"* Group '{name}' could not be deleted due to: {told(error)}")
    if not failed:
        names = ", ".join(done)
        click.echo(f"Deletion of requested consumer groups ({names}) was successful.")
        return
    click.echo("\nError: Deletion of some consumer groups failed:\n" + "\n".join(failed))
    if done:
        click.echo(f"\nThese consumer groups were deleted successfully: {', '.join(done)}")
    raise SystemExit(1)


async def _delete_offsets(cluster: Cluster, said: dict[str, Any]) -> None:
    if not said["topics"]:
        raise Misused("Option [delete-offsets] takes the following options: --topic, --group")
    for group in said["groups"]:
        partitions = await _partitions(cluster, group, said["topics"])
        names = ",".join(said["topics"])
        try:
            await admin.delete_offsets(cluster, group, partitions)
            status = "Successful"
            click.echo(f"Request succeed for deleting offsets with topic {names} group {group}")
        except BrokerError as error:
            status = f"Error: {ErrorCode(error.code).sentence}"
            click.echo(f"Request failed for deleting offsets with topic {names} group {group}")
        rows = [("TOPIC", "PARTITION", "STATUS")]
        rows += [(it.topic, str(it.partition), status) for it in partitions]
        for topic, partition, state in rows:
            click.echo(f"\n{topic:30} {partition:15} {state:15}", nl=False)
        click.echo()
        if status != "Successful":
            raise SystemExit(1)


async def _partitions(
    cluster: Cluster, group: str, topics: tuple[str, ...]
) -> list[TopicPartition]:
    """Those that are named; of a topic without numbers, those that have been committed."""
    found: list[TopicPartition] = []
    known = await committed(cluster, group)
    for text in topics:
        name, colon, numbers = text.partition(":")
        if colon:
            found += [TopicPartition(name, int(it)) for it in numbers.split(",")]
        else:
            found += sorted(it for it in known if it.topic == name)
    if not found:
        raise Failed(f"group {group} has no committed offsets in {', '.join(topics)}")
    return found
