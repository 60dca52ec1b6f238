"""A replica moves between disks while its leader has it cut."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.spoilt import bytes_of

MOVING = 3
RECORD = "a" * 2_000


@pytest.mark.parametrize("jobs", range(3, 9))
def test_a_copy_waits_for_a_cut(t: ClusterScenario, jobs: int) -> None:
    """It led in an epoch without records, which the next leader has it forget.

    The disk stands still behind so many jobs, each time at another point of the two.
    """
    operator, moving = t.operator(), t.broker(MOVING)
    operator.places("orders", (1, MOVING, 2))
    for _ in range(5):
        operator.produce("orders", RECORD * 10)
    t.await_isr("orders", 1, 2, 3)
    t.broker(1).stop()
    t.broker(1).start()
    t.await_isr("orders", 1, 2, 3)
    assert t.leader("orders") == MOVING
    disk, target = moving.disk_of("orders"), moving.other_disk("orders")
    moving.process.workers[disk].hang(jobs)
    operator.elects("orders")
    assert operator.move(MOVING, "orders", moving.path_of(target)) is ErrorCode.NONE
    t.run(seconds=0.5)
    moving.release_disk(disk)
    t.wait_until(lambda: not moving.has_future("orders"), "it has moved")
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    assert moving.disk_of("orders") == target
    assert bytes_of(t, MOVING) == bytes_of(t, 1)
