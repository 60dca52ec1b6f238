"""The eight scenarios of KIP-112, and moments at which two of them meet."""

import pytest

from odradek.metadata.znodes.admin import LogDirEventZnode
from odradek.model.errors import ErrorCode
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.broker_machine import DISKS


def with_a_failed_dir(
    t: ClusterScenario, topic: str = "orders", *, leader: bool = True
) -> tuple[Operator, NumberedBroker, str]:
    """A topic of which one replica is offline."""
    shop = t.operator()
    shop.make(topic)
    shop.produce(topic, "a")
    broker = t.broker(t.leader(topic) if leader else t.followers(topic)[0])
    disk = broker.disk_of(topic)
    broker.fail_disk(disk)
    shop.produce(topic, "b")
    t.wait_until(lambda: broker.number not in t.state(topic).isr, "the replica leaves the ISR")
    return shop, broker, disk


def offline_replicas(shop: Operator, topic: str) -> list[int]:
    """As Metadata tells clients."""
    answer = shop.does(shop.cluster.refresh([topic]))
    (found,) = answer.topics
    return list(found.partitions[0].offline_replicas)


def test_1_a_topic_is_created_while_a_dir_is_offline(t: ClusterScenario) -> None:
    """isNewReplica: nothing can be missing, so the log is made in a dir that serves."""
    shop, broker, disk = with_a_failed_dir(t)
    shop.make("payments", partitions=2)
    for number in range(2):
        shop.produce("payments", "a", partition=number)
        t.await_isr("payments", 1, 2, 3, partition=number)
        assert broker.disk_of("payments", number) != disk


def test_2_a_dir_fails_while_the_broker_runs(t: ClusterScenario) -> None:
    """The notification is worked off and deleted; another broker leads."""
    _, broker, _ = with_a_failed_dir(t)
    assert t.leader("orders") != broker.number
    keeper = t.keeper("reader")
    t.wait_until(
        lambda: not keeper.does(keeper.zookeeper.children(LogDirEventZnode.PARENT))[0],
        "the notification is deleted",
    )


def test_3_a_broker_starts_with_a_bad_dir(t: ClusterScenario) -> None:
    """It serves what is on its other dir; what is missing may be on the bad one."""
    shop, broker, disk = with_a_failed_dir(t)
    broker.stop()
    broker.start()
    assert broker.log("orders") is None
    assert not broker.process.is_whole
    assert t.leader("orders") != broker.number
    shop.make("payments")
    shop.produce("payments", "a")
    t.wait_until(lambda: broker.log_end("payments") == 1, "it follows on the other dir")
    assert broker.disk_of("payments") != disk


def test_4_the_disk_is_repaired_or_replaced_and_the_broker_restarted(t: ClusterScenario) -> None:
    """With its old files, or empty: the replica catches up, and then leads again if need be."""
    shop, broker, disk = with_a_failed_dir(t)
    broker.stop()
    broker.repair_disk(disk)
    broker.start()
    t.await_isr("orders", 1, 2, 3)
    broker.stop()
    broker.wipe_disk(disk)
    broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


def test_4_the_disk_is_dropped_from_the_settings(t: ClusterScenario) -> None:
    """No dir is offline then, so its replicas are made anew on the dirs that are left."""
    shop, broker, disk = with_a_failed_dir(t)
    broker.stop()
    broker.process.drop_disk(disk)
    broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert broker.disk_of("orders") != disk
    assert shop.read("orders") == ["a", "b"]


def test_5_offline_replicas_are_told_in_metadata(t: ClusterScenario) -> None:
    """Those of a failed dir as those of a dead broker."""
    shop, broker, _ = with_a_failed_dir(t)
    t.wait_until(lambda: offline_replicas(shop, "orders") == [broker.number], "it is told")


def test_6_a_new_controller_learns_offline_replicas(t: ClusterScenario) -> None:
    """From the answers to its first LeaderAndIsr."""
    shop, broker, _ = with_a_failed_dir(t)
    shop.make("payments")
    controller = t.controller()
    assert controller is not None
    t.broker(controller).kill()
    t.wait_until(lambda: t.controller() not in {None, controller}, "another controller")
    expected = [broker.number] if controller == broker.number else [controller, broker.number]
    t.wait_until(lambda: sorted(offline_replicas(shop, "orders")) == sorted(expected), "it is told")


