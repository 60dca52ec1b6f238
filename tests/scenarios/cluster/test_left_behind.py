"""The log that a move between disks leaves behind, as long as it has its name still.

As a rule that is a moment. It is longer where the target fails before it is durable which is true.
"""

import errno

import pytest

from odradek.client.errors import Refused
from odradek.model.admin_operations import LOG_DIR_REPLACE
from odradek.model.positions import FIRST_INCARNATION
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator
from tests.scenarios.cluster.test_swaps_given_up import (
    ALONE,
    NEXT,
    again,
    produced,
    slow_rename,
    swapping,
)

FIRST = list("abc")


def left_behind(t: ClusterScenario, shop: Operator) -> tuple[str, str]:
    """A log whose target took its place, and failed; the disk of the old one, and the target."""
    home, target = swapping(t, shop, slow_rename("orders-0.*-future"))
    fails = Fault(errno.EIO, frozenset({"sync_directory"}), "")
    t.broker(1).machine.disk(target).faults.rows.append(fails)
    t.run(seconds=5)
    assert t.broker(1).log("orders") is None
    return home, target


def replaced(t: ClusterScenario, shop: Operator, disk: str) -> None:
    """An empty one is in its place, while the broker runs."""
    broker = t.broker(1)
    broker.exchange_disk(disk)
    broker.machine.disk(disk).faults.rows.clear()
    shop.operate(LOG_DIR_REPLACE, 1, dir=broker.path_of(disk))


def made_again(t: ClusterScenario, shop: Operator, home: str) -> None:
    """A topic whose deletion takes until its logs are gone; its new log is to be on this disk."""
    broker = t.broker(1)

    def is_made() -> bool:
        shop.move(1, "orders", broker.path_of(home))
        try:
            shop.make("orders", 1, 1)
        except Refused:
            return False
        return True

    t.wait_until(is_made, "its name is free")
    shop.produce("orders", "new")
    t.run(seconds=8)
    assert broker.disk_of("orders") == home
    running = broker.process.broker
    assert running is not None
    assert not running.services_of_this_life.replicas.dirs.offline


@staged(brokers=1, settings=ALONE)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_it_serves_once_its_target_was_replaced(t: ClusterScenario, how: str) -> None:
    """It is all that is left, and may lack records: the same as if the broker had started anew."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    home, target = left_behind(t, shop)
    replaced(t, shop, target)
    t.wait_until(lambda: broker.log("orders") is not None, "it serves")
    assert shop.read("orders") == FIRST
    found = broker.log("orders")
    assert found is not None
    assert found.incarnation != FIRST_INCARNATION
    produced(shop, NEXT)
    again(t, broker, how)
    assert shop.read("orders") == FIRST + NEXT
    assert broker.disk_of("orders") == home


@staged(brokers=1, settings=ALONE)
def test_a_later_topic_of_its_name_has_nothing_of_it(t: ClusterScenario) -> None:
    """Where that gets its log on the same disk, too: it ended that disk."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    home, target = left_behind(t, shop)
    shop.delete("orders")
    t.run(seconds=2)
    replaced(t, shop, target)
    made_again(t, shop, home)
    again(t, broker, "kill")
    assert shop.read("orders") == ["new"]


@staged(brokers=1, settings=ALONE)
def test_a_topic_is_deleted_and_made_again_while_it_is_put_away(t: ClusterScenario) -> None:
    """The deletion is of that log, too: it is not put away in place of the new one."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    home, target = swapping(t, shop, slow_rename("orders-0.*-future"))
    slow = Fault(0, frozenset({"sync_directory"}), "", times=1, pause=8 * SECOND)
    broker.machine.disk(target).faults.rows.insert(0, slow)
    t.wait_until(lambda: slow.hits, "it waits to be put away")
    shop.delete("orders")
    made_again(t, shop, home)
    again(t, broker, "kill")
    assert shop.read("orders") == ["new"]


@staged(brokers=1, settings=ALONE)
def test_what_was_deleted_of_a_log_that_waits_stays_deleted(t: ClusterScenario) -> None:
    """It waits for the disk to which it went; the start of a life and its end note it as before."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    produced(shop, ["0", "1"])
    shop.trims("orders", 2)
    _, target = left_behind(t, shop)
    broker.stop()
    broker.fail_disk(target)
    broker.start()
    t.run(seconds=5)
    assert broker.log("orders") is None
    broker.stop()
    broker.exchange_disk(target)
    broker.start()
    t.run(seconds=3)
    assert shop.read("orders") == FIRST
    found = broker.log("orders")
    assert found is not None
    assert found.log_start_offset == 2


@staged(brokers=1, settings=ALONE)
def test_on_a_disk_without_room_it_waits_for_its_target_too(t: ClusterScenario) -> None:
    """That it left is noted there all the same; room comes later."""
    shop, broker = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    disk = broker.machine.disk(broker.disk_of("orders"))
    produced(shop, FIRST)
    disk.faults.capacity = disk.used
    target = broker.other_disk("orders")
    fails = Fault(errno.EIO, frozenset({"sync_directory"}), "", skip=99)
    slow = slow_rename("orders-0.*-future")
    broker.machine.disk(target).faults.rows += [slow, fails]
    shop.move(1, "orders", broker.path_of(target))
    t.wait_until(lambda: slow.hits, "the swap has begun")
    fails.skip = 0
    t.run(seconds=5)
    disk.faults.capacity = None
    t.run(seconds=5)
    broker.stop()
    broker.fail_disk(target)
    broker.start()
    t.run(seconds=5)
    assert broker.log("orders") is None
    broker.stop()
    broker.machine.disk(target).faults.rows.clear()
    broker.repair_disk(target)
    broker.start()
    t.run(seconds=3)
    assert broker.disk_of("orders") == target
    assert shop.read("orders") == FIRST
