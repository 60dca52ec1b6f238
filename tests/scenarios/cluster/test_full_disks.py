"""A disk is full: another leads what it cannot append to, and it follows again once it has room."""

from structlog.testing import capture_logs

from odradek.coordinator.placement import partition_of
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.stage.broker_machine import DISKS
from odradek.sim.stage.clients import Client

RECORD = "a" * 2_000
MEASURED = 31
"""Seconds: within them each broker has looked at the room on its disks."""


def fill(broker: NumberedBroker, *disks: str) -> None:
    """Not a byte more finds room on these, or on any of its disks."""
    for name in disks or DISKS:
        disk = broker.machine.disk(name)
        disk.faults.capacity = disk.used


def give_room(broker: NumberedBroker, size: int | None = None) -> None:
    """Its disks have room for so many bytes, or for everything."""
    for name in DISKS:
        disk = broker.machine.disk(name)
        disk.faults.capacity = None if size is None else disk.used + size


def with_orders(t: ClusterScenario, **settings: str) -> tuple[Client, NumberedBroker]:
    """A topic that three replicas have, and the broker that leads it."""
    shop = t.client("shop")
    shop.make("orders", 1, 3, **settings)
    shop.produce("orders", "first")
    t.await_isr("orders", 1, 2, 3)
    return shop, t.broker(t.leader("orders"))


def resigned(t: ClusterScenario) -> tuple[Client, NumberedBroker]:
    """The leader's disk was full, and another leads."""
    shop, full = with_orders(t)
    fill(full)
    shop.produce("orders", "second")
    assert t.leader("orders") != full.number
    return shop, full


def others(broker: NumberedBroker) -> set[int]:
    """The two that are not this one."""
    return {1, 2, 3} - {broker.number}


def test_a_leader_whose_disk_is_full_gives_way(t: ClusterScenario) -> None:
    """The producer goes on within a second, for others have room; its log dir stays online."""
    shop, full = with_orders(t)
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=1)
    assert writing.done()
    shop.ends(writing)
    assert t.leader("orders") != full.number
    assert shop.read("orders") == ["first", "second"]
    assert full.disk_of("orders")


def test_it_joins_nothing_before_it_has_room(t: ClusterScenario) -> None:
    """What it fetched could not be written; then it catches up and is in sync."""
    shop, full = resigned(t)
    t.run(seconds=MEASURED)
    assert {*t.state("orders").isr} == others(full)
    shop.produce("orders", "third")
    assert full.log_end("orders") == 1
    give_room(full)
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    assert full.log_end("orders") == 3
    assert shop.read("orders") == ["first", "second", "third"]


def test_a_little_room_is_no_room(t: ClusterScenario) -> None:
    """It would join, and be full some records later: producers would wait for it again and again.

    There is a hundredth of the disk to be free, which is four thousand bytes here.
    """
    shop, full = with_orders(t)
    for _ in range(10):
        shop.produce("orders", RECORD * 20)
    t.run(seconds=1)
    fill(full)
    shop.produce("orders", "second")
    give_room(full, size=1_000)
    t.run(seconds=MEASURED)
    assert {*t.state("orders").isr} == others(full)
    give_room(full, size=100_000)
    t.await_isr("orders", 1, 2, 3)


def test_retention_makes_the_room(t: ClusterScenario) -> None:
    """What waits for room is not offline: what is too old goes, and then it follows."""
    shop, full = with_orders(t, retention_ms="60000", segment_bytes="4096")
    for _ in range(6):
        shop.produce("orders", RECORD)
    t.run(seconds=1)
    fill(full)
    shop.produce("orders", RECORD)
    assert t.leader("orders") != full.number
    t.wait_until(lambda: full.number not in t.state("orders").isr, "it is out of sync")
    t.run(seconds=400)
    t.await_isr("orders", 1, 2, 3)
    assert full.machine.disk(full.disk_of("orders")).faults.capacity is not None