@staged(brokers=4)
def test_7_a_partition_is_reassigned_while_a_dir_is_offline(t: ClusterScenario) -> None:
    """Away from the offline replica, which cannot be stopped; new ones have isNewReplica."""
    shop = t.operator()
    shop.places("orders", (1, 2, 3))
    shop.produce("orders", "a")
    broker = t.broker(2)
    broker.fail_disk(broker.disk_of("orders"))
    shop.produce("orders", "b")
    assert shop.moves("orders", 1, 3, 4) is ErrorCode.NONE
    t.wait_until(lambda: not shop.ongoing(), "the reassignment ends")
    t.await_isr("orders", 1, 3, 4)
    assert shop.read("orders") == ["a", "b"]


@staged(brokers=4)
def test_7_a_replica_comes_to_a_broker_with_a_failed_dir(t: ClusterScenario) -> None:
    """IsNewReplica makes its log on the good dir, in the one that was asked for."""
    shop = t.operator()
    shop.places("orders", (1, 2, 3))
    shop.places("other", (4, 1, 2))
    shop.produce("orders", "a")
    shop.produce("other", "a")
    broker = t.broker(4)
    bad = broker.disk_of("other")
    broker.fail_disk(bad)
    shop.produce("other", "b")
    assert shop.moves("orders", 1, 2, 4) is ErrorCode.NONE
    t.await_isr("orders", 1, 2, 4)
    assert broker.disk_of("orders") != bad


def with_a_replica_that_came_again(
    t: ClusterScenario, before: tuple[str, ...], meanwhile: str, *, was_closed: bool = False
) -> tuple[Operator, NumberedBroker, str]:
    """Broker 3 has a second log of it, and the disk of the first, which is named, is offline.

    It fails as the broker runs, or between two runs.
    """
    shop = t.operator()
    shop.places("orders", (1, 2, 3))
    shop.produce("orders", *before)
    broker = t.broker(3)
    disk = broker.disk_of("orders")
    if was_closed:
        broker.stop()
    broker.fail_disk(disk)
    if was_closed:
        broker.start()
    shop.produce("orders", meanwhile)
    assert shop.moves("orders", 1, 2, 4) is ErrorCode.NONE
    t.wait_until(lambda: not shop.ongoing(), "the reassignment ends")
    broker.stop()
    broker.start()
    assert shop.moves("orders", 1, 2, 3) is ErrorCode.NONE
    t.await_isr("orders", 1, 2, 3)
    assert broker.disk_of("orders") != disk
    return shop, broker, disk


@staged(brokers=4)
def test_7_a_replica_comes_again_while_its_former_log_is_offline(t: ClusterScenario) -> None:
    """Once the dir is back there are two logs: the later one is served, the other is set aside."""
    shop, broker, disk = with_a_replica_that_came_again(t, ("a", "b"), "c")
    broker.stop()
    broker.repair_disk(disk)
    broker.start()
    t.await_isr("orders", 1, 2, 3)
    assert broker.disk_of("orders") != disk
    assert shop.moves("orders", 3, 1) is ErrorCode.NONE
    t.wait_until(lambda: t.leader("orders") == 3, "it leads")
    shop.produce("orders", "d")
    assert shop.read("orders") == ["a", "b", "c", "d"]


@pytest.mark.parametrize("was_closed", [False, True])
@staged(brokers=4)
def test_7_the_former_log_comes_back_as_the_later_ones_dir_fails(
    t: ClusterScenario, *, was_closed: bool
) -> None:
    """It is not taken for what the ISR speaks of: a replica that has all records leads.

    Nor if its dir was closed: it has missed a whole run.
    """
    shop, broker, disk = with_a_replica_that_came_again(t, ("a",), "b", was_closed=was_closed)
    later = broker.disk_of("orders")
    shop.produce("orders", "c")
    for other in (1, 2):
        t.broker(other).kill()
    t.wait_until(lambda: t.state("orders").isr == (3,), "it is the last one")
    broker.kill()
    broker.repair_disk(disk)
    broker.fail_disk(later)
    broker.start()
    t.run(seconds=5)
    for other in (1, 2):
        t.broker(other).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b", "c"]


