"""What is told of a move that is under way, and what plans make of it."""

import pytest

from odradek.cli.brokers.broker import rows_of
from odradek.cli.kafka.topics import Partition
from odradek.cli.reaching.acting_controller import Seen
from odradek.cli.replicas import moving
from odradek.cli.replicas.moving import Placement, partitions_named, placement_of
from odradek.client.admin.reassignment_plan import Room, planned
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator
from tests.scenarios.cluster.test_preferred_controller import metric

ORDERS = TopicPartition("orders", 0)
GROUPS = "__consumer_offsets"


def held_up(t: ClusterScenario) -> tuple[Operator, int, int]:
    """Nothing comes from the leader to the replica that takes the place of another."""
    controller = t.controller()
    assert controller is not None
    leader, other, new = (broker.number for broker in t.others(controller))
    operator = t.operator()
    operator.places("orders", (leader, controller, other))
    operator.produce("orders", "a")
    t.cut(leader, new)
    assert operator.moves("orders", leader, controller, new) is ErrorCode.NONE
    t.wait_until(lambda: len(operator.replicas("orders")) == 4, "clients are told")
    return operator, leader, new


def placed(operator: Operator, *names: str) -> Placement:
    """As the verbs that plan moves have it."""
    found = operator.does(partitions_named(operator.cluster, names))
    placement: Placement = operator.does(placement_of(operator.cluster, found))
    return placement


@staged(brokers=4)
def test_replicas_that_are_being_added_are_no_part_of_a_plan(t: ClusterScenario) -> None:
    """The replication factor is the one that was there, and what is wanted is even already."""
    operator, _, new = held_up(t)
    placement = placed(operator, "orders")
    wanted, whole = placement.wanted[ORDERS], placement.whole[ORDERS]
    assert (len(wanted), new in wanted) == (3, True)
    assert (len(whole), new in whole) == (3, False)
    for brokers in (wanted, t.brokers):  # none of them one more than before
        for factor in (None, 3):
            assert planned(placement.wanted, Room(dict.fromkeys(brokers)), factor) == {
                ORDERS: wanted
            }


@staged(brokers=4)
def test_replicas_that_are_being_added_are_not_missing(t: ClusterScenario) -> None:
    """A long move alerts nobody, and holds up no roll; who falls out meanwhile is missing."""
    operator, leader, new = held_up(t)
    t.run(seconds=10)
    known = operator.does(operator.cluster.refresh(None))
    (row,) = (it.partitions[0] for it in known.topics if it.name == "orders")
    move = operator.ongoing()[ORDERS]
    assert (move.adding, Partition.of(row, move).factor) == ((new,), 3)
    rows = rows_of(known, {ORDERS: move}, Seen(t.controller()))
    assert {broker: missing for broker, *_, missing in rows} == dict.fromkeys(t.brokers, 0)
    under = "kafka_server_replicamanager_underreplicatedpartitions"
    assert (metric(t, leader, under), operator.problems()) == (0, {})
    (other,) = move.removing
    t.broker(other).kill()
    t.wait_until(lambda: len(t.state("orders").isr) == 2, "it is out of the ISR")
    t.run(seconds=1)
    assert metric(t, leader, under) == 1


@staged(brokers=4)
def test_a_cancel_restores_the_order(t: ClusterScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with it the preferred leader, which Kafka's protocol does not remember."""
    operator, leader, new = held_up(t)
    move = operator.ongoing()[ORDERS]
    before = (leader, *sorted({*move.origin} - {leader}, reverse=True))
    monkeypatch.setattr(moving, "former_of", lambda _: {ORDERS: before})  # no files in this world
    assert operator.moves("orders", new, *sorted(before[1:])) is ErrorCode.NONE
    asked = moving.cancel(operator.cluster, placed(operator, "orders"), dry_run=False)
    ((row,), failed) = operator.does(asked)
    assert (row[2], row[-1], failed) == (list(before), "cancelled", False)
    t.wait_until(lambda: operator.replicas("orders") == list(before), "it is as it was")
    assert operator.ongoing() == {}


@staged(brokers=4, settings={"offsets.topic.num.partitions": "1"})
def test_a_plan_without_topics_is_of_internal_ones_too(t: ClusterScenario) -> None:
    """A broker that was emptied by it may be stopped for good."""
    shop = t.client("shop")
    shop.make("orders")
    assert shop.member("shop", "orders").joins()  # its group has a topic from now on
    assert {it.topic for it in placed(t.operator()).wanted} == {"orders", GROUPS}
