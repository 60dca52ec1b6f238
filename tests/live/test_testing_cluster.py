"""`odradek.testing.cluster`: what can be done to it in a test's process, and what is left."""

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog
from confluent_kafka import Consumer, Producer, TopicPartition

import odradek.testing
from odradek.testing.errors import WrongCall
from odradek.testing.isolated import IsolatedCluster
from odradek.testing.local import LocalCluster

SETTINGS = {"replica.lag.time.max.ms": 1_000, "zookeeper.session.timeout.ms": 2_000}
API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000007 0000")


@pytest.fixture
def c() -> Iterator[LocalCluster]:
    """Three brokers, and a topic of three partitions."""
    with odradek.testing.cluster(settings=SETTINGS) as running:
        running.topic("orders", partitions=3)
        yield running


def produce(c: LocalCluster | IsolatedCluster, *values: str, topic: str = "orders") -> None:
    """Each is acknowledged by all that are in sync."""
    producer = Producer({"bootstrap.servers": c.bootstrap, "acks": "all", "log_level": 0})
    errors: list[object] = []
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: errors.append(error)
        )
    assert producer.flush(30) == 0
    assert errors == [None] * len(values)


def consumed(c: LocalCluster | IsolatedCluster, count: int) -> list[str]:
    """The first records."""
    settings = {"bootstrap.servers": c.bootstrap, "group.id": "readers", "log_level": 0}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    found: list[str] = []
    try:
        while len(found) < count:
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None
            found.append((message.value() or b"").decode())
    finally:
        consumer.close()
    return found


def test_a_leader_is_killed_and_comes_back(c: LocalCluster) -> None:
    """What was acknowledged is there; who comes back gets what it missed."""
    first = c.leader("orders")
    produce(c, "a")
    c.kill(first)
    assert first not in c.alive
    assert c.leader("orders") != first
    produce(c, "b")
    c.start(first)
    c.await_isr("orders")
    assert consumed(c, 2) == ["a", "b"]
    assert list(c.directory(first, 0).parent.glob("*/orders-0/*.log"))


def test_a_broker_stops_in_good_order(c: LocalCluster) -> None:
    """It hands over, and starts at the same address."""
    before = c.bootstrap
    c.stop(2)
    assert c.alive == [1, 3]
    produce(c, "a")
    c.start(2)
    c.await_isr("orders")
    assert c.bootstrap == before


def test_a_broker_stands_still(c: LocalCluster) -> None:
    """The others go on without it, and it catches up."""
    paused = next(it for it in c.brokers if it not in {c.leader("orders"), c.controller})
    c.pause(paused)
    produce(c, "a")
    c.await_isr("orders", set(c.brokers) - {paused})
    c.resume(paused)
    c.await_isr("orders")


def disk_of_orders(c: LocalCluster, broker: int) -> int:
    """Where its first partition is."""
    (log,) = c.directory(broker, 0).parent.glob("*/orders-0")
    return int(log.parent.name[-1])


def test_a_disk_fails_and_is_replaced(c: LocalCluster) -> None:
    """The broker serves by its other disk, and fills the new one."""
    disk = disk_of_orders(c, 1)
    produce(c, "a")
    c.fail_disk(1, disk)
    produce(c, "b")
    c.replace_disk(1, disk)
    c.await_isr("orders")
    assert 1 in c.alive
    assert consumed(c, 2) == ["a", "b"]


def test_a_disk_is_full_for_a_while(c: LocalCluster) -> None:
    """A full disk is not a broken one: its replicas go on once there is room."""
    follower = next(it for it in c.brokers if it != c.leader("orders"))
    disk = disk_of_orders(c, follower)
    c.fill_disk(follower, disk)
    produce(c, "a")
    c.mend_disk(follower, disk)
    c.await_isr("orders")
    assert c.alive == c.brokers
    assert consumed(c, 1) == ["a"]


def test_a_disk_is_slow(c: LocalCluster) -> None:
    """It is waited for, and its broker stays in sync."""
    c.slow_disk(1, disk_of_orders(c, 1), ms=20)
    produce(c, "a")
    assert consumed(c, 1) == ["a"]
    c.await_isr("orders")


def test_brokers_are_cut_from_each_other(c: LocalCluster) -> None:
    """Who does not fetch leaves the ISR, and returns once the network heals."""
    leader = c.leader(c.topic("payments"))
    alone = next(it for it in c.brokers if it not in {leader, c.controller})
    c.cut({alone}, set(c.brokers) - {alone})
    produce(c, "a", topic="payments")
    c.await_isr("payments", set(c.brokers) - {alone})
    c.heal()
    c.await_isr("payments")


