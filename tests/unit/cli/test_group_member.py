"""A member that is removed by hand, and a process that takes its place at that moment."""

from typing import Any

import pytest

from odradek.cli.records.group_member import find, remove
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.records.member import Member
from tests.unit.broker.stage import PORT, Stage


def told(conversation: Any) -> Any:
    """What comes of it, with a topic there."""

    async def begun(deps: ClientDeps) -> Any:
        cluster = Cluster(deps, [("broker", PORT)])
        await admin.create_topic(cluster, admin.NewTopic("orders", 1, 1))
        said = await conversation(cluster)
        cluster.close()
        return said

    with Stage() as stage:
        machine = stage.clients
        deps = ClientDeps(machine.network, machine.clock)
        return stage.world.ask("clients", begun(deps), seconds=120)


def test_who_took_the_place_of_a_member_is_not_removed() -> None:
    """The operator has seen the process before; the one of now lives."""

    async def conversation(cluster: Cluster) -> Any:
        await Member(cluster, "shop", ["orders"], instance_id="till-1").join()
        seen = await find(cluster, "shop", "till-1")
        later = Member(cluster, "shop", ["orders"], instance_id="till-1")
        await later.join()
        with pytest.raises(Failed, match="another process has its place") as refused:
            await remove(cluster, "shop", seen)
        (member,) = (await admin.describe_group(cluster, "shop")).members
        return refused.value.next_step, member.member_id == later.member_id

    assert told(conversation) == ("odradek group members shop", True)


def test_a_member_that_lives_joins_again() -> None:
    """It is told that it is none at its next word, and nothing is lost."""

    async def conversation(cluster: Cluster) -> Any:
        member = Member(cluster, "shop", ["orders"])
        await member.join()
        await remove(cluster, "shop", await find(cluster, "shop", member.member_id))
        gone = (await admin.describe_group(cluster, "shop")).members
        goes_on = await member.still_belongs()
        await member.join()
        (again,) = (await admin.describe_group(cluster, "shop")).members
        return list(gone), goes_on, again.member_id == member.member_id

    assert told(conversation) == ([], False, True)
