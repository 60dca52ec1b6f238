"""Replicas that move between the disks of a broker while they are served (KIP-113)."""

import pytest

from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.model.errors import ErrorCode
from odradek.model.units import Millis
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.stage.clients import Client

SLOW = {"replica.alter.log.dirs.io.max.bytes.per.second": "100"}
"""A copy takes seconds, so that something can happen meanwhile."""


def filled(t: ClusterScenario, values: int = 1) -> Client:
    """A topic with some records, each a batch of its own."""
    shop = t.client("shop")
    shop.make("orders", segment_bytes="100")
    for value in range(values):
        shop.produce("orders", f"{value}")
    return shop


def values(count: int) -> list[str]:
    """What `filled` has written."""
    return [f"{value}" for value in range(count)]


def begun(shop: Client, broker: NumberedBroker, topic: str = "orders") -> str:
    """A move to the other disk; its name."""
    disk = broker.other_disk(topic)
    assert shop.move(broker.number, topic, broker.path_of(disk)) is ErrorCode.NONE
    return disk


def arrived(t: ClusterScenario, broker: NumberedBroker, disk: str) -> None:
    """Until the replica is served from this disk."""
    t.wait_until(
        lambda: broker.log("orders") is not None and broker.disk_of("orders") == disk,
        f"the replica of broker {broker.number} is on {disk}",
    )


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_replica_moves_while_it_is_written_to(t: ClusterScenario, role: str) -> None:
    """It is served all the time, and neither the leader nor the ISR changes."""
    shop = filled(t, 3)
    number = t.leader("orders") if role == "leader" else t.followers("orders")[0]
    broker, before = t.broker(number), t.state("orders")
    disk = begun(shop, broker)
    shop.produce("orders", "3", "4")
    arrived(t, broker, disk)
    shop.produce("orders", "5")
    assert shop.read("orders") == values(6)
    t.wait_until(lambda: broker.log_end("orders") == 6, "it takes part in what comes later")
    assert t.state("orders") == before
    broker.kill()
    broker.start()
    assert broker.disk_of("orders") == disk
    assert broker.log_end("orders") == 6


def took_to_move(t: ClusterScenario, shop: Client, *, writes: bool) -> int:
    """With a target that is slow at each write of the copy, and perhaps a producer elsewhere."""
    broker = t.broker(t.leader("orders"))
    target = broker.other_disk("orders")
    slow = Fault(0, calls=frozenset({"write"}), path="*-future/*.log", delay=Millis(100))
    broker.machine.disk(target).faults.rows.append(slow)
    began = t.world.loop.now
    begun(shop, broker)
    while broker.disk_of("orders") != target:
        if writes:
            shop.produce("payments", "x")
        t.run(seconds=0.1)
    assert slow.hits > 50, "it was not slow"
    return t.world.loop.now - began


def test_a_copy_rests_a_third_of_the_time_while_producers_write(t: ClusterScenario) -> None:
    """It leaves disk and processor to them, and takes half as long again; else it does not rest."""
    shop = filled(t, 60)
    shop.make("payments")
    alone = took_to_move(t, shop, writes=False)
    beside = took_to_move(t, shop, writes=True)
    assert 1.25 < beside / alone < 1.75


@staged(settings=SLOW)
def test_a_copy_keeps_to_its_throttle_while_producers_write(t: ClusterScenario) -> None:
    """Its rests are in the rate, not beside it: neither faster nor much slower."""
    shop = filled(t, 20)
    shop.make("payments")
    broker, began = t.broker(t.leader("orders")), t.world.loop.now
    log = broker.log("orders")
    assert log is not None
    seconds = log.size / int(*SLOW.values())
    disk = begun(shop, broker)
    while broker.disk_of("orders") != disk:
        shop.produce("payments", "x")
        t.run(seconds=0.1)
    assert 0.9 < (t.world.loop.now - began) / 1e6 / seconds < 1.2


@staged(settings=SLOW)
def test_a_restart_resumes_the_move(t: ClusterScenario) -> None:
    """The copy is found, and filled on."""
    shop = filled(t, 8)
    broker = t.broker(t.followers("orders")[0])
    disk = begun(shop, broker)
    t.run(seconds=0.5)
    assert broker.has_future("orders")
    broker.stop()
    broker.start()
    assert broker.has_future("orders")
    arrived(t, broker, disk)
    t.await_isr("orders", 1, 2, 3)
    assert broker.log_end("orders") == 8


@pytest.mark.parametrize("which", ["from", "to"])
@pytest.mark.parametrize("role", ["leader", "follower"])
@staged(settings=SLOW)
def test_a_dir_fails_while_its_replica_moves_to_or_from_it(
    t: ClusterScenario, which: str, role: str
) -> None:
    """The target's failure ends the move; the source's takes the replica offline."""
    shop = filled(t, 8)
    broker = t.broker(t.leader("orders") if role == "leader" else t.followers("orders")[0])
    source = broker.disk_of("orders")
    target = begun(shop, broker)
    t.run(seconds=0.5)
    broker.fail_disk(target if which == "to" else source)
    shop.produce("orders", "8")
    if which == "to":
        t.wait_until(lambda: not broker.has_future("orders"), "the move is forgotten")
        assert broker.disk_of("orders") == source
        t.await_isr("orders", 1, 2, 3)
    else:
        t.wait_until(lambda: broker.number not in t.state("orders").isr, "it leaves the ISR")
        assert broker.log("orders") is None
    assert shop.read("orders") == values(9)


