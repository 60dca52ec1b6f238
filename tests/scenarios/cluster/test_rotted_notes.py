"""A log dir whose files changed while its broker was down: a bit turned, or an end is gone."""

import pytest

from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator

CALM = {"auto.leader.rebalance.enable": "false"}
ALONE = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "min.insync.replicas": "1",
}


def turn_a_bit(broker: NumberedBroker, disk: str, path: str, behind: bytes) -> None:
    """Of the first byte behind these: a digit or a letter becomes another."""
    medium = broker.machine.disk(disk)
    text = bytes(medium.peek(path) or b"")
    at = text.index(behind) + len(behind)
    bit = next(it for it in (3, 1, 0) if chr(text[at] ^ 1 << it).isalnum())
    medium.flip(path, at, bit)


def with_deleted_records(t: ClusterScenario) -> Operator:
    """Fourteen records, of which ten were deleted, on all three."""
    shop = t.operator()
    shop.places("orders", (2, 1, 3), min_insync_replicas="2")
    for number in range(14):
        shop.produce("orders", f"r{number}")
    assert shop.trims("orders", 10) == 10
    t.run(seconds=3)
    return shop


def rot_the_start(broker: NumberedBroker) -> None:
    """It says 90, far beyond the end."""
    disk = broker.disk_of("orders")
    broker.kill()
    turn_a_bit(broker, disk, "log-start-offset-checkpoint", b"orders 0 ")


@pytest.mark.parametrize("all_die", [True, False])
@staged(settings=CALM)
def test_a_start_that_has_rotted_deletes_nothing(t: ClusterScenario, *, all_die: bool) -> None:
    """Whether that broker is the first of all to come back, or joins a leader and leads next."""
    shop = with_deleted_records(t)
    sent = shop.read("orders")
    one, *others = (t.broker(number) for number in (1, 2, 3))
    if all_die:
        for other in others:
            other.kill()
    rot_the_start(one)
    one.start()
    t.run(seconds=5)
    for other in others if all_die else ():
        other.start()
    t.await_isr("orders", 1, 2, 3)
    t.broker(2).kill()
    t.wait_until(lambda: t.state("orders").leader in {1, 3}, "another leads")
    assert shop.read("orders") == sent


@staged(brokers=1, settings=ALONE)
def test_a_topic_id_that_has_rotted_deletes_nothing(t: ClusterScenario) -> None:
    """All partitions of the topic in a dir have that file in common."""
    shop, one = t.client("shop"), t.broker(1)
    shop.make("orders", 2, 1)
    for partition in range(2):
        shop.produce("orders", f"in {partition}", partition=partition)
    disk = one.disk_of("orders", 0)
    one.stop()
    turn_a_bit(one, disk, "orders-0/partition.metadata", b"topic_id: ")
    one.start()
    for partition in range(2):
        assert t.client(f"reader-{partition}").read("orders", partition) == [f"in {partition}"]


@pytest.mark.parametrize("restarts", [False, True])
@staged(brokers=1, settings=ALONE)
def test_no_offset_is_given_again_that_a_short_log_may_have_given(
    t: ClusterScenario, *, restarts: bool
) -> None:
    """The file system lost half a segment: readers have seen what was there; also a life later."""
    shop, one = t.client("shop"), t.broker(1)
    shop.make("orders", 1, 1)
    for number in range(10):
        shop.produce("orders", f"old {number}")
    before = shop.read_with_offsets("orders")
    disk = one.disk_of("orders")
    one.stop()
    path = "orders-0/" + "0" * 20 + ".log"
    segment = one.machine.disk(disk).open(path)
    segment.truncate(segment.size() // 2)
    segment.sync()
    one.start()
    assert t.client("other").read("orders") == [f"old {number}" for number in range(5)]
    if restarts:
        one.stop()
        one.start()
    t.client("third").produce("orders", "new")
    log = one.log("orders")
    assert log is not None
    t.wait_until(lambda: log.unclean is None, "all that it has is all there is")
    assert t.client("fourth").read_with_offsets("orders") == [*before[:5], (10, "new")]
