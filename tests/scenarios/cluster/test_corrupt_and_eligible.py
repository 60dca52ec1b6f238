"""A leader with a corrupt batch gives way to those who are eligible, too: they have all of it.

Who else may be doing something at that moment: the controller, who may name nobody eligible any
more, may be the same broker, or may lose the one that it has chosen.
"""

import pytest

from odradek.model.errors import ErrorCode
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.broker_machine import name_of
from tests.scenarios.cluster.placed import move, other_than
from tests.scenarios.cluster.spoilt import bytes_of, spoil
from tests.scenarios.cluster.test_corrupt_batches import fetched

pytestmark = pytest.mark.usefixtures("_nothing_is_cached")

CALM = {"auto.leader.rebalance.enable": "false"}


def apart(t: ClusterScenario, *, is_controller: bool = False) -> tuple[int, int]:
    """A leader alone in its ISR, and its follower: that lives, and its fetches do not arrive."""
    operator = t.operator()
    operator.places("orders", (1, 2), min_insync_replicas="2")
    for value in ("a", "b", "c"):
        operator.produce("orders", value)
    t.run(seconds=1)
    leader = t.leader("orders")
    follower = other_than(t, leader, 3)
    move(t, leader if is_controller else 3)
    t.cut(follower, leader)
    operator.produce("orders", "x", acks=1)
    t.await_isr("orders", leader)
    assert t.state("orders").eligible == (follower,)
    return leader, follower


@staged(settings=CALM)
def test_a_corrupt_leader_that_is_alone_gives_way_to_one_that_is_eligible(
    t: ClusterScenario,
) -> None:
    """It is read there; once they hear each other again, the former leader is mended."""
    old, other = apart(t)
    spoil(t, old, 1)
    assert t.client("reader").read("orders") == ["a", "b", "c"]
    assert t.leader("orders") == other
    t.heal()
    await_same(t)


@staged(settings=CALM)
def test_a_corrupt_leader_that_is_the_controller_gives_way_as_well(t: ClusterScenario) -> None:
    """The other one hears of it as soon as it hears anything."""
    old, other = apart(t, is_controller=True)
    spoil(t, old, 1)
    reader = t.client("reader")
    reading = reader.begins(reader.reading("orders"))
    t.wait_until(lambda: t.state("orders").leader == other, "the other shall lead")
    t.heal()
    assert [value for _, value in reader.ends(reading)] == ["a", "b", "c"]
    await_same(t)


@staged(settings=CALM)
def test_what_only_a_corrupt_leader_has_is_waited_for_where_the_others_fetch(
    t: ClusterScenario,
) -> None:
    """One that has come back joins soon, with what was acknowledged by acks=1."""
    operator = t.operator()
    operator.places("orders", (1, 2), min_insync_replicas="2")
    for value in ("a", "b", "c"):
        operator.produce("orders", value)
    t.run(seconds=1)
    old = t.leader("orders")
    other = t.broker(other_than(t, old, 3))
    other.kill()
    t.await_isr("orders", old)
    operator.produce("orders", "x", acks=1)
    spoil(t, old, 1)
    assert fetched(t, old, 1) is ErrorCode.CORRUPT_MESSAGE
    assert t.leader("orders") == old
    other.start()
    t.await_new_leader("orders", old)
    assert operator.read("orders") == ["a", "b", "c", "x"]


@staged(settings=CALM)
def test_a_corrupt_leader_leads_on_where_nobody_is_eligible_any_more(t: ClusterScenario) -> None:
    """The number was lowered, and it had not heard of it; what it has committed since stays."""
    old, _ = apart(t)
    t.cut(3, old)
    t.operator().sets("orders", min_insync_replicas="1")
    t.wait_until(lambda: not t.state("orders").eligible, "nobody is eligible")
    spoil(t, old, 1)
    assert fetched(t, old, 1) is ErrorCode.KAFKA_STORAGE_ERROR
    t.world.wires.mend(name_of(3), name_of(old))
    t.wait_until(lambda: t.state("orders").leader == old and leads(t, old), "it leads again")
    assert fetched(t, old, 1) is ErrorCode.CORRUPT_MESSAGE
    t.heal()
    t.await_new_leader("orders", old)
    assert t.client("last").read("orders") == ["a", "b", "c", "x"]
    await_same(t)


def await_same(t: ClusterScenario) -> None:
    """Until both replicas are in sync, and have the same bytes."""
    t.await_isr("orders", 1, 2)
    t.wait_until(lambda: len({bytes_of(t, each) for each in (1, 2)}) == 1, "it is mended")


def leads(t: ClusterScenario, number: int) -> bool:
    """Whether a broker believes that it leads."""
    broker = t.broker(number).process.broker
    assert broker is not None
    return broker.services_of_this_life.replicas.find_led((b"orders", 0)) is not None


@staged(settings=CALM)
def test_a_corrupt_leader_leads_again_if_those_who_are_eligible_die(t: ClusterScenario) -> None:
    """It has resigned by then; it does not resign again for those whom it does not hear."""
    old, other = apart(t)
    spoil(t, old, 1)
    assert fetched(t, old, 1) is ErrorCode.KAFKA_STORAGE_ERROR
    t.broker(other).kill()
    t.wait_until(lambda: leads(t, old), "it leads again")
    assert fetched(t, old, 1) is ErrorCode.CORRUPT_MESSAGE
    t.heal()
    t.broker(other).start()
    t.await_new_leader("orders", old)
    assert t.client("last").read("orders") == ["a", "b", "c", "x"]


@staged(settings=CALM)
def test_two_that_are_corrupt_and_apart_do_not_give_way_to_each_other_for_ever(
    t: ClusterScenario,
) -> None:
    """Each does so once; the batch is lost, and only that."""
    old, other = apart(t)
    spoil(t, old, 1)
    spoil(t, other, 1)
    t.cut(old, other)
    assert fetched(t, old, 1) is ErrorCode.KAFKA_STORAGE_ERROR
    for number in (other, old, other):
        t.run(seconds=10)
        fetched(t, number, 1)
    before = t.state("orders")
    t.run(seconds=60)
    assert t.state("orders") == before
    assert before.leader is not None
    assert before.leader_epoch == 2
    assert fetched(t, before.leader, 1) is ErrorCode.CORRUPT_MESSAGE
