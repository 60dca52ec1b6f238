"""A leader whose disk is full gives way while a group of appends is on its way to that disk."""

import errno

from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.spoilt import bytes_of
from tests.scenarios.cluster.test_full_disks import MEASURED

FULL = 3
PAUSE = MEASURED + 10
PATIENT = {"log.dir.hang.timeout.ms": "120000"}


def elected_anew(t: ClusterScenario) -> str:
    """It leads in an epoch without records, which the next leader has it forget.

    Another topic, whose name is returned, is on the same disk of it.
    """
    operator = t.operator()
    for topic in "orders", "payments", "refunds":
        operator.places(topic, (FULL, 1, 2))
        operator.produce(topic, "a")
        t.await_isr(topic, 1, 2, 3)
    t.broker(FULL).stop()
    t.broker(FULL).start()
    t.await_isr("orders", 1, 2, 3)
    for topic in "orders", "payments", "refunds":
        t.await_isr(topic, 1, 2, 3)
        operator.elects(topic)
    t.wait_until(lambda: t.leader("orders") == FULL, "it leads again")
    t.run(seconds=1)
    disks = {topic: t.broker(FULL).disk_of(topic) for topic in ("payments", "refunds")}
    (same,) = [topic for topic, disk in disks.items() if disk == t.broker(FULL).disk_of("orders")]
    return same


@staged(settings=PATIENT)
def test_what_is_on_its_way_ends_before_the_log_is_cut(t: ClusterScenario) -> None:
    """A second group was gathered meanwhile; the disk has room again before that is written."""
    beside = elected_anew(t)
    full = t.broker(FULL)
    first, second, other = t.client("first"), t.client("second"), t.client("other")
    disk = full.disk_of("orders")
    rows = full.machine.disk(disk).faults.rows
    rows.append(Fault(errno.ENOSPC, frozenset({"write"}), "orders-0/*.log", times=1))
    slow = Fault(0, frozenset({"write"}), f"{beside}-0/*.log", times=1, pause=PAUSE * SECOND)
    rows.append(slow)
    full.hang_disk(disk)
    writing = [first.begins(first.producing("orders", "b"))]
    t.run(seconds=0.1)
    writing.append(second.begins(second.producing("orders", "c")))
    writing.append(other.begins(other.producing(beside, "d")))
    t.run(seconds=0.1)
    full.release_disk(disk)
    t.wait_until(lambda: slow.hits, "the second group is on its way")
    t.await_new_leader("orders", FULL)
    found = full.log("orders")
    assert found is not None
    t.run(seconds=MEASURED)
    assert (found.is_idle, found.cuts) == (False, 0)
    t.run(seconds=PAUSE - MEASURED)
    t.await_isr("orders", 1, 2, 3)
    for client, begun in zip((first, second, other), writing, strict=True):
        client.ends(begun)
    t.run(seconds=1)
    assert found.cuts
    assert bytes_of(t, FULL) == bytes_of(t, t.leader("orders"))
