"""What alerts read has the value that its name says, before, during and after the fault."""

import os
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import ClusterBroker, LiveCluster

MISSING = "odradek_controller_missing_broker"
MOVING = "odradek_controller_reassigning_partitions"
WAITING = "odradek_controller_waiting_reassignments"
UNCLEAN = "kafka_controller_controllerstats_uncleanleaderelections_total"
UNDELETED = "kafka_controller_kafkacontroller_topicsineligibletodeletecount"
REFUSING = "kafka_server_replicamanager_underminisrpartitioncount"
NOTHING = dict.fromkeys((MISSING, MOVING, WAITING, UNCLEAN, UNDELETED, REFUSING), 0.0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Four brokers with pages."""
    settings = {"admin.listener": "127.0.0.1:@", "min.insync.replicas": "1"}
    with LiveCluster(tmp_path / "cluster", 4, settings) as cluster:
        yield cluster


@pytest.fixture
def odradek(odradek: Shell, cluster: LiveCluster) -> Shell:
    """The command, at two brokers that live on."""
    odradek.bootstrap = ",".join(cluster.brokers[it].bootstrap for it in (1, 2))
    return odradek


def page(broker: ClusterBroker) -> str:
    """All that it tells now."""
    with urllib.request.urlopen(f"http://{broker.pages}/metrics") as answer:
        found: str = answer.read().decode()
    return found


def figures(cluster: LiveCluster, *living: int) -> dict[str, float]:
    """The sum over these brokers, as alerts take it; a missing broker by its number."""
    found = dict(NOTHING)
    for number in living:
        text = page(cluster.brokers[number])
        for name in found:
            for labels, value in re.findall(rf"^{name}({{.*}})? (\S+)$", text, re.MULTILINE):
                found[name] += int(re.sub(r"\D", "", labels)) if labels else float(value)
    return found


def test_what_the_controller_counts_is_what_alerts_are_about(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """A move, one that waits, a broker that is gone, a leader from outside the ISR."""
    cluster.place("orders", [1, 2])
    cluster.place("lossy", [2, 3])
    cluster.place("strict", [1, 3], **{"min.insync.replicas": "2"})
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for _ in range(6_000):
        producer.produce("orders", b"x" * 1_000)
    producer.flush(10)
    assert figures(cluster, 1, 2, 3, 4) == NOTHING
    slow = ("--replicas", "1,4", "--throttle", "1K", "--no-wait")
    odradek("partition", "reassign", "orders", *slow)
    eventually(lambda: figures(cluster, 1, 2, 3, 4) == {**NOTHING, MOVING: 1}, what="it moves")
    cluster.brokers[4].kill()
    gone = {**NOTHING, MOVING: 1, WAITING: 1, MISSING: 4}
    eventually(lambda: figures(cluster, 1, 2, 3) == gone, what="the move waits")
    odradek("partition", "reassign", "--cancel")
    eventually(lambda: figures(cluster, 1, 2, 3) == NOTHING, what="nothing moves")
    odradek("partition", "throttle", "none")

    cluster.brokers[3].stop()
    eventually(lambda: figures(cluster, 1, 2)[REFUSING] == 1, what="strict-0 refuses acks=all")
    odradek("produce", "lossy", said=b"a\n")
    cluster.brokers[2].kill()
    cluster.brokers[3].start()
    gone = {**NOTHING, MISSING: 2}
    eventually(lambda: figures(cluster, 1, 3) == gone, what="broker 2 is gone")
    elect = ("partition", "elect", "lossy", "--unclean", "--yes")
    eventually(lambda: ["lossy-0", "-", "3", "elected"] in odradek.run(*elect).rows)
    eventually(lambda: figures(cluster, 1, 3) == {**gone, UNCLEAN: 1}, what="it is counted")
    odradek("topic", "delete", "lossy", "--yes")
    undeleted = {**gone, UNCLEAN: 1, UNDELETED: 1}
    eventually(lambda: figures(cluster, 1, 3) == undeleted, what="the deletion waits")
    cluster.brokers[2].start()
    eventually(lambda: figures(cluster, 1, 2, 3)[MISSING] == 0, what="broker 2 is back")
    eventually(lambda: figures(cluster, 1, 2, 3)[UNDELETED] == 0, what="the topic is deleted")


def test_what_is_told_of_disks_and_of_the_process(cluster: LiveCluster) -> None:
    """Room as the file system counts it; files as the system counts those of the process."""
    broker = cluster.brokers[1]
    of_a_dir = re.compile(r"^odradek_log_dir_free_bytes{.*} (\S+)$", re.MULTILINE)
    eventually(lambda: of_a_dir.search(page(broker)), what="free space is looked at")
    text = page(broker)
    free = [float(it) for it in of_a_dir.findall(text)]
    room = os.statvfs(broker.directory)
    assert len(free) == 2
    assert all(0.5 < it / (room.f_bavail * room.f_frsize) < 2 for it in free)
    total = [
        float(it)
        for it in re.findall(r"^odradek_log_dir_total_bytes{.*} (\S+)$", text, re.MULTILINE)
    ]
    assert total == [room.f_blocks * room.f_frsize] * 2
    (opened,) = re.findall(r"^process_open_fds (\S+)$", text, re.MULTILINE)
    (most,) = re.findall(r"^process_max_fds (\S+)$", text, re.MULTILINE)
    (memory,) = re.findall(r"^process_resident_memory_bytes (\S+)$", text, re.MULTILINE)
    (pages,) = re.findall(r"^VmRSS:\s+(\d+) kB$", _status(broker.pid), re.MULTILINE)
    assert 0.5 < float(memory) / (int(pages) * 1024) < 2
    (spent,) = re.findall(r"^process_cpu_seconds_total (\S+)$", text, re.MULTILINE)
    ticks = Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    now = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    assert 0 < float(spent) <= now + 0.1
    there = len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))
    assert abs(float(opened) - there) < 20
    assert re.search(rf"^Max open files +{int(float(most))} ", _limits(broker.pid), re.MULTILINE)


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def _limits(pid: int) -> str:
    return Path(f"/proc/{pid}/limits").read_text()
