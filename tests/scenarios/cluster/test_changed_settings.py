"""A setting that changes: what it says of bytes from before, and of logs that are not there yet."""

from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker
from odradek.sim.scenarios.operator import Operator

ALONE = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "min.insync.replicas": "1",
    "log.retention.check.interval.ms": "2000",
}


def turns_on(t: ClusterScenario, shop: Operator, *brokers: NumberedBroker) -> None:
    """`flush.before.ack`, and these brokers hear of it."""
    shop.sets("orders", flush_before_ack="true")
    t.wait_until(lambda: all(_is_on(broker) for broker in brokers), "they have heard of it")


def _is_on(broker: NumberedBroker) -> bool:
    log = broker.log("orders")
    return log is not None and log.config.flush_before_ack


def test_records_from_before_a_flush_setting_are_not_lost_with_a_page_cache() -> None:
    """The replica whose machine went down would be elected, and cut the two that have them."""
    with ClusterScenario(2, brokers=3, settings={"auto.leader.rebalance.enable": "false"}) as t:
        shop, sent = t.operator(), [f"record-{number}" for number in range(6)]
        shop.places("orders", (1, 2, 3), min_insync_replicas="2")
        for value in sent:
            shop.produce("orders", value)
        t.await_isr("orders", 1, 2, 3)
        t.run(seconds=1)
        turns_on(t, shop, t.broker(3))
        t.run(seconds=2)
        t.broker(1).kill()
        t.broker(2).kill()
        t.broker(3).cut_power()
        t.broker(3).start()
        t.run(seconds=5)
        t.broker(1).start()
        t.broker(2).start()
        t.await_isr("orders", 1, 2, 3)
        assert shop.read("orders") == sent


def test_a_flush_setting_made_while_the_machine_is_down_makes_no_log_whole() -> None:
    """What it had was written when nothing was synced."""
    with ClusterScenario(2, brokers=3) as t:
        shop, broker = t.operator(), t.broker(3)
        shop.places("orders", (1, 2, 3))
        shop.produce("orders", "a")
        t.await_isr("orders", 1, 2, 3)
        broker.cut_power()
        t.await_isr("orders", 1, 2)
        shop.sets("orders", flush_before_ack="true")
        for number in (1, 2):
            t.broker(number).kill()
        broker.start()
        log = broker.log("orders")
        assert log is not None
        assert log.config.flush_before_ack
        assert log.unclean is not None


def test_settings_that_change_while_a_log_is_made_hold_for_it() -> None:
    """Its records would go by a retention that was taken back before there were any."""
    with ClusterScenario(1, brokers=1, settings=ALONE) as t:
        shop, broker = t.operator(), t.broker(1)
        for disk in ("disk-a", "disk-b"):
            slow = Fault(0, frozenset({"make_directory"}), "orders-0*", times=1, pause=5 * SECOND)
            broker.machine.disk(disk).faults.rows.append(slow)
        making = shop.begins(shop.making("orders", 1, 1, retention_ms="5000"))
        t.run(seconds=3)
        t.operator().sets("orders", retention_ms="-1", flush_before_ack="true")
        shop.ends(making)
        shop.produce("orders", "a")
        t.run(seconds=15)
        assert _is_on(broker)
        assert shop.read("orders") == ["a"]


def test_a_flush_setting_that_comes_during_a_copy_counts_for_the_swap() -> None:
    """The new name is durable before anything is acknowledged, or a power cut takes both back."""
    with ClusterScenario(1, brokers=1, settings=ALONE) as t:
        shop, broker = t.operator(), t.broker(1)
        shop.make("orders", 1, 1)
        shop.produce("orders", "a")
        other = broker.other_disk("orders")
        faults = broker.machine.disk(other).faults.rows
        copy = Fault(0, frozenset({"write"}), "orders-0.*-future/*.log", times=1, pause=3 * SECOND)
        faults.append(copy)
        shop.move(1, "orders", broker.path_of(other))
        t.wait_until(lambda: copy.hits, "it is being copied")
        turns_on(t, shop, broker)
        swap = Fault(0, frozenset({"rename"}), "orders-0.*-future", times=1, pause=SECOND)
        faults.append(swap)
        t.wait_until(lambda: swap.hits, "the swap")
        never_synced = Fault(0, frozenset({"sync_directory"}), "", times=10, pause=20 * SECOND)
        faults.append(never_synced)
        task = shop.begins(shop.producing("orders", "b"))
        t.run(seconds=3.5)
        is_acknowledged = task.done()
        broker.cut_power()
        faults.clear()
        broker.start()
        t.run(seconds=2)
        assert "b" in shop.read("orders") or not is_acknowledged
