"""What is known of a log, and since when it counts: leaderships and producers."""

from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.sim.cluster_scenario import ClusterScenario, staged
from odradek.sim.disk_faults import Fault
from odradek.sim.loop import SECOND
from odradek.zookeeper.protocol.codes import ANY_VERSION

QUIET = {"auto.leader.rebalance.enable": "false"}


def strike(t: ClusterScenario, number: int) -> None:
    """A broker's registration is gone for a moment: what it led, others lead."""
    keeper = t.keeper("somebody")
    registration = BrokerZnode.path(BrokerId(number))
    keeper.does(keeper.zookeeper.delete(registration, ANY_VERSION))


@staged(brokers=4, settings=QUIET)
def test_who_lacks_what_was_committed_before_the_leadership_does_not_join(
    t: ClusterScenario,
) -> None:
    """KAFKA-7128: the new leader has not heard of it, and its high watermark is below."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    old, new, late = t.others(controller)
    operator.places("orders", (old.number, new.number, late.number), min_insync_replicas="2")
    operator.produce("orders", "a")
    t.run(seconds=1)
    disk = late.disk_of("orders")
    late.kill()
    t.await_isr("orders", old.number, new.number)
    operator.produce("orders", "b")
    old.kill()
    assert t.await_new_leader("orders", old.number) == new.number
    assert new.high_watermark("orders") == 1
    pause = Fault(0, frozenset({"write"}), "orders-0/*.log", times=1, pause=2 * SECOND)
    late.machine.disk(disk).faults.rows.append(pause)
    late.begin()
    t.wait_until(lambda: pause.hits, "it has fetched")
    t.run(seconds=1)
    assert late.number not in t.state("orders").isr
    t.await_isr("orders", new.number, late.number)
    assert operator.read("orders") == ["a", "b"]


@staged(settings=QUIET)
def test_a_batch_that_was_cut_is_not_one_that_is_there(t: ClusterScenario) -> None:
    """Its producer sends it again, when its log leads again: it is written, not recognised."""
    operator, shop, controller = t.operator(), t.client("shop"), t.controller()
    assert controller is not None
    first, second = t.others(controller)
    operator.places("orders", (first.number, second.number), min_insync_replicas="1")
    shop.produce("orders", "a")
    t.cut(first.number, second.number)
    writing = shop.begins(shop.producing("orders", "b"))
    t.wait_until(lambda: first.log_end("orders") == 2, "it is written")
    shop.pause()
    strike(t, first.number)
    assert t.await_new_leader("orders", first.number) == second.number
    t.heal()
    t.await_isr("orders", first.number, second.number)
    assert first.log_end("orders") == 1
    second.kill()
    assert t.await_new_leader("orders", second.number) == first.number
    shop.resume()
    assert shop.ends(writing) == 1
    assert operator.read("orders") == ["a", "b"]
