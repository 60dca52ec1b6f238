"""No checksum covers base offset and leader epoch: a batch with a wrong one is found anyway."""

import pytest

from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.spoilt import a_follower_is_sent_what_is_spoilt, bytes_of, spoil

VALUES = [str(number) for number in range(6)]
OFFSET_ENDS, EPOCH_ENDS = 7, 15
"""The last byte of each, in a batch."""


@pytest.mark.parametrize("at", [OFFSET_ENDS, OFFSET_ENDS - 4, EPOCH_ENDS])
def test_a_follower_that_is_sent_a_misplaced_batch_asks_again_and_the_leader_resigns(
    t: ClusterScenario, at: int
) -> None:
    """It was in the page cache and went out; the follower refuses it, and a job looks."""
    a_follower_is_sent_what_is_spoilt(t, VALUES, 3, at=at)


@pytest.mark.usefixtures("_nothing_is_cached")
@pytest.mark.parametrize("at", [OFFSET_ENDS, OFFSET_ENDS - 4, EPOCH_ENDS])
def test_a_misplaced_batch_that_is_read_from_the_disk_is_not_served(
    t: ClusterScenario, at: int
) -> None:
    """A consumer would take its records for others, and go on behind what it has not read."""
    shop = t.client("shop")
    shop.make("orders")
    for value in VALUES:
        shop.produce("orders", value)
    leader = t.leader("orders")
    spoil(t, leader, 3, at=at)
    assert shop.read("orders") == VALUES
    assert t.leader("orders") != leader
    shop.produce("orders", "more")
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    assert bytes_of(t, leader) == bytes_of(t, t.leader("orders"))