def test_a_disk_that_is_full_by_a_quota_has_room_once_it_takes_some(t: ClusterScenario) -> None:
    """It says that there is some: its replica would join, lead, and give way again and again.

    What it refused was not written elsewhere, so there is nothing to fetch that could fail.
    """
    shop, full = with_orders(t)
    disks = [full.machine.disk(name) for name in DISKS]
    for disk in disks:
        disk.faults.quota = disk.used
    for number in others(full):
        t.cut("shop", number)
    writing = shop.begins(shop.producing("orders", "second"))
    t.await_new_leader("orders", full.number)
    writing.cancel()
    t.heal()
    t.wait_until(lambda: full.number not in t.state("orders").isr, "it is out of sync")
    t.run(seconds=MEASURED)
    assert {*t.state("orders").isr} == others(full)
    for disk in disks:
        disk.faults.quota = None
    t.await_isr("orders", 1, 2, 3)
    assert not [path for disk in disks for path, _ in disk.medium.files() if "room" in path]


def test_a_leader_that_is_alone_refuses_and_leads_on(t: ClusterScenario) -> None:
    """There is none to give way to: readers are served, and with room it takes records."""
    shop = t.client("shop")
    shop.make("orders", replicas=1, min_insync_replicas="1")
    shop.produce("orders", "first")
    full = t.broker(t.leader("orders"))
    epoch = t.state("orders").leader_epoch
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=5)
    assert not writing.done()
    assert shop.read("orders") == ["first"]
    give_room(full)
    shop.ends(writing)
    assert t.state("orders").leader_epoch == epoch


def test_a_leader_without_enough_others_leads_on(t: ClusterScenario) -> None:
    """With it gone fewer than min.insync.replicas would be in sync: nothing would be won."""
    shop, full = with_orders(t)
    away = t.others(full.number)[0]
    away.kill()
    t.wait_until(lambda: away.number not in t.state("orders").isr, "one is away")
    epoch = t.state("orders").leader_epoch
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=5)
    assert not writing.done()
    assert t.state("orders").leader_epoch == epoch
    away.start()
    shop.ends(writing)  # it is back, and in sync: now another can lead
    assert t.leader("orders") != full.number


def test_two_full_disks_do_not_lead_in_turn(t: ClusterScenario) -> None:
    """One that has resigned is in no ISR until it has room, so there is an end to it."""
    shop, full = with_orders(t, min_insync_replicas="1")
    for broker in t.brokers.values():
        fill(broker)
    before = t.state("orders").leader_epoch
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=20)
    last = t.state("orders")
    assert len(last.isr) == 1
    t.run(seconds=60)
    assert not writing.done()
    assert t.state("orders").leader_epoch == last.leader_epoch
    assert last.leader_epoch - before <= 2 * len(t.brokers)
    give_room(full)
    shop.ends(writing)
    assert shop.read("orders") == ["first", "second"]
    assert t.leader("orders") == full.number


def test_a_second_full_disk_among_those_in_sync(t: ClusterScenario) -> None:
    """The one with room leads in the end, whoever is elected first."""
    shop, full = with_orders(t, min_insync_replicas="1")
    second, roomy = t.others(full.number)
    fill(full)
    fill(second)
    shop.produce("orders", "second", acks=1)
    t.wait_until(lambda: t.leader("orders") == roomy.number, "the one with room leads")
    shop.produce("orders", "third")
    assert shop.read("orders")[-1] == "third"


def test_the_controller_changes_while_a_leader_resigns(t: ClusterScenario) -> None:
    """What it is told stands in ZooKeeper, and the next one reads it there."""
    controller = t.controller()
    assert controller is not None
    full = t.others(controller)[0]
    shop = t.operator()
    shop.places("orders", (full.number, *sorted(others(full))))
    shop.produce("orders", "first")
    t.await_isr("orders", 1, 2, 3)
    t.cut(controller, full.number)
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=0.1)
    t.broker(controller).kill()
    t.heal()
    t.broker(controller).start()
    shop.ends(writing)
    assert t.leader("orders") != full.number
    give_room(full)
    t.await_isr("orders", 1, 2, 3)


def test_zookeeper_is_away_while_a_leader_resigns(t: ClusterScenario) -> None:
    """Another leads once it is back."""
    shop, full = with_orders(t)
    t.zookeeper.machine.kill()
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=2)
    assert not writing.done()
    t.zookeeper.start()
    shop.ends(writing)
    assert t.leader("orders") != full.number


