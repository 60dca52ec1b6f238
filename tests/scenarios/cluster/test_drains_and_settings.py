"""Settings that change, and topics that are made again, while something else is under way."""

from odradek.client.admin import admin
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.placed import move, other_than

ORDERS = TopicPartition("orders", 0)
CALM = {"auto.leader.rebalance.enable": "false"}
RECORD = "x" * 1_000


@staged(brokers=4, settings=CALM)
def test_the_number_is_raised_while_a_broker_is_drained(t: ClusterScenario) -> None:
    """The move ends by what holds at its end, and who dies then takes nothing along."""
    op = t.operator()
    op.places("orders", (1, 2), min_insync_replicas="1")
    for _ in range(5):
        op.produce("orders", RECORD)
    move(t, 3)  # the controller, so that both hear from it
    t.cut(1, 4)  # the copy gets nothing
    t.cut(4, 1)
    assert op.moves("orders", 4, 2) is ErrorCode.NONE
    op.sets("orders", min_insync_replicas="2")
    op.produce("orders", "during")
    t.run(seconds=3)
    assert op.ongoing()
    t.heal()
    t.wait_until(lambda: not op.ongoing(), "it has moved")
    t.await_isr("orders", 2, 4)
    t.broker(2).kill()
    t.await_isr("orders", 4)
    assert op.read("orders")[-1] == "during"


@staged(
    brokers=4,
    settings={**CALM, "log.retention.check.interval.ms": "1000"},
)
def test_retention_is_shortened_while_a_copy_is_filled(t: ClusterScenario) -> None:
    """The copy begins where its leader begins by then, and each replica ends with the same."""
    op = t.operator()
    op.places("orders", (1, 2), segment_bytes="4096")
    for _ in range(12):
        op.produce("orders", RECORD)
    t.cut(1, 4)
    t.cut(4, 1)
    assert op.moves("orders", 4, 2) is ErrorCode.NONE
    t.run(seconds=2)
    op.sets("orders", retention_bytes="4096")
    t.run(seconds=3)
    t.heal()
    t.wait_until(lambda: not op.ongoing(), "it has moved")
    t.run(seconds=3)
    found = [t.broker(it).log("orders") for it in (2, 4)]
    starts = [it and it.log_start_offset for it in found]
    assert starts[0] == starts[1]
    assert starts[0]
    assert [it and it.log_end_offset for it in found] == [12, 12]


@staged(settings=CALM)
def test_the_number_is_lowered_while_two_brokers_stop(t: ClusterScenario) -> None:
    """Who stopped before it counted knows not what one alone has acknowledged since."""
    shop, op = t.client("shop"), t.operator()
    shop.make("orders", min_insync_replicas="2")
    shop.produce("orders", "a")
    t.await_isr("orders", 1, 2, 3)
    leader = t.broker(t.leader("orders"))
    first, second = t.others(leader.number)
    for broker in first, second:
        assert broker.process.broker is not None
        broker.process.broker.stop()
    op.sets("orders", min_insync_replicas="1")
    t.wait_until(lambda: not (first.machine.running or second.machine.running), "both stop")
    shop.produce("orders", "b")
    leader.stop()
    first.start()
    second.start()
    t.run(seconds=15)
    assert t.state("orders").leader is None
    leader.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


@staged(settings=CALM)
def test_a_topic_is_made_again_while_its_leader_has_no_zookeeper(t: ClusterScenario) -> None:
    """The log of the one before is not served as the next one's."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    leader = t.leader("orders")
    deaf = t.broker(leader if leader != t.controller() else other_than(t, leader))
    t.cut("zookeeper", deaf.number)
    t.cut(deaf.number, "zookeeper")
    deleting = shop.begins(shop.deleting("orders"))
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    shop.ends(deleting)
    shop.make("orders", 1, 2)
    shop.produce("orders", "c")
    t.heal()
    t.run(seconds=15)
    shop.produce("orders", "d")
    assert shop.read("orders") == ["c", "d"]
    for broker in t.brokers.values():
        found = broker.log("orders")
        assert found is None or found.log_end_offset == 2


@staged(settings=CALM)
def test_records_are_deleted_during_a_move_whose_target_dies(t: ClusterScenario) -> None:
    """Cancelled, and moved there again: what it had copied before does not come back with it."""
    op = t.operator()
    op.places("orders", (1, 2), min_insync_replicas="1")
    for value in ("a", "b", "c"):
        op.produce("orders", value)
    t.run(seconds=1)
    t.broker(2).kill()  # so the move does not end
    t.await_isr("orders", 1)
    assert op.moves("orders", 3, 2) is ErrorCode.NONE
    t.await_isr("orders", 1, 3)
    t.broker(3).kill()
    deleting = op.begins(admin.delete_records(op.cluster, {ORDERS: 2}))
    t.run(seconds=1)
    assert op.cancels("orders") is ErrorCode.NONE
    op.ends(deleting)
    for number in 2, 3:
        t.broker(number).start()
    assert op.moves("orders", 3) is ErrorCode.NONE
    t.wait_until(lambda: not op.ongoing(), "it has moved")
    assert op.read("orders") == ["c"]
    found = t.broker(3).log("orders")
    assert found is not None
    assert found.log_start_offset == 2
