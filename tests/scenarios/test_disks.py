"""Two disks under one broker: what each may do to the other, which is nothing."""

import errno

from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import MIB
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.scenario import Scenario

WRITES = frozenset({"write", "sync"})


def test_a_disk_fails_alone(t: Scenario) -> None:
    """Its partitions are answered with an error, all others as ever; the broker goes on."""
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    for partition in range(4):
        shop.produce("orders", "before", partition=partition)
    broken = t.broker.disk_of("orders", 0)
    lost = [number for number in range(4) if t.broker.disk_of("orders", number) == broken]
    kept = [number for number in range(4) if number not in lost]
    assert kept

    t.broker.machine.disk(broken).faults.rows.append(Fault(errno.EIO))
    producing = shop.begins(shop.producing("orders", "lost", partition=0))
    t.run(seconds=5)
    for number in kept:
        assert shop.produce("orders", "after", partition=number) == 1
        assert shop.read("orders", number) == ["before", "after"]
    assert not producing.done()
    assert t.broker.is_running


def test_a_broker_without_a_disk_left_stops(t: Scenario) -> None:
    """It can serve nobody: so others may know."""
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    for name in ("disk-a", "disk-b"):
        t.broker.machine.disk(name).faults.rows.append(Fault(errno.EIO, WRITES))
    for number in range(4):
        _ = shop.begins(shop.producing("orders", "lost", partition=number, acks=1))
    t.wait_until(lambda: not t.broker.is_running, "the broker stops")


def test_a_topic_that_is_made_again_has_nothing_of_the_old_one(t: Scenario) -> None:
    """Another id, another beginning; no power cut brings the old records back."""
    shop = t.client("shop")
    shop.make("orders", flush_before_ack="true")
    shop.produce("orders", "old", "older")
    shop.delete("orders")
    shop.make("orders", flush_before_ack="true")
    assert shop.read("orders") == []
    assert t.client("another").produce("orders", "new") == 0

    t.broker.cut_power()
    t.broker.start()
    assert shop.read("orders") == ["new"]


def test_a_disk_that_fails_while_a_topic_is_made_takes_only_its_own_partitions(
    t: Scenario,
) -> None:
    """Those that it had just been given are lost with it; the others are served."""
    shop = t.client("shop")
    disk = t.broker.machine.disk("disk-a")
    disk.faults.rows.append(Fault(errno.EIO, frozenset({"create"}), path="orders-[23]*/*"))
    _ = shop.begins(shop.making("orders", partitions=4))
    t.run(seconds=5)
    assert t.broker.is_running
    served = [number for number in range(4) if t.broker.serves("orders", number)]
    assert served
    assert {t.broker.disk_of("orders", number) for number in served} == {"disk-b"}
    assert shop.produce("orders", "a", partition=served[0]) == 0


def test_a_disk_that_fails_at_a_first_append_takes_only_its_own_partitions(t: Scenario) -> None:
    """The log was found, and cannot be read now: that is no reason for the broker to end."""
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    t.broker.kill()
    broken = t.broker.machine.disk("disk-a")
    broken.faults.rows.append(Fault(errno.EIO, frozenset({"open"}), path="orders-*/*.txnindex"))
    t.broker.start()
    numbers = range(4)
    clients = [t.client(f"client-{number}") for number in numbers]
    writing = [
        client.begins(client.producing("orders", "a", partition=number))
        for number, client in enumerate(clients)
    ]
    t.wait_until(
        lambda: not all(t.broker.serves("orders", number) for number in numbers), "its disk fails"
    )
    served = [number for number in numbers if t.broker.serves("orders", number)]
    assert {t.broker.disk_of("orders", number) for number in served} == {"disk-b"}
    assert clients[served[0]].ends(writing[served[0]]) == 0