@staged(settings=SLOW)
def test_both_dirs_fail_during_a_move(t: ClusterScenario) -> None:
    """The broker has no disk left, and stops; the others go on."""
    shop = filled(t, 8)
    broker = t.broker(t.leader("orders"))
    target, source = begun(shop, broker), broker.disk_of("orders")
    t.run(seconds=0.5)
    broker.fail_disk(target)
    t.run(seconds=0.2)
    broker.fail_disk(source)
    shop.produce("orders", "8")
    t.wait_until(lambda: not broker.machine.running, "it stops")
    assert shop.read("orders") == values(9)


def test_leaders_change_during_a_move(t: ClusterScenario) -> None:
    """What a follower cuts is cut from the copy, too; its epochs are those of the leader."""
    shop = filled(t, 4)
    broker = t.broker(t.leader("orders"))
    disk = begun(shop, broker)
    broker.kill()
    shop.produce("orders", "4")
    broker.start()
    arrived(t, broker, disk)
    t.await_isr("orders", 1, 2, 3)
    shop.produce("orders", "5")
    assert shop.read("orders") == values(6)
    logs = [t.broker(number).log("orders") for number in (1, 2, 3)]
    assert len({log.epochs.entries for log in logs if log is not None}) == 1


@staged(settings=SLOW)
def test_a_topic_is_deleted_during_a_move(t: ClusterScenario) -> None:
    """Both of its logs go, and a later topic of its name has nothing of them."""
    shop = filled(t, 8)
    broker = t.broker(t.leader("orders"))
    begun(shop, broker)
    t.run(seconds=0.5)
    shop.delete("orders")
    t.wait_until(lambda: t.data(DeleteTopicZnode.path("orders")) is None, "its name is free")
    t.run(seconds=0.1)  # the controller hears of that
    shop.make("orders")
    shop.produce("orders", "new")
    assert shop.read("orders") == ["new"]
    t.run(seconds=5)
    assert not broker.has_future("orders")


@staged(settings=SLOW)
def test_a_move_elsewhere_replaces_the_one_under_way(t: ClusterScenario) -> None:
    """Back to where the replica is: the move is given up."""
    shop = filled(t, 8)
    broker = t.broker(t.leader("orders"))
    source = broker.disk_of("orders")
    begun(shop, broker)
    t.run(seconds=0.5)
    assert shop.move(broker.number, "orders", broker.path_of(source)) is ErrorCode.NONE
    assert not broker.has_future("orders")
    t.run(seconds=20)
    assert broker.disk_of("orders") == source
    begun(shop, broker)
    assert broker.has_future("orders")


def test_a_dir_is_chosen_before_the_topic_is_made(t: ClusterScenario) -> None:
    """As kafka-reassign-partitions does it: the answer says that there is no replica yet."""
    shop = t.client("shop")
    for number, broker in t.brokers.items():
        path = broker.path_of("disk-b")
        assert shop.move(number, "orders", path) is ErrorCode.REPLICA_NOT_AVAILABLE
    shop.make("orders")
    shop.produce("orders", "0")
    for broker in t.brokers.values():
        arrived(t, broker, "disk-b")


def test_what_cannot_be_moved_is_refused(t: ClusterScenario) -> None:
    """Each with the code that Kafka gives."""
    shop = filled(t)
    broker = t.broker(t.leader("orders"))
    other = broker.other_disk("orders")
    assert shop.move(broker.number, "orders", "/nowhere") is ErrorCode.LOG_DIR_NOT_FOUND
    broker.fail_disk(other)
    shop.make("payments", partitions=4)
    path = broker.path_of(other)
    assert shop.move(broker.number, "orders", path) is ErrorCode.KAFKA_STORAGE_ERROR


def begun_to_a_disk_that_hangs(
    t: ClusterScenario, jobs: int
) -> tuple[Client, NumberedBroker, str, str]:
    """A move of the leader's replica; its target hangs after so many jobs."""
    shop = filled(t, 3)
    broker = t.broker(t.leader("orders"))
    source, target = broker.disk_of("orders"), broker.other_disk("orders")
    broker.process.workers[target].hang(after=jobs)
    begun(shop, broker)
    return shop, broker, source, target


@pytest.mark.parametrize("jobs", range(1, 18))
def test_a_target_that_hangs_does_not_hold_up_the_other_disk(t: ClusterScenario, jobs: int) -> None:
    """At whichever step of the move: the replica is led from its dir, and so are its neighbours."""
    shop, broker, source, target = begun_to_a_disk_that_hangs(t, jobs)
    t.run(seconds=6)
    if broker.disk_of("orders") == source:
        shop.produce("orders", "3")
        broker.process.workers[target].go_on()
        assert shop.read("orders") == values(4)


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize("lets_go", [True, False])
def test_what_is_written_during_a_swap_waits_for_its_end(acks: int, *, lets_go: bool) -> None:
    """It is refused to no producer, and is in the log that serves then: here the target hangs."""
    swaps = 0
    for jobs in range(11, 16):
        with ClusterScenario(1) as t:
            shop, broker, source, target = begun_to_a_disk_that_hangs(t, jobs)
            t.run(seconds=1)
            log = broker.log("orders")
            assert log is not None
            if not log.is_held:
                continue
            swaps += 1
            written = shop.begins(shop.producing("orders", "3", "4", acks=acks))
            t.run(seconds=0.5)
            assert log.log_end_offset == 3
            assert not written.done()
            if lets_go:
                broker.process.workers[target].go_on()
            assert shop.ends(written) == 3
            assert broker.disk_of("orders") == (target if lets_go else source)
            assert broker.process.broker is not None
            traffics = broker.process.broker.services_of_this_life.replicas.traffics
            assert not traffics.refused.failed_produces
            broker.process.workers[target].go_on()
            assert shop.read("orders") == values(5)
    assert swaps