def test_a_link_is_slow(c: LocalCluster) -> None:
    """Who fetches too late leaves the ISR, and has the records all the same."""
    leader = c.leader(c.topic("payments"))
    late = next(it for it in c.brokers if it not in {leader, c.controller})
    c.delay(leader, late, ms=1_500)
    produce(c, "over the slow link", topic="payments")
    c.await_isr("payments", set(c.brokers) - {late})
    (log,) = c.directory(late, 0).parent.glob("*/payments-0/*.log")
    pause = threading.Event()
    while b"over the slow link" not in log.read_bytes():
        pause.wait(0.01)
    c.heal()
    c.await_isr("payments")


def test_clients_are_cut_from_one_broker(c: LocalCluster) -> None:
    """Its connections break; brokers reach each other, and nothing moves."""
    leader = c.leader("orders")
    host, port = c.bootstrap.split(",")[leader - 1].split(":")
    settings = {"bootstrap.servers": c.bootstrap, "message.timeout.ms": 1_000, "log_level": 0}
    errors: list[object] = []
    with socket.create_connection((host, int(port)), timeout=30) as before:
        before.sendall(API_VERSIONS)
        assert before.recv(4)
        c.cut_clients(leader)
        with suppress(ConnectionResetError):
            while before.recv(4_096):
                pass
    producer = Producer(settings)
    producer.produce("orders", "a", partition=0, on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    assert errors[0] is not None
    c.await_isr("orders")
    assert c.leader("orders") == leader
    c.heal()
    produce(c, "b")


def test_a_session_expires_and_a_controller_moves(c: LocalCluster) -> None:
    """The broker lives, and registers again."""
    c.expire_session(1)
    c.await_isr("orders")
    target = next(it for it in c.brokers if it != c.controller)
    c.move_controller(target)
    assert c.controller == target
    produce(c, "a")


def test_what_cannot_be_is_refused(c: LocalCluster) -> None:
    """In one line that names what there is."""
    with pytest.raises(WrongCall, match=r"there is no broker 4: there are \[1, 2, 3\]"):
        c.kill(4)
    with pytest.raises(WrongCall, match="broker 1 has no disk 2: it has 0 to 1"):
        c.fail_disk(1, 2)
    with pytest.raises(WrongCall, match="broker 1 runs already"):
        c.start(1)
    with pytest.raises(WrongCall, match="broker 1 does not stand still"):
        c.resume(1)
    with pytest.raises(WrongCall, match="cannot be cut from itself"):
        c.cut({1}, {1, 2})
    c.kill(1)
    with pytest.raises(WrongCall, match="broker 1 does not run"):
        c.kill(1)
    with pytest.raises(WrongCall, match=r"log\.dirs is not for a test to set"):
        odradek.testing.cluster(settings={"log.dirs": "elsewhere"})
    with (
        pytest.raises(WrongCall, match=r"num\.partitions"),
        odradek.testing.cluster(settings={"num.partitions": "many"}),
    ):
        pass


def _open_files() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except OSError:
            continue
    return {name: it for name, it in found.items() if "/proc/" not in it}


def _globals() -> tuple[object, ...]:
    return (
        asyncio.get_event_loop_policy(),
        logging.getLogger().handlers[:],
        dict(structlog.get_config()),
        [signal.getsignal(it) for it in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)],
        resource.getrlimit(resource.RLIMIT_NOFILE),
        gc.get_threshold(),
        gc.isenabled(),
        gc.get_freeze_count(),
        sys.unraisablehook,
        threading.excepthook,
        os.environ.copy(),
    )


def test_nothing_global_is_touched_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads, descriptors and files are gone, also of brokers that were killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with odradek.testing.cluster(1):
        pass  # what is imported once stays
    before = _globals(), _open_files(), set(threading.enumerate())
    with odradek.testing.cluster() as c:
        assert _globals() == before[0]
        c.topic("orders", partitions=4)
        c.kill(1)
        c.pause(2)
    assert _globals() == before[0]
    assert _open_files() == before[1]
    assert set(threading.enumerate()) == before[2]
    assert list(tmp_path.iterdir()) == []


def test_a_child_of_a_fork_leaves_the_cluster_alone(c: LocalCluster) -> None:
    """Whatever it runs at its end."""
    child = os.fork()
    if not child:
        c.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    produce(c, "a")


def test_two_clusters_side_by_side() -> None:
    """Each has its own brokers and topics."""
    with odradek.testing.cluster(1) as one, odradek.testing.cluster(1) as other:
        one.topic("orders")
        other.topic("orders")
        produce(one, "a")
        produce(other, "b")
        assert consumed(one, 1) + consumed(other, 1) == ["a", "b"]
