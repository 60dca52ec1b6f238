"""A reassignment that leaves room for clients: as fast as the operator wants, and no faster."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator
from tests.scenarios.cluster.test_preferred_controller import metric

RATE = 50_000  # bytes in a second
BATCHES, BATCH_BYTES = 20, 50_000
FINE = {
    "replica.fetch.max.bytes": str(BATCH_BYTES)
}  # a fetch is never cut: it is what goes too far
TURNS = 12  # partitions that are copied at once
SECONDS = BATCHES * BATCH_BYTES / RATE


def filled(t: ClusterScenario) -> Operator:
    """Who has made a topic with something to copy, on brokers 1 to 3."""
    operator = t.operator()
    operator.places("orders", (1, 2, 3))
    for _ in range(BATCHES):
        operator.produce("orders", "x" * BATCH_BYTES)
    return operator


@pytest.mark.parametrize("side", ["leader", "follower"])
@staged(brokers=4, settings=FINE)
def test_a_throttled_reassignment_takes_its_time(t: ClusterScenario, side: str) -> None:
    """Either side alone bounds it; producers with acks=all are not held back meanwhile."""
    operator = filled(t)
    operator.sets_brokers({f"{side}.replication.throttled.rate": str(RATE)})
    whose = {"leader": "0:1,0:2,0:3", "follower": "0:4"}[side]
    operator.sets("orders", **{f"{side}_replication_throttled_replicas": whose})
    began = t.world.loop.time()
    assert operator.moves("orders", 1, 2, 4) is ErrorCode.NONE
    t.run(SECONDS / 2)
    assert operator.ongoing()
    before = t.world.loop.time()
    operator.produce("orders", "y" * BATCH_BYTES)
    assert t.world.loop.time() - before < 1
    t.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    took = t.world.loop.time() - began
    assert SECONDS - 2 < took < SECONDS * 1.5


@staged(brokers=4, settings=FINE)
def test_a_throttle_that_is_taken_away_holds_nobody_any_more(t: ClusterScenario) -> None:
    """Within a second: nobody sleeps by the rate that was."""
    operator = filled(t)
    rate = "follower.replication.throttled.rate"
    operator.sets_brokers({rate: "1"})
    operator.sets("orders", follower_replication_throttled_replicas="*")
    operator.moves("orders", 1, 2, 4)
    t.run(60)
    assert operator.ongoing()
    operator.sets_brokers({}, delete=(rate,))
    t.run(5)
    assert not operator.ongoing()


def stands(t: ClusterScenario, kind: str, brokers: tuple[int, ...] = (1, 2, 3, 4)) -> float:
    """The seconds that these brokers tell of a copy of this kind."""
    name = f'odradek_move_stands_seconds{{kind="{kind}"}}'
    return max(metric(t, number, name) for number in brokers)


@staged(brokers=4, settings=FINE)
def test_a_copy_that_stands_is_told_of_and_one_that_goes_on_is_not(t: ClusterScenario) -> None:
    """It is the throttle that holds it up here; a broker that is gone is told of otherwise."""
    operator = filled(t)
    rate = "follower.replication.throttled.rate"
    operator.sets("orders", follower_replication_throttled_replicas="*")
    operator.sets_brokers({rate: str(RATE)})
    operator.moves("orders", 1, 2, 4)
    t.run(SECONDS / 2)
    assert operator.ongoing()
    assert stands(t, "reassignment") < 5
    operator.sets_brokers({rate: "1"})
    t.run(400)
    assert operator.ongoing()
    assert stands(t, "reassignment") > 300
    assert stands(t, "log dir") == 0
    t.broker(4).kill()
    t.run(60)
    assert stands(t, "reassignment", (1, 2, 3)) == 0


@staged(brokers=4)
def test_a_copy_within_a_low_throttle_goes_on_all_the_time(t: ClusterScenario) -> None:
    """A fetch brings what the rate lets through in a second: one megabyte would be two minutes."""
    operator = filled(t)
    for _ in range(BATCHES):
        operator.produce("orders", "x" * BATCH_BYTES)
    operator.sets("orders", follower_replication_throttled_replicas="*")
    operator.sets_brokers({"follower.replication.throttled.rate": str(RATE // 5)})
    operator.moves("orders", 1, 2, 4)
    for _ in range(8):
        t.run(10)
        assert operator.ongoing()
        assert stands(t, "reassignment") < 2 * 5 * BATCH_BYTES / RATE


@staged(brokers=4, settings=FINE)
def test_a_copy_that_waits_for_its_turn_within_a_throttle_does_not_stand(
    t: ClusterScenario,
) -> None:
    """At this rate each partition gets a batch in two minutes, and all go on."""
    operator = t.operator()
    operator.places("orders", *(((1, 2, 3),) * TURNS))
    for partition in range(TURNS):
        for _ in range(5):
            operator.produce("orders", "x" * BATCH_BYTES, partition=partition)
    for side in ("leader", "follower"):
        operator.sets_brokers({f"{side}.replication.throttled.rate": str(RATE // 10)})
        operator.sets("orders", **{f"{side}_replication_throttled_replicas": "*"})
    for partition in range(TURNS):
        assert operator.moves("orders", 1, 2, 4, partition=partition) is ErrorCode.NONE
    for _ in range(10):
        t.run(20)
        assert stands(t, "reassignment") < 60
    assert operator.ongoing()


@staged(brokers=4)
def test_a_copy_between_disks_stands_until_its_throttle_is_taken_away(t: ClusterScenario) -> None:
    """Then it goes on within a second: nobody sleeps by the rate that was."""
    operator = filled(t)
    rate = "replica.alter.log.dirs.io.max.bytes.per.second"
    operator.sets_brokers({rate: "1"})
    broker = t.broker(1)
    disk = broker.other_disk("orders")
    assert operator.move(1, "orders", broker.path_of(disk)) is ErrorCode.NONE
    t.run(400)
    assert broker.disk_of("orders") != disk
    assert stands(t, "log dir") > 300
    assert stands(t, "reassignment") == 0
    operator.sets_brokers({}, delete=(rate,))
    t.run(5)
    assert broker.disk_of("orders") == disk
    assert stands(t, "log dir") == 0


@staged(brokers=1)
def test_small_replicas_are_throttled_as_one_large_one_would_be(t: ClusterScenario) -> None:
    """What one has copied at last counts before the next one begins."""
    operator = t.operator()
    count = 2 * BATCHES
    operator.places("orders", *[(1,)] * count, min_insync_replicas="1")
    for partition in range(count):
        operator.produce("orders", "x" * BATCH_BYTES, partition=partition)
    broker = t.broker(1)
    disk = broker.other_disk("orders")
    going = [it for it in range(count) if broker.disk_of("orders", it) != disk]
    operator.sets_brokers({"replica.alter.log.dirs.io.max.bytes.per.second": str(RATE)})
    began = t.world.loop.time()
    for partition in going:
        operator.move(1, "orders", broker.path_of(disk), partition)
    there = lambda it: broker.disk_of("orders", it) == disk  # noqa: E731 - of a partition
    t.wait_until(lambda: all(map(there, going)), "all are there")
    took = t.world.loop.time() - began
    assert took > (len(going) - 1) * BATCH_BYTES / RATE
