"""Throttles whose verb died before their moves were over: who ends the moves takes them away."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.cli.brokers.cluster_health import THROTTLE_LEFT, sick
from odradek.cli.kafka import reassignment_throttle
from odradek.cli.replicas import moving, throttle
from odradek.cli.replicas.moving import How, Placement, bounded, cancel
from odradek.cli.replicas.throttle import REPLICAS, Assignments, limit, rates
from odradek.client.admin import admin
from odradek.client.admin.placement import Ongoing
from odradek.client.cluster import Cluster
from odradek.model.ids import TopicPartition
from tests.unit.broker.stage import Stage
from tests.unit.cli.test_moving import talk

ORDERS = TopicPartition("orders", 0)
PAYMENTS = TopicPartition("payments", 0)


Limit = Callable[[Cluster, Assignments, Assignments, int], Coroutine[Any, Any, None]]


async def by_script(cluster: Cluster, whole: Assignments, _: Assignments, rate: int) -> None:
    """What Kafka's writes; it asks the brokers of new replicas, too, and here is only one."""
    await reassignment_throttle.limit(cluster, whole, whole, rate)


async def make(cluster: Cluster, limited: Limit = limit) -> None:
    """Two topics, of which a verb that died has bounded what the first copies."""
    for it in (ORDERS, PAYMENTS):
        await admin.create_topic(cluster, admin.NewTopic(it.topic, 1, 1))
    await limited(cluster, {ORDERS: (1,)}, {ORDERS: (1, 2)}, 1_000)


async def named(cluster: Cluster) -> list[str]:
    """Topics that name throttled replicas."""
    return sorted(await throttle.named_replicas(cluster))


def test_the_last_move_takes_what_is_named_of_earlier_ones_too() -> None:
    """Their own verb died; a list that a person wrote for all replicas is no leftover of a verb."""

    async def conversation(cluster: Cluster) -> Any:
        await make(cluster)
        await admin.alter_list(cluster, admin.TOPIC, "payments", {REPLICAS[0]: "*"})
        assert await named(cluster) == ["orders", "payments"]
        await throttle.lift(cluster, [PAYMENTS])
        rows = await admin.describe_settings(cluster, admin.TOPIC, "payments")
        by_hand = [it.value for it in rows if it.name == REPLICAS[0]]
        return await named(cluster), (await rates(cluster)).moves, by_hand

    with Stage() as stage:
        assert talk(stage, conversation) == (["payments"], {}, ["*"])


@pytest.mark.parametrize("limited", [limit, by_script])
def test_a_cancel_takes_the_throttle_of_what_it_cancels(
    monkeypatch: pytest.MonkeyPatch, limited: Limit
) -> None:
    """Whoever set it may not live any more, or was Kafka's script; a trial run touches nothing."""
    monkeypatch.setattr(moving, "former_of", lambda _: {})  # no files in this world
    placement = Placement({ORDERS: (1, 2)}, {ORDERS: (1,)}, {ORDERS: Ongoing((1, 2), (2,), ())})

    async def conversation(cluster: Cluster) -> Any:
        await make(cluster, limited)
        await cancel(cluster, placement, dry_run=True)
        before = await named(cluster), (await rates(cluster)).moves
        await cancel(cluster, placement, dry_run=False)
        return before, (await named(cluster), (await rates(cluster)).moves)

    with Stage() as stage:
        assert talk(stage, conversation) == ((["orders"], {1: 1_000}), ([], {}))


def test_health_names_the_topics_that_still_name_throttled_replicas() -> None:
    """Also where no broker has a rate any more: the next one that is set would hold for them."""

    async def conversation(cluster: Cluster) -> Any:
        await make(cluster)
        both = await sick(cluster)
        await admin.alter_settings(cluster, admin.BROKER, "1", to={}, delete=throttle.RATES)
        one = await sick(cluster)
        await throttle.lift_all(cluster)
        return [
            [it.cause for it in found if it.problem == THROTTLE_LEFT]
            for found in (both, one, await sick(cluster))
        ]

    with Stage() as stage:
        both, one, none = talk(stage, conversation)
    then = "and nothing is moved: odradek partition throttle none"
    lists = "throttled replicas are named by topic orders"
    assert both == [f"a throttle of 1000 B/s is set on broker 1, {lists}, {then}"]
    assert one == [f"{lists}, {then}"]
    assert none == []


def test_who_sees_no_move_yet_cannot_take_the_throttle_of_one_that_begins() -> None:
    """It is set before the move begins, and looked at again once that has begun."""

    async def conversation(cluster: Cluster) -> Any:
        await make(cluster)
        how, to = How(rate=1_000, wait=False), {ORDERS: (1, 2)}
        async with bounded(cluster, {ORDERS: (1,)}, to, how) as bound:
            await throttle.lift(cluster, [PAYMENTS])  # the end of another verb
            await bound.renew()
            bound.goes_on = True
        return await named(cluster), (await rates(cluster)).moves

    with Stage() as stage:
        assert talk(stage, conversation) == (["orders"], {1: 1_000})


def test_the_next_move_names_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """It would be slow, and nothing said why."""

    async def conversation(cluster: Cluster) -> None:
        await make(cluster, by_script)
        async with bounded(cluster, {PAYMENTS: (1,)}, {PAYMENTS: (1, 2)}, How()):
            pass

    with Stage() as stage:
        talk(stage, conversation)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("odradek: a throttle of 1000 B/s is set on broker 1")
    assert first.endswith(", and bounds this move, too")
    assert second == "  next: odradek partition throttle none takes it away"