def test_the_disk_fails_while_its_replica_waits_for_room(t: ClusterScenario) -> None:
    """It is offline like all others there; a new disk is filled."""
    shop, full = resigned(t)
    full.fail_disk(full.disk_of("orders"))
    t.run(seconds=MEASURED)
    shop.produce("orders", "third")
    give_room(full)
    t.run(seconds=MEASURED)
    assert {*t.state("orders").isr} == others(full)
    assert full.process.serves


def test_a_replica_that_waits_for_room_moves_to_a_disk_that_has_some(t: ClusterScenario) -> None:
    """It follows from there at once, however full the first disk stays."""
    shop, full = with_orders(t)
    source = full.disk_of("orders")
    fill(full, source)
    shop.produce("orders", "second")
    t.wait_until(lambda: full.number not in t.state("orders").isr, "it is out of sync")
    target = full.other_disk("orders")
    assert shop.move(full.number, "orders", full.path_of(target)) is ErrorCode.NONE
    t.await_isr("orders", 1, 2, 3)
    assert full.disk_of("orders") == target


@staged(settings={"replica.alter.log.dirs.io.max.bytes.per.second": "20000"})
def test_a_disk_fills_up_during_a_move_away_from_it(t: ClusterScenario) -> None:
    """The leader gives way; its copy arrives, and follows."""
    shop, full = with_orders(t)
    source, target = full.disk_of("orders"), full.other_disk("orders")
    for _ in range(8):
        shop.produce("orders", RECORD * 5)
    assert shop.move(full.number, "orders", full.path_of(target)) is ErrorCode.NONE
    t.run(seconds=0.5)
    assert full.has_future("orders")
    fill(full, source)
    shop.produce("orders", "last")
    assert t.leader("orders") != full.number
    t.await_isr("orders", 1, 2, 3)
    assert full.disk_of("orders") == target


def test_the_topic_is_deleted_while_its_replica_waits_for_room(t: ClusterScenario) -> None:
    """A topic of its name is made anew, and the replica of it waits for nothing."""
    shop, full = resigned(t)
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    give_room(full)
    shop.make("orders")
    t.await_isr("orders", 1, 2, 3)


def test_the_topic_is_deleted_while_its_leader_resigns(t: ClusterScenario) -> None:
    """The controller has not heard of it: the log is offline for a moment, and goes."""
    shop, full = with_orders(t)
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    deleting = shop.begins(shop.deleting("orders"))
    t.run(seconds=1)
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    writing.cancel()
    shop.ends(deleting)


def test_a_broker_with_a_full_disk_stops_in_good_order(t: ClusterScenario) -> None:
    """It leads nothing that has to be handed over; after a start with room it is in sync."""
    shop, full = resigned(t)
    full.stop()
    give_room(full)
    full.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["first", "second"]


def test_a_coordinator_moves_with_its_log(t: ClusterScenario) -> None:
    """A member commits at the next leader of the group's partition of `__consumer_offsets`."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "first")
    member = shop.member("group", "orders")
    member.joins()
    assert member.commits("orders", 0, 1) is ErrorCode.NONE
    offsets = TopicPartition("__consumer_offsets", partition_of("group", 2))
    t.await_isr(offsets.topic, 1, 2, 3, partition=offsets.partition)
    full = t.broker(t.leader(offsets.topic, offsets.partition))
    fill(full)
    t.wait_until(
        lambda: member.commits("orders", 0, 1) is ErrorCode.NONE, "the next coordinator takes it"
    )
    assert t.leader(offsets.topic, offsets.partition) != full.number
    assert shop.committed("group") == {TopicPartition("orders", 0): 1}


def test_partitions_without_appends_stay_where_they_are(t: ClusterScenario) -> None:
    """A leader is moved for an append that it cannot take, and for nothing else."""
    shop, full = with_orders(t)
    op = t.operator()
    op.places("payments", (full.number, *sorted(others(full))))
    before = t.state("payments")
    fill(full)
    with capture_logs() as lines:
        shop.produce("orders", "second")
        t.run(seconds=MEASURED)
    assert t.state("payments") == before
    told = [it["partition"] for it in lines if it["event"] == "leader.without_room"]
    assert told == ["orders-0"]
