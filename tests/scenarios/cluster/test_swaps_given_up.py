"""A move between disks that ends in the middle of its swap: the log that served last is true.

The target may have the log's name by then, or get it late, when nobody waits for it any more.
"""

import errno

import pytest

from odradek.client.admin import admin
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import FIRST_INCARNATION
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.broker_machine import THREE_DISKS

ALONE = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "min.insync.replicas": "1",
    "replica.high.watermark.checkpoint.interval.ms": "300",
}
NEXT = list("defgh")
ALL = list("abcdefgh")


def slow_rename(path: str, seconds: float = 1) -> Fault:
    """The job that gives a log's directory another name takes so long."""
    return Fault(0, frozenset({"rename"}), path, times=1, pause=int(seconds * SECOND))


def swapping(t: ClusterScenario, shop: Operator, at: Fault, *others: Fault) -> tuple[str, str]:
    """A log whose swap has begun, and waits; its disk, and the target."""
    broker = t.broker(1)
    home, target = broker.disk_of("orders"), broker.other_disk("orders")
    assert home is not None
    for value in "abc":
        shop.produce("orders", value)
    broker.machine.disk(target).faults.rows += [at, *others]
    shop.move(1, "orders", broker.path_of(target))
    t.wait_until(lambda: at.hits, "the swap has begun")
    return home, target


def again(t: ClusterScenario, broker: NumberedBroker, how: str, *disks: str) -> None:
    """The broker's next life, in which these disks work."""
    if how == "stop":
        broker.stop()
    else:
        broker.kill()
    for disk in disks:
        broker.machine.disk(disk).faults.rows.clear()
    broker.start()
    t.run(seconds=2)


def produced(shop: Operator, values: list[str]) -> None:
    """One after the other."""
    for value in values:
        shop.produce("orders", value)


@staged(brokers=1, settings=ALONE)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_target_fails_elsewhere_while_it_renames(t: ClusterScenario, how: str) -> None:
    """The log goes on where it was, and still does when that disk works again."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    home, target = swapping(t, shop, slow_rename("orders-0.*-future"))
    broker.machine.disk(target).faults.rows.append(
        Fault(errno.EIO, calls=frozenset({"open"}), path=".lock")
    )
    t.run(seconds=3)
    produced(shop, NEXT)
    again(t, broker, how, target)
    assert shop.read("orders") == ALL
    assert broker.disk_of("orders") == home


@staged(settings={"replica.high.watermark.checkpoint.interval.ms": "300"})
def test_what_all_have_survives_a_swap_whose_target_failed(t: ClusterScenario) -> None:
    """All are killed; who is back first leads with the log that served last, not with the copy."""
    shop, broker = t.operator(), t.broker(1)
    shop.places("orders", (2, 1, 3), min_insync_replicas="2")
    t.run(seconds=1)
    _, target = swapping(t, shop, slow_rename("orders-0.*-future"))
    broker.machine.disk(target).faults.rows.append(
        Fault(errno.EIO, calls=frozenset({"open"}), path=".lock")
    )
    t.run(seconds=5)
    produced(shop, NEXT)
    t.await_isr("orders", 1, 2, 3)
    for each in t.brokers.values():
        each.kill()
    broker.machine.disk(target).faults.rows.clear()
    t.run(seconds=1)
    broker.start()
    t.run(seconds=10)
    for number in (2, 3):
        t.broker(number).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ALL


@staged(brokers=1, settings=ALONE)
def test_a_move_is_cancelled_while_it_renames(t: ClusterScenario) -> None:
    """The copy has the log's name until its disk gets to putting it away; the broker dies first."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    later = slow_rename("orders-0", 20)
    home, target = swapping(t, shop, slow_rename("orders-0.*-future"), later)
    back = t.client("operator-2")
    partitions = [TopicPartition("orders", 0)]
    moved_back = back.begins(
        admin.move_replicas(back.cluster, BrokerId(1), broker.path_of(home), partitions)
    )
    t.run(seconds=1.5)
    assert later.hits
    assert not moved_back.done()
    produced(shop, NEXT)
    again(t, broker, "kill", target)
    assert shop.read("orders") == ALL
    assert broker.disk_of("orders") == home


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_copy_gets_its_name_after_the_log_has_moved_elsewhere(how: str) -> None:
    """Its disk hung, was given up, and renames late; the log is on a third disk by then."""
    t = ClusterScenario(1, brokers=1, settings=ALONE | {"log.dir.hang.timeout.ms": "10000"})
    t.broker(1).process.disks = THREE_DISKS
    with t:
        shop, broker = t.operator(), t.broker(1)
        shop.make("orders", 1, 1)
        home, hung = swapping(t, shop, slow_rename("orders-0.*-future", 15))
        (third,) = {*THREE_DISKS} - {home, hung}
        t.run(seconds=4)
        shop.move(1, "orders", broker.path_of(third))
        t.run(seconds=3)
        assert broker.disk_of("orders") == third
        produced(shop, NEXT)
        t.run(seconds=20)
        again(t, broker, how, hung)
        assert shop.read("orders") == ALL
        assert broker.disk_of("orders") == third


