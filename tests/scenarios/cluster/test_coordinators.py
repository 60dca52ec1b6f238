"""Coordinators of groups: who answers, and until when."""

import pytest

from odradek.client.admin import admin
from odradek.client.coordinators import (
    COORDINATOR_VERSION,
    TRANSACTION,
    find_coordinator,
    read_coordinator,
)
from odradek.client.coordinators import GROUP as GROUP_KIND
from odradek.client.errors import Refused
from odradek.client.records import member
from odradek.client.records.group_offsets import committed_request, read_committed
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.peers.errors import ConnectionGone
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.broker_machine import PORT, name_of
from odradek.sim.stage.clients import Client

ORDERS = TopicPartition("orders", 0)
GROUP = "readers"


async def fetch_from(who: Client, broker: int) -> int | ErrorCode:
    """What one broker says of the group's position, whoever its coordinator may be."""
    connection = await who.cluster.broker(BrokerId(broker))
    try:
        answer = await connection.ask(committed_request(GROUP, None), 8)
        return read_committed(answer)[ORDERS].offset
    except Refused as refusal:
        return refusal.code


async def often(who: Client, broker: int) -> list[int | ErrorCode]:
    """The same, again and again, until it is refused or the connection is gone."""
    found: list[int | ErrorCode] = []
    try:
        while len(found) < 50 and ErrorCode.NOT_COORDINATOR not in found:
            found.append(await fetch_from(who, broker))
    except ConnectionGone:
        pass
    return found


def coordinator_of_group(t: ClusterScenario, shop: Client) -> int:
    """Which broker speaks for the group: it has committed 10."""
    shop.make("orders")
    shop.does(member.commit(shop.cluster, GROUP, {ORDERS: 10}))
    (found,) = [it for it in t.brokers if shop.does(fetch_from(shop, it)) == 10]
    return found


def test_a_coordinator_that_stood_still_answers_nothing_older(t: ClusterScenario) -> None:
    """Another has its place by then, and what that has acknowledged it does not know."""
    shop, others = t.client("shop"), t.client("others")
    old = coordinator_of_group(t, shop)
    late = [t.client(f"late {number}") for number in range(4)]
    for each in late:
        assert each.does(fetch_from(each, old)) == 10
    t.broker(old).machine.pause()
    waiting = [each.begins(often(each, old)) for each in late]  # in the sockets
    t.run(seconds=20)
    others.does(member.commit(others.cluster, GROUP, {ORDERS: 20}))
    t.broker(old).machine.resume()
    asked = [each.ends(begun) for each, begun in zip(late, waiting, strict=True)]
    assert {it for answers in asked for it in answers} <= {20, ErrorCode.NOT_COORDINATOR}
    assert others.committed(GROUP) == {ORDERS: 20}


def test_a_coordinator_goes_on_while_zookeeper_is_away(t: ClusterScenario) -> None:
    """Nobody can be elected in its place, however long it takes."""
    shop = t.client("shop")
    coordinator_of_group(t, shop)
    t.zookeeper.machine.kill()
    t.run(seconds=60)
    shop.does(member.commit(shop.cluster, GROUP, {ORDERS: 30}))
    assert shop.committed(GROUP) == {ORDERS: 30}
    t.zookeeper.start()
    t.run(seconds=30)
    assert shop.committed(GROUP) == {ORDERS: 30}


@pytest.mark.parametrize(
    ("topic", "kind"), [("__consumer_offsets", GROUP_KIND), ("__transaction_state", TRANSACTION)]
)
def test_no_client_is_told_of_a_coordinator_that_has_just_died(
    t: ClusterScenario, topic: str, kind: int
) -> None:
    """The answer waits for the election: told of the dead one, a client rests before it asks again.

    While nobody can elect it comes all the same, after half a second.
    """
    controller = t.controller()
    assert controller is not None
    dying, other = (it for it in t.brokers if it != controller)
    t.operator().places(topic, (dying, other, controller))
    shop = t.client("shop")

    async def coordinator_by(broker: int) -> str:
        connection = await shop.cluster.connection((name_of(broker), PORT))
        answer = await connection.ask(find_coordinator("copier", kind), COORDINATOR_VERSION)
        return read_coordinator(answer)[0]

    assert shop.does(coordinator_by(other)) == name_of(dying)
    t.await_isr(topic, 1, 2, 3)
    t.broker(dying).kill()
    t.world.run(millis=2)
    assert shop.does(coordinator_by(other)) == name_of(other)
    t.await_isr(topic, controller, other)
    t.zookeeper.machine.kill()
    t.broker(other).kill()
    t.world.run(millis=2)
    began = t.world.loop.time()
    assert shop.does(coordinator_by(controller)) == name_of(other)
    assert 0.4 < t.world.loop.time() - began < 0.6  # virtual


def test_a_broker_that_was_given_nothing_lists_no_groups(t: ClusterScenario) -> None:
    """It says so: whoever lists groups asks every broker, and one that is empty is no failure."""
    shop = t.client("shop")
    assert shop.does(admin.list_groups(shop.cluster)) == []
    coordinator_of_group(t, shop)
    assert [it.group_id for it in shop.does(admin.list_groups(shop.cluster))] == [GROUP]