@pytest.mark.parametrize("first", [1, 3])
def test_7_a_whole_log_that_may_be_the_former_one_stays_eligible(
    t: ClusterScenario, first: int
) -> None:
    """Its broker cannot tell while another dir is offline; with that dir it can, and it leads."""
    shop = t.operator()
    shop.places("orders", (1, 3))
    shop.places("alone", (1,), (1,), min_insync_replicas="1")
    shop.produce("orders", "a", "b")
    whole, lacking = t.broker(1), t.broker(3)
    bad = {whole: whole.other_disk("orders"), lacking: lacking.disk_of("orders")}
    alone = [it for it in range(2) if whole.disk_of("alone", it) != bad[whole]]
    whole.kill()
    t.await_isr("orders", 3)
    lacking.cut_power()
    for broker, disk in bad.items():
        broker.fail_disk(disk)
        broker.start()
    t.run(seconds=5)
    assert t.state("orders").leader is None
    assert [t.leader("alone", it) for it in alone] == [1]  # no other has it
    for broker, disk in sorted(bad.items(), key=lambda it: it[0].number != first):
        broker.kill()
        broker.repair_disk(disk)
        broker.start()
    t.await_isr("orders", 1, 3)
    assert shop.read("orders") == ["a", "b"]


def test_8_a_topic_with_an_offline_replica_is_deleted(t: ClusterScenario) -> None:
    """The deletion waits for that replica; nothing of the old topic comes back with its dir."""
    shop, broker, disk = with_a_failed_dir(t, leader=False)
    shop.delete("orders")
    t.run(seconds=5)
    broker.stop()
    broker.repair_disk(disk)
    broker.start()
    t.run(seconds=5)
    shop.make("orders")
    shop.produce("orders", "new")
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["new"]
    assert broker.log_end("orders") == 1


# Two actors meet


def test_a_dir_fails_while_the_controller_moves(t: ClusterScenario) -> None:
    """The old controller may have heard of it or not; the new one asks."""
    shop = t.operator()
    shop.make("orders", partitions=6)
    for number in range(6):
        shop.produce("orders", "a", partition=number)
    controller = t.controller()
    assert controller is not None
    sick = t.others(controller)[0]
    bad = sick.disk_of("orders")
    on_it = [number for number in range(6) if sick.disk_of("orders", number) == bad]
    sick.fail_disk(bad)
    t.broker(controller).kill()
    for number in on_it:
        shop.produce("orders", "b", partition=number, acks=1)
        assert t.leader("orders", number) not in {controller, sick.number}
    t.broker(controller).start()
    for number in on_it:
        t.await_isr("orders", *({1, 2, 3} - {sick.number}), partition=number)


@staged(brokers=4)
def test_a_dir_fails_during_a_reassignment(t: ClusterScenario) -> None:
    """Of the broker that is to take the replica: the old ones serve, and it can be cancelled."""
    shop = t.operator()
    shop.places("orders", (1, 2, 3))
    shop.produce("orders", "a")
    broker = t.broker(4)
    for disk in ("disk-a", "disk-b"):
        broker.hang_disk(disk)
    assert shop.moves("orders", 1, 2, 4) is ErrorCode.NONE
    t.run(seconds=3)
    broker.fail_disk("disk-a")
    for disk in ("disk-a", "disk-b"):
        broker.release_disk(disk)
    shop.produce("orders", "b")
    t.wait_until(
        lambda: not shop.ongoing() or 4 in offline_replicas(shop, "orders"), "it is settled"
    )
    if shop.ongoing():
        assert shop.cancels("orders") is ErrorCode.NONE
        t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


