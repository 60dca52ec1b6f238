"""A reassignment that leaves room for clients: as fast as the operator wants, and no faster."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.sim.cluster_scenario import ClusterScenario, staged

RATE = 50_000  # bytes in a second
BATCHES, BATCH_BYTES = 20, 50_000
FINE = {
    "replica.fetch.max.bytes": str(BATCH_BYTES)
}  # a fetch is never cut: it is what goes too far
SECONDS = BATCHES * BATCH_BYTES / RATE


@pytest.mark.parametrize("side", ["leader", "follower"])
@staged(brokers=4, settings=FINE)
def test_a_throttled_reassignment_takes_its_time(t: ClusterScenario, side: str) -> None:
    """Either side alone bounds it; producers with acks=all are not held back meanwhile."""
    operator = t.operator()
    operator.places("orders", (1, 2, 3))
    for _ in range(BATCHES):
        operator.produce("orders", "x" * BATCH_BYTES)
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
    operator = t.operator()
    operator.places("orders", (1, 2, 3))
    for _ in range(BATCHES):
        operator.produce("orders", "x" * BATCH_BYTES)
    rate = "follower.replication.throttled.rate"
    operator.sets_brokers({rate: "1"})
    operator.sets("orders", follower_replication_throttled_replicas="*")
    operator.moves("orders", 1, 2, 4)
    t.run(60)
    assert operator.ongoing()
    operator.sets_brokers({}, delete=(rate,))
    t.run(5)
    assert not operator.ongoing()
