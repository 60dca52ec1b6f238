"""What an operator does with the log dirs of a broker that runs."""

from collections.abc import Mapping
from typing import Any

import pytest

from odradek.client.admin import admin
from odradek.client.errors import Refused
from odradek.model.admin_operations import (
    LOG_DIR_CORDON,
    LOG_DIR_OFFLINE,
    LOG_DIR_REPLACE,
    LOG_DIR_UNCORDON,
    LOG_DIRS_DESCRIBE,
    AdminOperation,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker
from odradek.sim.stage.clients import Client
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)


def stage(t: ClusterScenario, partitions: int = 1) -> tuple[Client, NumberedBroker, str]:
    """A client, a broker that leads, and the disk on which that replica is."""
    shop = t.client("shop")
    shop.make("orders", partitions=partitions, segment_bytes="100")
    for partition in range(partitions):
        shop.produce("orders", "a", partition=partition)
    broker = t.broker(t.leader("orders"))
    return shop, broker, broker.disk_of("orders")


def log_start(broker: NumberedBroker) -> int:
    """Where its log begins."""
    found = broker.log("orders")
    assert found is not None
    return found.log_start_offset


def operated(
    shop: Client, operation: AdminOperation, broker: NumberedBroker, disk: str
) -> Mapping[str, Any]:
    """One operation on one of its dirs."""
    return shop.operate(operation, broker.number, dir=broker.path_of(disk))


def refusal(shop: Client, operation: AdminOperation, broker: NumberedBroker, disk: str) -> str:
    """In which words it is refused."""
    with pytest.raises(Refused) as refused:
        operated(shop, operation, broker, disk)
    return str(refused.value)


def described(shop: Client, broker: NumberedBroker, disk: str) -> Mapping[str, Any]:
    """What the broker says of one of its dirs."""
    dirs = shop.operate(LOG_DIRS_DESCRIBE, broker.number)["dirs"]
    (found,) = [row for row in dirs if row["dir"] == broker.path_of(disk)]
    return dict(found)


def test_a_replaced_disk_is_filled_again_without_a_restart(t: ClusterScenario) -> None:
    """The controller asks for all replicas once more; those that were there are made anew."""
    shop, broker, disk = stage(t, partitions=6)
    there = [number for number in range(6) if broker.disk_of("orders", number) == disk]
    others = set(range(6)) - {*there}
    before = {number: t.state("orders", number) for number in others}
    broker.fail_disk(disk)
    for number in there:
        shop.produce("orders", "b", partition=number)
        isr = {1, 2, 3} - {broker.number}
        t.await_isr("orders", *isr, partition=number)
    assert described(shop, broker, disk)["state"] == "offline"
    broker.exchange_disk(disk)
    assert operated(shop, LOG_DIR_REPLACE, broker, disk)["replicas"] >= len(there)
    for number in there:
        t.await_isr("orders", 1, 2, 3, partition=number)
        t.wait_until(lambda it=number: broker.log_end("orders", it) == 2, "it has all")  # type: ignore[misc]
        assert broker.disk_of("orders", number) == disk
    assert {number: t.state("orders", number) for number in others} == before
    found = described(shop, broker, disk)
    assert (found["state"], found["partitions"] >= len(there)) == ("online", True)
    broker.stop()
    broker.start()
    assert [broker.log_end("orders", number) for number in there] == [2] * len(there)


def test_an_emptied_log_does_not_lead_before_a_whole_one(t: ClusterScenario) -> None:
    """The replaced disk is there at once; the other replicas are away."""
    shop, broker, disk = stage(t)
    broker.fail_disk(disk)
    shop.produce("orders", "b")
    t.await_isr("orders", *({1, 2, 3} - {broker.number}))
    others = t.others(broker.number)
    for other in others:
        other.kill()
    broker.exchange_disk(disk)
    t.run(seconds=8)
    operated(shop, LOG_DIR_REPLACE, broker, disk)
    t.run(seconds=8)
    assert t.state("orders").leader != broker.number
    for other in others:
        other.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


