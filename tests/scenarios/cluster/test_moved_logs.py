"""What a log takes along when it moves to another disk, and which of the two is true then."""

from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.clients import Client
from odradek.zookeeper.protocol.codes import ANY_VERSION

SWAPPED = {"flush_before_ack": "true"}
"""The swap of such a log is durable before it counts."""


def moved(t: ClusterScenario, shop: Client, broker: NumberedBroker) -> None:
    """The replica of a broker, to its other disk."""
    disk = broker.other_disk("orders")
    assert shop.move(broker.number, "orders", broker.path_of(disk)) is ErrorCode.NONE
    t.wait_until(
        lambda: broker.log("orders") is not None and broker.disk_of("orders") == disk,
        f"the replica of broker {broker.number} is on {disk}",
    )


def moves_up_to(
    t: ClusterScenario, shop: Client, broker: NumberedBroker, at: tuple[str, Fault]
) -> None:
    """A replica, to the other disk of its broker, until one of them comes to this call."""
    disk, pause = at
    broker.machine.disk(disk).faults.rows.append(pause)
    target = broker.path_of(broker.other_disk("orders"))
    assert shop.move(broker.number, "orders", target) is ErrorCode.NONE
    t.wait_until(lambda: pause.hits, "the move gets there")


def pausing(call: str, path: str, seconds: int = 1) -> Fault:
    """The job that makes this call stops there for so long."""
    return Fault(0, calls=frozenset({call}), path=path, pause=seconds * SECOND)


def alone(t: ClusterScenario, **settings: str) -> tuple[Operator, NumberedBroker]:
    """A log of one broker alone, with a record."""
    operator = t.operator()
    operator.places("orders", (1,), min_insync_replicas="1", **settings)
    operator.produce("orders", "a")
    return operator, t.broker(1)


def _known_of(broker: NumberedBroker) -> tuple[object, object]:
    log = broker.log("orders")
    assert log is not None
    return log.incarnation, log.unclean


def test_a_log_that_lost_records_takes_that_along(t: ClusterScenario) -> None:
    """On its new disk it is no more whole than before, and no other log; nor after a restart."""
    shop, controller = t.operator(), t.controller()
    assert controller is not None
    leader, broker = t.others(controller)
    shop.places("orders", (leader.number, broker.number))
    shop.produce("orders", "a")
    broker.cut_power()
    t.await_isr("orders", leader.number)
    t.cut(broker.number, leader.number)
    broker.start()
    known = _known_of(broker)
    assert all(known)
    moved(t, shop, broker)
    assert _known_of(broker) == known
    broker.kill()
    broker.start()
    assert _known_of(broker) == known


def test_a_swap_that_failed_is_none(t: ClusterScenario) -> None:
    """Its log may have got the name on the failing disk: it is an old one by now."""
    operator, broker = alone(t, **SWAPPED)
    source, target = broker.disk_of("orders"), broker.other_disk("orders")
    moves_up_to(t, operator, broker, (target, pausing("rename", "*-future")))
    broker.machine.disk(target).faults.rows.append(Fault(calls=frozenset({"sync_directory"})))
    operator.produce("orders", "b")
    assert broker.disk_of("orders") == source
    broker.kill()
    broker.repair_disk(target)
    broker.start()
    assert broker.disk_of("orders") == source
    assert operator.read("orders") == ["a", "b"]


def test_a_log_that_has_moved_outlives_a_loss_of_power(t: ClusterScenario) -> None:
    """The one of before is gone, durably; so its new name must have been durable before."""
    operator, broker = alone(t)
    settled = pausing("unlink", "orders-0.*-delete/*")
    home = broker.disk_of("orders")
    assert home is not None
    moves_up_to(t, operator, broker, (home, settled))
    broker.cut_power()
    broker.start()
    assert operator.read("orders") == ["a"]


def test_of_two_logs_of_a_move_the_one_that_moved_is_true(t: ClusterScenario) -> None:
    """A broker that ends before the one of before is out of the way finds both."""
    operator, broker = alone(t)
    moves_up_to(t, operator, broker, (broker.disk_of("orders"), pausing("rename", "orders-0")))
    operator.produce("orders", "b")
    broker.kill()
    broker.start()
    assert operator.read("orders") == ["a", "b"]


def test_what_is_written_as_a_swap_is_prepared_moves_along(t: ClusterScenario) -> None:
    """The log is written to until the swap begins, and its copy is filled up to there."""
    operator, broker = alone(t)
    source, target = broker.disk_of("orders"), broker.other_disk("orders")
    moves_up_to(t, operator, broker, (target, pausing("create", "*-future/moved*")))
    operator.produce("orders", "b")
    t.wait_until(lambda: broker.disk_of("orders") != source, "it has moved")
    assert operator.read("orders") == ["a", "b"]


@staged(settings={"auto.leader.rebalance.enable": "false"})
def test_a_copy_of_another_history_does_not_take_the_place_of_the_log(t: ClusterScenario) -> None:
    """Both end at the same offset, but the log was cut since, and has another record there."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    old, new = t.others(controller)
    operator.places("orders", (old.number, new.number), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.cut(old.number, new.number)
    operator.produce("orders", "x", acks=1)
    source, target = old.disk_of("orders"), old.other_disk("orders")
    moves_up_to(t, operator, old, (target, pausing("create", "*-future/moved*", 20)))
    keeper, registration = t.keeper("somebody"), BrokerZnode.path(BrokerId(old.number))
    keeper.does(keeper.zookeeper.delete(registration, ANY_VERSION))
    assert t.await_new_leader("orders", old.number) == new.number
    t.heal()
    operator.produce("orders", "y")
    t.await_isr("orders", old.number, new.number)
    assert old.disk_of("orders") == source
    t.run(seconds=20)
    assert old.disk_of("orders") == target
    new.kill()
    t.await_new_leader("orders", new.number)
    assert operator.read("orders") == ["a", "y"]
