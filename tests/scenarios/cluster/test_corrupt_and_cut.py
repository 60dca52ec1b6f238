"""A leader that resigned for a corrupt batch is cut by the next one, and mended meanwhile."""

import pytest

from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.spoilt import bytes_of, spoil

SICK = 3


def elected_without_records(t: ClusterScenario) -> None:
    """It leads in an epoch of which the next leader will have nothing: so that one has it cut."""
    operator = t.operator()
    operator.places("orders", (SICK, 1, 2))
    for value in ("a", "b", "c"):
        operator.produce("orders", value)
    t.await_isr("orders", 1, 2, 3)
    t.broker(SICK).stop()
    t.broker(SICK).start()
    t.await_isr("orders", 1, 2, 3)
    operator.elects("orders")
    t.wait_until(lambda: t.leader("orders") == SICK, "it leads again")
    t.run(seconds=1)


@pytest.mark.usefixtures("_nothing_is_cached")
@pytest.mark.parametrize("jobs", range(3, 10))
def test_one_that_mends_and_one_that_cuts_wait_for_each_other(
    t: ClusterScenario, jobs: int
) -> None:
    """The disk stands still behind so many jobs, each time at another point of the two.

    The corrupt batch is in the active segment, so that a segment is rolled before it is mended.
    """
    elected_without_records(t)
    spoil(t, SICK, 1)
    sick, shop = t.broker(SICK), t.client("shop")
    disk = sick.disk_of("orders")
    sick.process.workers[disk].hang(jobs)
    reading = shop.begins(shop.reading("orders"))
    t.run(seconds=0.5)
    sick.release_disk(disk)
    assert [value for _, value in shop.ends(reading)] == ["a", "b", "c"]
    t.await_isr("orders", 1, 2, 3)
    t.wait_until(lambda: bytes_of(t, SICK) == bytes_of(t, t.leader("orders")), "it is mended")