def test_what_cannot_be_replaced_is_refused(t: ClusterScenario) -> None:
    """In a sentence that names the dir; nothing is changed."""
    shop, broker, disk = stage(t)
    path = broker.path_of(disk)
    assert f"{path} is online" in refusal(shop, LOG_DIR_REPLACE, broker, disk)
    operated(shop, LOG_DIR_OFFLINE, broker, disk)
    assert f"{path} is not empty" in refusal(shop, LOG_DIR_REPLACE, broker, disk)
    broker.machine.disk(disk).faults.rows.append(Fault())
    assert f"{path} cannot be used" in refusal(shop, LOG_DIR_REPLACE, broker, disk)
    with pytest.raises(Refused) as refused:
        shop.operate(LOG_DIR_REPLACE, broker.number, dir="/nowhere")
    assert refused.value.code is ErrorCode.LOG_DIR_NOT_FOUND
    assert described(shop, broker, disk)["state"] == "offline"


def test_a_disk_is_said_to_hang_when_it_does_and_not_when_it_is_busy(t: ClusterScenario) -> None:
    """Two seconds are nothing on a busy machine; an alarm that comes then is not believed later."""
    shop, broker, disk = stage(t)
    operator = t.operator()  # whose connection does not wait for the producer's answer
    broker.hang_disk(disk)
    waits = shop.begins(shop.producing("orders", "b"))  # it needs another, small segment
    t.run(seconds=3)
    assert described(operator, broker, disk)["state"] == "online"
    t.run(seconds=4)
    assert described(operator, broker, disk)["state"] == "hangs"
    broker.release_disk(disk)
    shop.ends(waits)
    t.run(seconds=3)
    assert described(operator, broker, disk)["state"] == "online"


def test_other_dirs_are_described_while_one_hangs(t: ClusterScenario) -> None:
    """Kafka's request tells it, too: with its error, and with the replicas that are there."""
    shop, broker, disk = stage(t)
    operator = t.operator()
    broker.hang_disk(disk)
    waits = shop.begins(shop.producing("orders", "b"))

    async def ask() -> list[DescribeLogDirsResult]:
        connection = await operator.cluster.broker(BrokerId(broker.number))
        return list((await connection.ask(DescribeLogDirsRequest(None))).results)

    def found() -> tuple[DescribeLogDirsResult, DescribeLogDirsResult]:
        hanging, other = sorted(operator.does(ask()), key=lambda it: not it.log_dir.endswith(disk))
        return hanging, other

    hanging, other = found()  # nobody knows yet
    assert (hanging.error_code, hanging.usable_bytes, other.error_code) == (0, -1, 0)
    assert other.usable_bytes > 0
    t.run(seconds=7)
    hanging, other = found()
    assert hanging.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert [it.name for it in hanging.topics] == ["orders"]
    assert (other.error_code, other.usable_bytes > 0) == (ErrorCode.NONE, True)
    broker.release_disk(disk)
    shop.ends(waits)
    t.run(seconds=3)
    assert [it.error_code for it in found()] == [0, 0]


def test_a_disk_that_hangs_is_not_replaced_before_it_lets_go() -> None:
    """What it does with the old call is not known; given up work never reaches the new disk."""
    with ClusterScenario(1, settings={"log.dir.hang.timeout.ms": "2000"}) as t:
        shop, broker, disk = stage(t)
        broker.hang_disk(disk)
        t.wait_until(lambda: broker.number not in t.state("orders").isr, "it is given up")
        assert "still hangs" in refusal(shop, LOG_DIR_REPLACE, broker, disk)
        broker.release_disk(disk)
        broker.exchange_disk(disk)
        operated(shop, LOG_DIR_REPLACE, broker, disk)
        t.await_isr("orders", 1, 2, 3)


