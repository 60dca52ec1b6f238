"""Limits judge what comes in: what was taken is copied, whatever the limits are by now."""

from collections.abc import Iterator

import pytest

from odradek.model.errors import ErrorCode
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.scenarios.operator import Operator

LARGE = "x" * 200_000


@pytest.fixture
def four() -> Iterator[ClusterScenario]:
    """A cluster with room for moves."""
    with ClusterScenario(seed=1, brokers=4) as scenario:
        yield scenario


@pytest.fixture
def operator(four: ClusterScenario) -> Operator:
    """With a topic whose segments have become smaller than its first batch."""
    operator = four.operator()
    operator.places("orders", (1, 2), min_insync_replicas="1")
    operator.produce("orders", LARGE)
    operator.produce("orders", "b")
    operator.sets("orders", segment_bytes="100000", max_message_bytes="1000")
    four.run(seconds=2)
    return operator


def test_a_batch_above_todays_limits_moves_to_another_broker(
    four: ClusterScenario, operator: Operator
) -> None:
    """The new replica has it, and the leader takes no other like it."""
    assert operator.moves("orders", 3, 4) is ErrorCode.NONE
    four.wait_until(lambda: not operator.ongoing(), "it has moved")
    assert operator.read("orders") == [LARGE, "b"]


def test_a_batch_above_todays_limits_is_copied_to_an_empty_disk(
    four: ClusterScenario, operator: Operator
) -> None:
    """The disk was replaced while the broker was away."""
    follower = four.broker(({1, 2} - {four.leader("orders")}).pop())
    disk = follower.disk_of("orders")
    follower.kill()
    follower.wipe_disk(disk)
    follower.start()
    four.await_isr("orders", 1, 2)
    assert follower.log_end("orders") == 2
    assert operator.problems() == {}


def test_a_batch_above_todays_limits_moves_to_another_disk(
    four: ClusterScenario, operator: Operator
) -> None:
    """A copy within one broker is a copy, too."""
    broker = four.broker(1)
    other = broker.other_disk("orders")
    assert operator.move(1, "orders", broker.path_of(other)) is ErrorCode.NONE
    four.wait_until(lambda: broker.disk_of("orders") == other, "it has moved")
