"""Disks of one broker among several (KIP-112): what fails, what goes on, who is told."""

import pytest
from structlog.testing import capture_logs

from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker
from odradek.sim.stage.broker_machine import DISKS
from odradek.sim.stage.clients import Client
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER


def error_at(broker: NumberedBroker, topic: str) -> ErrorCode:
    """What a client is told by this broker."""
    assert broker.process.broker is not None
    replicas = broker.process.broker.services_of_this_life.replicas
    try:
        replicas.led(TopicPartition(topic, 0))
    except Exception as error:  # noqa: BLE001 - whatever it is, its code is asked for
        return ErrorCode(getattr(error, "code", ErrorCode.UNKNOWN_SERVER_ERROR))
    return ErrorCode.NONE


def test_a_leaders_disk_fails_and_another_broker_leads(t: ClusterScenario) -> None:
    """The broker goes on with its other disk; the controller is told, and moves what it led."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    old = t.leader("orders")
    t.broker(old).fail_disk(t.broker(old).disk_of("orders"))
    shop.produce("orders", "b")
    assert t.leader("orders") != old
    assert shop.read("orders") == ["a", "b"]
    assert t.broker(old).process.serves
    assert error_at(t.broker(old), "orders") is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_disk_fails_while_zookeeper_is_away(t: ClusterScenario) -> None:
    """Its broker refuses at once; the controller hears of it as soon as it can be told."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    old = t.leader("orders")
    assert old is not None
    t.zookeeper.machine.kill()
    t.broker(old).fail_disk(t.broker(old).disk_of("orders"))
    writing = shop.begins(shop.producing("orders", "b"))
    t.run(seconds=1)
    assert error_at(t.broker(old), "orders") is ErrorCode.KAFKA_STORAGE_ERROR
    assert not writing.done()
    t.zookeeper.start()
    shop.ends(writing)
    assert t.leader("orders") != old
    assert shop.read("orders") == ["a", "b"]
    assert t.broker(old).process.serves


def test_a_disk_fails_before_its_broker_is_registered_again(t: ClusterScenario) -> None:
    """What could not be said in the former life is said in the next one."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    controller = t.controller()
    assert controller is not None
    broker = t.others(controller)[0]
    t.cut(broker.number, ZOOKEEPER)
    t.cut(ZOOKEEPER, broker.number)
    broker.fail_disk(broker.disk_of("orders"))
    writing = shop.begins(shop.producing("orders", "b"))
    t.run(seconds=10)  # its session ends
    t.heal()
    shop.ends(writing)
    t.run(seconds=10)  # it registers again
    shop.make("payments", partitions=4)
    for number in range(4):
        t.await_isr("payments", 1, 2, 3, partition=number)
    (topic,) = shop.does(shop.cluster.refresh(["orders"])).topics
    assert list(topic.partitions[0].offline_replicas) == [broker.number]
    t.await_isr("orders", *({1, 2, 3} - {broker.number}))


def test_a_followers_disk_fails_and_it_leaves_the_isr(t: ClusterScenario) -> None:
    """At the next write to it; producers with acks=all do not wait for it any longer."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    sick = t.followers("orders")[0]
    t.broker(sick).fail_disk(t.broker(sick).disk_of("orders"))
    shop.produce("orders", "b")
    t.await_isr("orders", *({1, 2, 3} - {sick}))
    assert shop.read("orders") == ["a", "b"]


def test_a_disk_fails_while_nobody_uses_it(t: ClusterScenario) -> None:
    """Nothing is read or written, and yet the controller knows within seconds."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    t.run(seconds=12)  # all that the last record changed is noted
    old = t.broker(t.leader("orders"))
    old.fail_disk(old.disk_of("orders"))
    t.run(seconds=6)
    assert old.number not in t.state("orders").isr
    assert shop.read("orders") == ["a"]


def test_partitions_on_the_healthy_disk_see_nothing(t: ClusterScenario) -> None:
    """A log dir fails alone: what lies on the other stays where it is led."""
    shop = t.client("shop")
    shop.make("orders", partitions=6)
    for partition in range(6):
        shop.produce("orders", "a", partition=partition)
    before = {number: t.state("orders", number) for number in range(6)}
    old = before[0].leader
    assert old is not None
    bad = t.broker(old).disk_of("orders", 0)
    on_it = [number for number in range(6) if t.broker(old).disk_of("orders", number) == bad]
    t.broker(old).fail_disk(bad)
    shop.produce("orders", "b")
    t.wait_until(
        lambda: all(old not in t.state("orders", number).isr for number in on_it),
        "its replicas on the failed disk leave every ISR",
    )
    for number in set(range(6)) - set(on_it):
        assert t.state("orders", number) == before[number]


def test_a_new_controller_learns_which_replicas_are_offline(t: ClusterScenario) -> None:
    """Their broker answers KAFKA_STORAGE_ERROR whatever the epoch, so none of them is elected."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    controller = t.controller()
    assert controller is not None
    sick = t.others(controller)[0]
    sick.fail_disk(sick.disk_of("orders"))
    shop.produce("orders", "b")
    t.wait_until(lambda: sick.number not in t.state("orders").isr, "it leaves the ISR")
    t.broker(controller).kill()
    shop.produce("orders", "c", acks=1)
    assert t.leader("orders") not in {controller, sick.number}