def test_a_start_that_a_hanging_disk_has_kept_does_not_count_for_the_next_disk() -> None:
    """It was not told to anybody: the log that is made anew begins where its leader's does."""
    with ClusterScenario(1, settings={"log.dir.hang.timeout.ms": "2000"}) as t:
        shop, broker, disk = stage(t)
        shop.produce("orders", "b", "c")
        broker.hang_disk(disk)
        trimming = shop.begins(admin.delete_records(shop.cluster, {TopicPartition("orders", 0): 2}))
        t.wait_until(lambda: broker.number not in t.state("orders").isr, "it is given up")
        broker.release_disk(disk)
        broker.exchange_disk(disk)
        operated(shop, LOG_DIR_REPLACE, broker, disk)
        t.await_isr("orders", 1, 2, 3)
        t.wait_until(trimming.done, "its client was answered")
        starts = {log_start(it) for it in t.brokers.values()}
        shop.produce("orders", "d")
        broker.cut_power()
        broker.start()
        t.await_isr("orders", 1, 2, 3)
        assert log_start(broker) in starts
        assert broker.log_end("orders") == 4


def test_a_restart_forgot_which_replicas_were_there() -> None:
    """With another dir offline they stay offline: they may be in that one."""
    with ClusterScenario(1) as t:
        shop, broker, disk = stage(t)
        broker.fail_disk(disk)
        shop.produce("orders", "b")
        broker.stop()
        broker.start()
        assert described(shop, broker, disk)["state"] == "offline"
        broker.exchange_disk(disk)
        operated(shop, LOG_DIR_REPLACE, broker, disk)  # the only one that was offline
        t.await_isr("orders", 1, 2, 3)


def test_a_dir_is_taken_offline_before_its_disk_is_pulled(t: ClusterScenario) -> None:
    """Its partitions are led elsewhere; the last dir of a broker stays."""
    shop, broker, disk = stage(t)
    other = broker.other_disk("orders")
    assert operated(shop, LOG_DIR_OFFLINE, broker, disk)["replicas"] >= 1
    shop.produce("orders", "b")
    assert t.leader("orders") != broker.number
    assert "is the last log dir" in refusal(shop, LOG_DIR_OFFLINE, broker, other)
    assert "offline already" in refusal(shop, LOG_DIR_OFFLINE, broker, disk)
    found = described(shop, broker, disk)
    assert "operator" in found["reason"]
    assert found["since"] > 0


def test_no_new_log_comes_to_a_cordoned_dir(t: ClusterScenario) -> None:
    """Also after a restart, until it is uncordoned; what is there stays, and is served."""
    shop, broker, disk = stage(t)
    operated(shop, LOG_DIR_CORDON, broker, disk)
    assert described(shop, broker, disk)["state"] == "cordoned"
    broker.stop()
    broker.start()
    shop.make("payments", partitions=4)
    for number in range(4):
        shop.produce("payments", "a", partition=number)
        t.await_isr("payments", 1, 2, 3, partition=number)
        assert broker.disk_of("payments", number) != disk
    assert shop.move(broker.number, "payments", broker.path_of(disk)) is not ErrorCode.NONE
    t.await_isr("orders", 1, 2, 3)
    operated(shop, LOG_DIR_UNCORDON, broker, disk)
    assert described(shop, broker, disk)["state"] == "online"
    assert shop.move(broker.number, "payments", broker.path_of(disk)) is ErrorCode.NONE


def test_a_dir_tells_of_the_copies_that_fill_it() -> None:
    """How much is left, and how fast it goes."""
    slow = {"replica.alter.log.dirs.io.max.bytes.per.second": "100"}
    with ClusterScenario(1, settings=slow) as t:
        shop, broker, disk = stage(t)
        for _ in range(8):
            shop.produce("orders", "b")
        target = broker.other_disk("orders")
        assert shop.move(broker.number, "orders", broker.path_of(target)) is ErrorCode.NONE
        t.run(seconds=2)
        (move,) = described(shop, broker, target)["moves"]
        assert move["source"] == broker.path_of(disk)
        assert 0 < move["left"] < move["bytes"]
        assert move["bytes_per_second"] > 0
