"""The state of a partition is emptied or spoiled by hand, and restored: as if it had not been."""

import pytest

from odradek.cli.brokers import cluster_health
from odradek.cli.records.leaderless import offsets_or_why
from odradek.cli.records.topic_description import Description, described
from odradek.cli.words.failing import Failed
from odradek.client.records.offsets import EARLIEST
from odradek.controller.health import AS_KNOWN
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.test_znodes import move_away

ORDERS = TopicPartition("orders", 0)
STATE = PartitionStateZnode.path(ORDERS)
SPOILED = [b"", b'{"leader":1}']
CAUSE = f"{STATE} in ZooKeeper cannot be read"
AT_ONCE_MS = 1_000
SOON_MS = 4_000
TRIED_AGAIN_SECONDS = 25  # twice what a controller waits, and a session's end


def follower(t: ClusterScenario) -> int:
    """One that does not decide: the leader reaches the controller."""
    return next(it for it in t.followers("orders") if it != t.controller())


def spoil(t: ClusterScenario, spoiled: bytes) -> bytes:
    """What it said before."""
    said = t.data(STATE)
    assert said is not None
    t.put(STATE, spoiled)
    return said


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_state_that_is_restored_before_anybody_met_it_goes_on(
    t: ClusterScenario, spoiled: bytes
) -> None:
    """It has another version: what the leader proposes next is decided over what stands there."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    leader, away = t.leader("orders"), follower(t)
    t.put(STATE, spoil(t, spoiled))
    t.cut(away, leader)
    producing = shop.begins(shop.producing("orders", "b"))
    t.await_isr("orders", *({1, 2, 3} - {away}))
    t.heal()
    assert shop.ends(producing) == 1
    t.await_isr("orders", 1, 2, 3)
    t.broker(leader).kill()
    shop.produce("orders", "c")
    assert shop.read("orders") == ["a", "b", "c"]


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_leader_proposes_again_once_a_spoiled_state_is_restored(
    t: ClusterScenario, spoiled: bytes
) -> None:
    """Meanwhile nothing is committed that a replica lacks which may be in sync."""
    shop = t.client("shop")
    shop.make("orders")
    leader, away = t.leader("orders"), follower(t)
    said = spoil(t, spoiled)
    t.cut(away, leader)
    producing = shop.begins(shop.producing("orders", "a"))
    t.run(seconds=15)
    assert not producing.done()
    t.put(STATE, said)
    t.await_isr("orders", *({1, 2, 3} - {away}))
    t.heal()
    assert shop.ends(producing) == 0
    t.await_isr("orders", 1, 2, 3)


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_state_that_is_met_spoiled_is_one_cause_until_it_is_restored(
    t: ClusterScenario, spoiled: bytes
) -> None:
    """That it can neither be read nor written is one thing, with one command that mends it."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    leader = t.leader("orders")
    said = spoil(t, spoiled)
    t.broker(leader).kill()
    t.run(seconds=TRIED_AGAIN_SECONDS)
    t.broker(leader).start()
    t.run(seconds=TRIED_AGAIN_SECONDS)
    operator = t.client("an operator")
    (found,) = operator.does(cluster_health.decided_problems(operator.cluster))
    assert found.cause.startswith(CAUSE)
    assert "odradek zookeeper restore-state" in found.cause
    assert found.problem == AS_KNOWN
    t.put(STATE, said)
    t.run(seconds=TRIED_AGAIN_SECONDS)
    operator = t.client("another operator")
    assert not operator.does(cluster_health.decided_problems(operator.cluster))
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]


def led(t: ClusterScenario, by: int) -> dict[int, bool]:
    """The partitions of the topic as one broker tells a client, and whether they have a leader."""
    client = t.operator(by)
    (topic,) = client.does(client.cluster.refresh(["orders"])).topics
    return {it.partition_index: it.leader_id >= 0 for it in topic.partitions}


def refusal(t: ClusterScenario, by: int, wanted: list[TopicPartition]) -> str:
    """What somebody hears who wants to read these; it is told before most would ask."""
    operator = t.operator(by)
    clock = operator.cluster.world.clock
    begun = clock.monotonic()
    with pytest.raises(Failed) as told:
        operator.does(offsets_or_why(operator.cluster, wanted, EARLIEST))
    assert clock.monotonic() - begun < SOON_MS
    return str(told.value)


def describes(t: ClusterScenario, by: int) -> tuple[Description, str]:
    """As one broker alone has it, and why there is no leader; it is told at once."""
    operator = t.operator(by)
    clock = operator.cluster.world.clock
    begun = clock.monotonic()
    (found,), (why,) = operator.does(described(operator.cluster, ("orders",), internal=False))
    assert clock.monotonic() - begun < AT_ONCE_MS
    return found, why.cause


@pytest.mark.parametrize("count", [1, 2])
def test_a_partition_whose_leader_came_back_to_no_state_is_described_at_once(
    t: ClusterScenario, count: int
) -> None:
    """It does not know the partition any more, and the others think that it leads."""
    shop = t.client("shop")
    shop.make("orders", count)
    leader = t.leader("orders")
    said = spoil(t, b"")
    move_away(t)
    t.run(seconds=2)
    t.broker(leader).kill()
    t.run(seconds=TRIED_AGAIN_SECONDS)
    t.broker(leader).start()
    t.run(seconds=TRIED_AGAIN_SECONDS)
    for broker in (1, 2, 3):
        assert led(t, broker) == dict(enumerate([False, True][:count]))
        told = refusal(t, broker, [TopicPartition("orders", it) for it in range(count)])
        assert told.startswith(f"no leader: 1 (orders: 0): {CAUSE}")
        found, cause = describes(t, broker)
        assert [it["leader"] is None for it in found.partitions] == [True, False][:count]
        assert cause.startswith(CAUSE)
    t.put(STATE, said)
    shop.produce("orders", "a")
