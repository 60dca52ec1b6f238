"""`odradek group`: consumer groups listed, described, moved and deleted."""

from collections import Counter
from typing import NamedTuple

import click

from odradek.cli.reaching.naming import (
    GROUP,
    TOPIC,
    end_if_unreadable,
    groups_among,
    groups_named,
    groups_told,
    topic_named,
)
from odradek.cli.reaching.talking import talk
from odradek.cli.records import group_member, group_reset
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import is_terminal, print_json, show_outcomes, show_table, tell
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.cli.words.options import options
from odradek.cli.words.states import state_option
from odradek.client.admin import admin
from odradek.client.admin.admin import ListedGroups
from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import committed
from odradek.client.records.offsets import LATEST
from odradek.model.counting import counted
from odradek.model.ids import TopicPartition
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.wire.messages.describe_groups import DescribedGroup
from odradek.wire.prefixed import read_prefixed

POSITIONS = ("topic", "partition", "committed", "end", "lag", "member", "client", "host")
MEMBERS = ("group", "member", "client", "host", "partitions", "assignment")
STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
"""Those that Kafka has; a group of ours has one of the first five."""
CONSUMER = "consumer"
NO_GROUP = "no group is there"


class Position(NamedTuple):
    """One partition of a group; None is what is not known."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    member: str | None
    client: str | None
    host: str | None


@click.group(cls=Noun)
def command() -> None:
    """Consumer groups: list, describe, reset offsets, delete."""


command.add_command(group_reset.reset_offsets)
command.add_command(group_member.remove_member)


@command.command(name="list")
@click.argument("names", nargs=-1, type=GROUP)
@state_option(STATES, "Only groups in this state, such as Empty.")
def list_groups(*, names: tuple[str, ...], states: tuple[str, ...]) -> None:
    """List groups.

    NAMES may hold patterns such as 'billing-*'.
    """
    told = talk(groups_told)
    wanted = set(groups_among(told, names))
    rows = [
        (group.group_id, group.group_state, group.protocol_type)
        for group in told.groups
        if group.group_id in wanted and (not states or group.group_state in states)
    ]
    show_table(("group", "state", "protocol"), rows, "" if told.unreadable else NO_GROUP)
    end_if_unreadable(told.unreadable, names)


@command.command()
@click.argument("names", nargs=-1, type=GROUP)
def describe(*, names: tuple[str, ...]) -> None:
    """Describe groups: committed offsets, lag, members.

    NAMES may hold patterns; without them all groups are described. Lag is what is left to read: the
    partition's end less the committed offset. Where nothing was committed it is unknown.
    """

    async def ask(
        cluster: Cluster,
    ) -> tuple[ListedGroups, list[tuple[DescribedGroup, list[Position]]]]:
        told, found = await groups_told(cluster), []
        for name in groups_among(told, names):
            described = await admin.describe_group(cluster, name)
            found.append((described, await positions(cluster, described)))
        return told, found

    told, found = talk(ask)
    _show_described(found, "" if told.unreadable else NO_GROUP)
    end_if_unreadable(told.unreadable, names)


def _show_described(found: list[tuple[DescribedGroup, list[Position]]], nothing: str) -> None:
    if options().as_json:
        print_json(
            [
                {
                    "group": group.group_id,
                    "state": group.group_state,
                    "assignor": group.protocol_data or None,
                    "members": len(group.members),
                    "partitions": [row._asdict() for row in rows],
                }
                for group, rows in found
            ]
        )
        return
    if not found and nothing:
        click.echo(nothing, err=True)
    if not is_terminal():
        for group, rows in found:
            tell(_summary(group, rows))
        show_table(
            ("group", *POSITIONS), [(it.group_id, *row) for it, rows in found for row in rows]
        )
        return
    for number, (group, rows) in enumerate(found):
        tell(("\n" if number else "") + _summary(group, rows))
        show_table(POSITIONS, rows)


def _summary(group: DescribedGroup, rows: list[Position]) -> str:
    members = counted(len(group.members), "member")
    return f"{group.group_id}  {group.group_state}  {members}  {lag_text(rows)}"


def lag_text(rows: list[Position]) -> str:
    """The sum, and how many partitions it leaves out."""
    known = [row.lag for row in rows if row.lag is not None]
    if not known:
        return "lag unknown"
    without = f" and {counted(len(rows) - len(known), 'partition')} unknown"
    return f"lag {sum(known)}" + (without if len(known) < len(rows) else "")


async def positions(cluster: Cluster, described: DescribedGroup) -> list[Position]:
    """Each partition that the group has committed or is assigned."""
    owners = owners_of(described)
    offsets = await committed(cluster, described.group_id)
    partitions = sorted({*offsets, *owners})
    there = await _that_are_led(cluster, partitions)
    ends = await offsets_at(cluster, there, LATEST)
    rows = []
    for it in partitions:
        offset, end = offsets.get(it), ends.get(it)
        lag = None if offset is None or end is None else end - offset
        rows.append(Position(*it, offset, end, lag, *owners.get(it, (None, None, None))))
    return rows


async def _that_are_led(cluster: Cluster, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """A topic that was deleted, or a partition without a leader, has no end to be told."""
    await cluster.refresh(sorted({it.topic for it in partitions}) if partitions else [])
    led = {
        TopicPartition(name, number)
        for name, topic in cluster.metadata.topics.items()
        for number, row in topic.partitions.items()
        if row.leader >= 0
    }
    return [it for it in partitions if it in led]


def owners_of(described: DescribedGroup) -> dict[TopicPartition, tuple[str, str, str]]:
    """Which member reads a partition."""
    owners = {}
    for member in described.members:
        if described.protocol_type != CONSUMER or not member.member_assignment:
            continue
        assignment = read_prefixed(ConsumerProtocolAssignment, member.member_assignment)
        for row in assignment.assigned_partitions:
            for number in row.partitions:
                owner = (member.member_id, member.client_id, member.client_host)
                owners[TopicPartition(row.topic, number)] = owner
    return owners


@command.command()
@click.argument("names", nargs=-1, type=GROUP)
def members(*, names: tuple[str, ...]) -> None:
    """List the members of groups and the partitions assigned to each."""

    async def ask(cluster: Cluster) -> tuple[ListedGroups, list[tuple[object, ...]]]:
        rows: list[tuple[object, ...]] = []
        told = await groups_told(cluster)
        for name in groups_among(told, names):
            described = await admin.describe_group(cluster, name)
            owners = owners_of(described)
            counts = Counter(member for member, _, _ in owners.values())
            for member in described.members:
                theirs = [str(it) for it in sorted(owners) if owners[it][0] == member.member_id]
                who = (member.member_id, member.client_id, member.client_host)
                rows.append((name, *who, counts[member.member_id], theirs))
        return told, rows

    told, rows = talk(ask)
    show_table(MEMBERS, rows, "" if told.unreadable else "no member is there")
    end_if_unreadable(told.unreadable, names)


@command.command(cls=DestroyingVerb)
@click.argument("names", nargs=-1, required=True, type=GROUP)
def delete(*, names: tuple[str, ...]) -> None:
    """Delete groups that have no members, with their offsets.

    NAMES may hold patterns such as 'test-*'.
    """
    found = talk(lambda cluster: groups_named(cluster, names))
    what = f"delete {counted(len(found), 'group')} with their offsets: {', '.join(found)}"
    confirm(what)

    async def ask(cluster: Cluster) -> None:
        for name in found:
            await admin.delete_group(cluster, name)

    talk(ask)
    show_outcomes([(f"group {it} deleted", {"group": it, "deleted": True}) for it in found])


@command.command(name="delete-offsets", cls=DestroyingVerb)
@click.argument("group", type=GROUP)
@click.argument("topic", type=TOPIC)
def delete_offsets(*, group: str, topic: str) -> None:
    """Delete a group's committed offsets of one topic.

    No member of the group may be subscribed to the topic.
    """

    async def look(cluster: Cluster) -> list[TopicPartition]:
        await groups_named(cluster, [group])
        offsets = await committed(cluster, group)
        found = sorted(it for it in offsets if it.topic == topic)
        if not found:
            await topic_named(cluster, topic)
            raise Failed(
                f"group {group} has no committed offsets of topic {topic}",
                f"odradek group describe {group}",
            )
        return found

    found = talk(look)
    confirm(f"delete the offsets of group {group} for {', '.join(map(str, found))}")
    talk(lambda cluster: admin.delete_offsets(cluster, group, found))
    text = f"group {group}: offsets of {counted(len(found), 'partition')} of {topic} deleted"
    show_outcomes([(text, {"group": group, "topic": topic, "partitions": len(found)})])
