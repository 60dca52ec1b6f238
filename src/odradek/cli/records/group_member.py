"""`odradek group remove-member`: a member that went without a word makes room at once.

A static member is waited for until its session is over, which clients may set to half an hour: its
partitions are not read meanwhile. A member that lives comes back by itself, so nothing is lost.
"""

import click

from odradek.cli.reaching.naming import GROUP, groups_named
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import show_outcomes
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import DestroyingVerb
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_groups import DescribedGroupMember

GONE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""It left, or a new process has taken its place."""


@click.command("remove-member", cls=DestroyingVerb)
@click.argument("group", type=GROUP)
@click.argument("member")
def remove_member(*, group: str, member: str) -> None:
    """Remove a member from a group: others read its partitions at once.

    MEMBER is its id, which `odradek group members` shows, or the group.instance.id of a static
    member. For one whose process is gone: a static member is waited for until its
    session.timeout.ms is over. One that lives joins again by itself.
    """
    found = talk(lambda cluster: find(cluster, group, member))
    who = f"{found.member_id} (client {found.client_id}, host {found.client_host})"
    confirm(f"remove {who} from group {group}")
    talk(lambda cluster: remove(cluster, group, found))
    said = {"group": group, "member": found.member_id, "removed": True}
    show_outcomes([(f"group {group}: {found.member_id} removed", said)])


async def find(cluster: Cluster, group: str, name: str) -> DescribedGroupMember:
    """The member that has this id, or is the static one of this name."""
    await groups_named(cluster, [group])
    described = await admin.describe_group(cluster, group)
    members = {it.group_instance_id: it for it in described.members if it.group_instance_id}
    members |= {it.member_id: it for it in described.members}
    if name not in members:
        raise Failed(f"group {group} has no member {name!r}", f"odradek group members {group}")
    return members[name]


async def remove(cluster: Cluster, group: str, member: DescribedGroupMember) -> None:
    """Just this one: not who has taken its place since it was looked at."""
    try:
        await admin.remove_member(cluster, group, member.member_id, member.group_instance_id)
    except Refused as error:
        if error.code not in GONE:
            raise
        text = f"{member.member_id} has left group {group}, or another process has its place"
        raise Failed(text, f"odradek group members {group}") from None