def test_a_second_move_ends_before_the_first_has_put_its_old_log_away() -> None:
    """The broker dies then, and its next start knows which of the two is true."""
    t = ClusterScenario(1, brokers=1, settings=ALONE)
    t.broker(1).process.disks = THREE_DISKS
    with t:
        shop, broker = t.operator(), t.broker(1)
        shop.make("orders", 1, 1)
        home = broker.disk_of("orders")
        first, second = (disk for disk in THREE_DISKS if disk != home)
        produced(shop, list("abc"))
        slow = slow_rename("orders-0", 25)
        broker.machine.disk(home).faults.rows.append(slow)
        shop.move(1, "orders", broker.path_of(first))
        t.wait_until(lambda: slow.hits, "the old log is about to go")
        shop.move(1, "orders", broker.path_of(second))
        t.run(seconds=5)
        assert broker.disk_of("orders") == second
        produced(shop, NEXT)
        again(t, broker, "kill", home)
        assert shop.read("orders") == ALL
        assert broker.disk_of("orders") == second


def served_by_a_target_that_fails(t: ClusterScenario, shop: Operator) -> str:
    """The broker starts without it, and beside the old log; the dir that has the newer one."""
    broker = t.broker(1)
    shop.make("orders", 1, 1)
    _, target = swapping(t, shop, slow_rename("orders-0.*-future"))
    names = frozenset({"sync_directory"})
    broker.machine.disk(target).faults.rows[:0] = [
        Fault(0, names, "", times=99, pause=3 * SECOND),
        Fault(errno.EIO, names, "", times=99),
    ]
    t.run(seconds=1.2)
    assert broker.disk_of("orders") == target
    produced(shop, NEXT)
    t.run(seconds=10)
    broker.stop()
    broker.machine.disk(target).faults.rows.clear()
    broker.fail_disk(target)
    broker.start()
    t.run(seconds=5)
    return target


@staged(brokers=1, settings=ALONE)
def test_the_target_fails_before_the_old_log_is_put_away(t: ClusterScenario) -> None:
    """While its disk is away the old log is not served: its offsets would be given again."""
    shop, broker = t.operator(), t.broker(1)
    target = served_by_a_target_that_fails(t, shop)
    assert broker.log("orders") is None
    broker.stop()
    broker.repair_disk(target)
    broker.start()
    t.run(seconds=3)
    assert shop.read("orders") == ALL
    assert broker.disk_of("orders") == target


@staged(brokers=1, settings=ALONE)
def test_the_target_is_lost_before_the_old_log_is_put_away(t: ClusterScenario) -> None:
    """The old log is all that is left, and it is known that it may lack records."""
    shop, broker = t.operator(), t.broker(1)
    target = served_by_a_target_that_fails(t, shop)
    broker.stop()
    broker.exchange_disk(target)
    broker.start()
    t.run(seconds=3)
    found = broker.log("orders")
    assert found is not None
    assert found.incarnation != FIRST_INCARNATION
    assert shop.read("orders") == list("abc")