def test_a_replaced_disk_is_filled_again_and_does_not_lead_before(t: ClusterScenario) -> None:
    """Decision 21: an empty log under an ISR that names its broker is no whole one."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    old = t.leader("orders")
    broker, disk = t.broker(old), t.broker(old).disk_of("orders")
    broker.kill()
    broker.wipe_disk(disk)
    broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert broker.log_end("orders") == 2
    assert shop.read("orders") == ["a", "b"]


def test_a_disk_that_hangs_holds_up_its_own_partitions_alone(t: ClusterScenario) -> None:
    """Roles change on the other disk, and the broker stays registered."""
    shop = t.client("shop")
    shop.make("orders", partitions=6)
    for partition in range(6):
        shop.produce("orders", "a", partition=partition)
    old = t.leader("orders")
    broker = t.broker(old)
    hanging = broker.disk_of("orders")
    broker.process.workers[hanging].hang()
    other = t.others(old)[0]
    other.kill()
    healthy = [number for number in range(6) if broker.disk_of("orders", number) != hanging]
    for number in healthy:
        shop.produce("orders", "b", partition=number)
    broker.process.workers[hanging].go_on()
    other.start()
    for number in range(6):
        t.await_isr("orders", 1, 2, 3, partition=number)


def test_a_topic_goes_although_a_disk_hung_when_it_was_deleted(t: ClusterScenario) -> None:
    """The broker answers that it could not delete; it lives on, and is asked again."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    sick = t.broker(t.followers("orders")[0])
    worker = sick.process.workers[sick.disk_of("orders")]
    worker.hang()
    deleting = shop.begins(shop.deleting("orders"))
    t.run(seconds=8)
    worker.go_on()
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    shop.ends(deleting)
    shop.make("orders")


def with_full_disks(t: ClusterScenario) -> tuple[Client, NumberedBroker]:
    """A topic of which broker 3 could not make the log."""
    shop, full = t.client("shop"), t.broker(3)
    for name in DISKS:
        disk = full.machine.disk(name)
        disk.faults.capacity = disk.used
    shop.make("orders")
    t.await_isr("orders", 1, 2)
    return shop, full


def give_room(full: NumberedBroker) -> None:
    """Its disks take bytes again."""
    for name in DISKS:
        full.machine.disk(name).faults.capacity = None


def test_a_topic_goes_although_a_full_disk_could_not_take_its_log(t: ClusterScenario) -> None:
    """No dir has failed, so none may hide the log; and once there is room it can be made."""
    shop, full = with_full_disks(t)
    assert full.log("orders") is None
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    give_room(full)
    shop.make("orders")
    t.await_isr("orders", 1, 2, 3)


def test_a_log_that_a_full_disk_could_not_take_is_made_once_there_is_room(
    t: ClusterScenario,
) -> None:
    """Nobody has to start the broker again, nor to touch the topic."""
    _, full = with_full_disks(t)
    give_room(full)
    t.await_isr("orders", 1, 2, 3)


def test_a_follower_without_room_asks_its_leader_seldom(t: ClusterScenario) -> None:
    """Each answer is thrown away; the producer goes on, and with room it is in sync again."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    t.await_isr("orders", 1, 2, 3)
    full = t.broker(t.followers("orders")[0])
    disk = full.machine.disk(full.disk_of("orders"))
    disk.faults.capacity = disk.used
    with capture_logs() as lines:
        for _ in range(65):
            shop.produce("orders", "b" * 1_000)
            t.run(seconds=1)
    first, later = (it["failures"] for it in lines if it["event"] == "follower.not_written")
    assert 20 < first + later < 40  # of one minute
    give_room(full)
    t.await_isr("orders", 1, 2, 3)


@pytest.mark.parametrize("min_isr", ["1", "2"])
def test_a_replica_that_lost_power_waits_for_a_whole_one(t: ClusterScenario, min_isr: str) -> None:
    """What was not flushed may be gone without a trace: its batches end where a batch may end.

    All are down; only one has lost its power, and it is the first to return.
    """
    shop = t.client("shop")
    shop.make("orders", min_insync_replicas=min_isr)
    shop.produce("orders", "a")
    first = t.broker(t.leader("orders"))
    whole = t.others(first.number)
    for broker in whole:
        broker.kill()
    first.cut_power()
    first.start()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    for broker in whole:
        broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a"]


def test_a_mark_of_a_clean_shutdown_counts_once(t: ClusterScenario) -> None:
    """It says nothing of the life after: one that lost power in that may lack records."""
    shop = t.client("shop")
    shop.make("orders")
    first = t.broker(t.leader("orders"))
    first.stop()
    first.start()
    t.await_isr("orders", 1, 2, 3)
    shop.produce("orders", "a")
    whole = t.others(first.number)
    for broker in whole:
        broker.kill()
    t.await_isr("orders", first.number)
    first.cut_power()
    first.start()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    for broker in whole:
        broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a"]