def test_a_topic_is_gone_only_once_a_disk_that_failed_was_looked_at(t: Scenario) -> None:
    """Its logs may be there; were it made again meanwhile, there would be two of one name."""
    shop = t.client("shop")
    shop.make("orders", partitions=4)
    shop.produce("orders", "old")
    disk = t.broker.machine.disk(t.broker.disk_of("orders"))
    disk.faults.rows.append(Fault(errno.EIO))
    writing = shop.begins(shop.producing("orders", "lost"))
    t.wait_until(lambda: not t.broker.serves("orders"), "its disk fails")
    writing.cancel()
    shop.delete("orders")
    t.run(seconds=5)
    assert shop.refusal_of(shop.making("orders")) == ErrorCode.TOPIC_ALREADY_EXISTS

    disk.faults.rows.clear()
    t.broker.kill()
    t.broker.start()
    shop.make("orders", partitions=4)
    assert shop.read("orders") == []
    t.broker.kill()
    t.broker.start()
    assert shop.read("orders") == []


def test_a_disk_that_comes_back_from_a_backup_has_logs_of_deleted_topics(t: Scenario) -> None:
    """The topic that has the name now is served, from where its records are; the other goes."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "old", "older")
    assert t.broker.disk_of("orders") == "disk-a"
    t.broker.kill()
    backup = contents(t.broker.machine.disk("disk-a"), "orders-0")
    t.broker.start()

    shop.delete("orders")
    shop.make("filler")
    shop.make("orders")
    assert t.broker.disk_of("orders") == "disk-b"
    shop.produce("orders", "new")
    t.broker.kill()
    disk = t.broker.machine.disk("disk-a")
    disk.make_directory("orders-0")
    for path, data in backup.items():
        disk.open(path, create=True).write([data], 0)

    for offset, values in enumerate((["new"], ["new", "newer"])):
        t.broker.start()
        t.wait_until(lambda: t.broker.serves("orders"), "the controller names its topic")
        assert t.broker.disk_of("orders") == "disk-b"
        assert shop.read("orders") == values
        assert "orders-0" not in t.broker.machine.disk("disk-a").names("")
        assert shop.produce("orders", "newer") == 1 + offset
        t.broker.kill()


def test_a_topic_whose_deletion_met_a_failing_disk_stays_deleted(t: Scenario) -> None:
    """Its log had another name, which a power cut undid; the disk was away as it was made anew."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "old")
    shop.make("filler")
    faults = t.broker.machine.disk("disk-a").faults.rows
    faults.append(Fault(errno.EIO, frozenset({"sync_directory"}), path=""))
    shop.delete("orders")
    t.wait_until(lambda: not t.broker.serves("orders"), "the disk fails")
    t.broker.kill()
    faults.clear()
    t.broker.start()
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    t.wait_until(lambda: shop.refusal_of(shop.deleting("orders")) == gone, "the deletion goes on")

    t.broker.cut_power()
    faults.append(Fault(errno.EIO, frozenset({"open"})))
    t.broker.start()
    shop = t.client("another")
    shop.make("orders")
    assert t.broker.disk_of("orders") == "disk-b"
    shop.produce("orders", "new")
    t.broker.kill()
    faults.clear()
    t.broker.start()
    t.wait_until(lambda: t.broker.serves("orders"), "its leader is named")
    assert shop.read("orders") == ["new"]


def test_a_start_that_retention_moved_is_where_it_was_after_a_power_cut(t: Scenario) -> None:
    """Somebody was told of it: what lies below must not be there again, as in DeleteRecords."""
    t.settings(log_retention_check_interval_ms="1000")
    shop = t.client("shop")
    orders = [TopicPartition("orders", number) for number in range(4)]
    shop.make(
        "orders",
        partitions=len(orders),
        segment_bytes="300",
        retention_bytes="900",
        flush_before_ack="true",
    )
    for number in range(32):
        shop.produce("orders", "a" * 200, partition=number % len(orders))

    def starts() -> dict[TopicPartition, int]:
        return dict(shop.does(offsets_at(shop.cluster, orders, EARLIEST)))

    t.wait_until(lambda: any(starts().values()), "retention deletes")
    told = starts()
    t.broker.cut_power()
    t.broker.start()
    t.wait_until(lambda: all(t.broker.serves("orders", it.partition) for it in orders), "it leads")
    found = starts()
    assert {it: start for it, start in found.items() if start < told[it]} == {}


def contents(disk: SimulatedDisk, directory: str) -> dict[str, bytes]:
    """All files of a directory, by their paths."""
    paths = [f"{directory}/{name}" for name in disk.names(directory)]
    return {path: disk.open(path).read(MIB, 0) for path in paths}