def test_a_dir_fails_during_a_deletion(t: ClusterScenario) -> None:
    """A later topic of the name is not mixed with what is left there."""
    shop = t.operator()
    shop.make("orders")
    shop.produce("orders", "a")
    broker = t.broker(t.leader("orders"))
    disk = broker.disk_of("orders")
    broker.hang_disk(disk)
    shop.delete("orders")
    t.run(seconds=1)
    broker.fail_disk(disk)
    broker.release_disk(disk)
    t.run(seconds=5)
    broker.stop()
    broker.repair_disk(disk)
    broker.start()
    t.run(seconds=5)
    shop.make("orders")
    shop.produce("orders", "new")
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["new"]


def test_a_dir_fails_when_the_first_of_its_logs_is_deleted(t: ClusterScenario) -> None:
    """The others in it are not deleted either; the topic is gone once none of them is left."""
    shop = t.operator()
    shop.make("orders", partitions=4)
    broker = t.broker(t.leader("orders"))
    t.wait_until(lambda: all(broker.log("orders", it) for it in range(4)), "it has all logs")
    disk = broker.disk_of("orders")
    assert sum(broker.disk_of("orders", number) == disk for number in range(4)) > 1
    broker.fail_disk(disk)
    shop.delete("orders")
    t.run(seconds=5)
    assert t.has_topic("orders")
    broker.stop()
    broker.repair_disk(disk)
    broker.start()
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    assert {broker.log("orders", number) for number in range(4)} == {None}


def test_a_dir_fails_during_a_start(t: ClusterScenario) -> None:
    """It is offline from then on; the broker serves with the other."""
    shop = t.operator()
    shop.make("orders", partitions=4)
    for number in range(4):
        shop.produce("orders", "a", partition=number)
    broker = t.broker(t.leader("orders"))
    bad = broker.disk_of("orders")
    here = [number for number in range(4) if broker.disk_of("orders", number) == bad]
    there = set(range(4)) - {*here}
    broker.kill()
    broker.fail_disk(bad, after=25)
    broker.start()
    for number in there:
        t.await_isr("orders", 1, 2, 3, partition=number)
    for number in here:
        t.await_isr("orders", *({1, 2, 3} - {broker.number}), partition=number)


def test_a_dir_comes_back_with_the_log_of_a_topic_that_was_deleted(t: ClusterScenario) -> None:
    """Its topic id tells it from the topic that has the name now: it is set aside, not served."""
    shop, broker, disk = with_a_failed_dir(t)
    broker.stop()
    broker.process.drop_disk(disk)
    broker.start()
    t.await_isr("orders", 1, 2, 3)
    shop.delete("orders")
    others = [it.number for it in t.others(broker.number)]
    t.wait_until(lambda: shop.deletion_of("orders") is not ErrorCode.NONE, "it is deleted")
    shop.places("orders", others)
    shop.produce("orders", "new")
    broker.stop()
    broker.repair_disk(disk)
    broker.process.disks = DISKS
    broker.start()
    t.wait_until(lambda: broker.log("orders") is None, "the log is set aside")
    new = t.broker(others[0]).log("orders")
    assert new is not None
    assert shop.moves("orders", *others, broker.number) is ErrorCode.NONE
    t.await_isr("orders", 1, 2, 3)
    found = broker.log("orders")
    assert found is not None
    assert found.topic_id == new.topic_id
    assert shop.read("orders") == ["new"]


def test_both_dirs_fail_within_a_second(t: ClusterScenario) -> None:
    """The broker stops, the others lead; with its disks repaired it catches up."""
    shop = t.operator()
    shop.make("orders", partitions=4)
    for number in range(4):
        shop.produce("orders", "a", partition=number)
    broker = t.broker(t.leader("orders"))
    assert {broker.disk_of("orders", number) for number in range(4)} == {*DISKS}
    broker.fail_disk(DISKS[0])
    t.run(seconds=0.5)
    broker.fail_disk(DISKS[1])
    for number in range(4):
        shop.produce("orders", "b", partition=number)
        assert t.leader("orders", number) != broker.number
    t.wait_until(lambda: not broker.machine.running, "it stops")
    for disk in DISKS:
        broker.repair_disk(disk)
    broker.start()
    for number in range(4):
        t.await_isr("orders", 1, 2, 3, partition=number)
        assert shop.read("orders", partition=number) == ["a", "b"]
