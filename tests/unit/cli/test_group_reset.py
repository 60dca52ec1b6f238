"""A group whose offsets are moved, and a member that joins at that moment."""

from typing import Any

import pytest

from odradek.cli.records.group_reset import Target, reset
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.coordinators import GROUP
from odradek.client.records.member import Member, committed
from odradek.model.ids import TopicPartition
from odradek.wire.messages.offset_commit import OffsetCommitRequest
from odradek.wire.schema import Request
from tests.unit.broker.stage import PORT, Stage


class Overtaken(Cluster):
    """Between the plan and its commit somebody joins the group."""

    member: Member | None = None

    async def ask_coordinator(
        self, name: str, request: Request, kind: int = GROUP, **how: Any
    ) -> Any:
        """As always."""
        if isinstance(request, OffsetCommitRequest) and self.member is None:
            other = Cluster(self.world, [("broker", PORT)])
            self.member = Member(other, name, ["orders"])
            await self.member.join()
            other.close()
        return await super().ask_coordinator(name, request, kind, **how)


def test_a_member_that_joins_keeps_its_offsets() -> None:
    """It has begun to read from where the group was: the reset is refused, and changes nothing."""
    where = TopicPartition("orders", 0)

    async def conversation(world: ClientDeps) -> Any:
        first = Cluster(world, [("broker", PORT)])
        await admin.create_topic(first, admin.NewTopic("orders", 1, 1))
        await admin.reset_offsets(first, "shop", {where: 0})
        late = Overtaken(world, [("broker", PORT)])
        with pytest.raises(Failed, match="group shop has members") as refused:
            await reset(late, "shop", ((), Target("to_offset", 5)), execute=True)
        found = await committed(first, "shop")
        late.close()
        first.close()
        return refused.value.next_step, found

    with Stage() as stage:
        machine = stage.clients
        world = ClientDeps(machine.network, machine.clock)
        told = stage.world.ask("clients", conversation(world), seconds=120)
    assert told == ("stop them first; odradek group members shop", {where: 0})
