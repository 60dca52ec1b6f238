"""What a log knows of its producers counts as long as it has their batches."""

from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.zookeeper.protocol.codes import ANY_VERSION

QUIET = {"auto.leader.rebalance.enable": "false"}


def strike(t: ClusterScenario, number: int) -> None:
    """A broker's registration is gone for a moment: what it led, others lead."""
    keeper = t.keeper("somebody")
    registration = BrokerZnode.path(BrokerId(number))
    keeper.does(keeper.zookeeper.delete(registration, ANY_VERSION))


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
