"""Disks of live brokers fail one at a time: on real file systems, and as Kafka's own tests have it.

Broker 1 has two ext4 file systems of its own; the others have plain directories. Kafka's plan is
that of KIP-112 and of its `log_dir_failure_test.py`: {leader, follower} x {restart, no restart}.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from odradek.model.ids import TopicPartition
from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster
from tests.live.mounted_disks import MountedDisk, why_not
from tests.live.workload import SteadyProducer, check_kept, read_all

VICTIM = 1
PARTITIONS = 8  # more than logs of consumer offsets, which may all be in one dir
OFTEN = {"segment.bytes": "4096"}
"""New files are needed soon: those that are open stay usable in a directory that is gone."""
SMALL = {"batch.size": 2_048}
"""What has gathered during an election still fits into such a segment."""
SETTINGS = {
    "replica.high.watermark.checkpoint.interval.ms": "60000",
    "auto.create.topics.enable": "false",
    "zookeeper.session.timeout.ms": "2000",
}


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MountedDisk]]:
    """The two of broker 1."""
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("disks") / f"broker-{VICTIM}"
    with ExitStack() as stack:
        names = ("disk-a", "disk-b")
        yield [stack.enter_context(MountedDisk(folder / name)) for name in names]


@pytest.fixture(scope="module")
def cluster(disks: list[MountedDisk]) -> Iterator[LiveCluster]:
    """One for all tests: each leaves it whole."""
    with LiveCluster(disks[0].path.parents[1], settings=SETTINGS) as running:
        yield running


def on_disk(path: Path, topic: str) -> set[int]:
    """The partitions of a topic of which this dir has a replica."""
    return {int(it.name.rpartition("-")[2]) for it in path.glob(f"{topic}-?")}


def split(
    bad: Path, good: Path, topic: str, partitions: int = PARTITIONS
) -> tuple[set[int], set[int]]:
    """What a topic has on each dir, once it is made: its ISR is full before its logs are there."""

    def is_made() -> bool:
        return len(on_disk(bad, topic) | on_disk(good, topic)) == partitions

    eventually(is_made, what=f"{topic} is made")
    found = on_disk(bad, topic), on_disk(good, topic)
    assert all(found), f"{topic} is on one disk: {found}"
    return found


def drop(cluster: LiveCluster, disks: list[MountedDisk], topic: str) -> None:
    """Returns once its files are gone: the next topic is put where the fewest logs are."""
    cluster.drop(topic)
    eventually(lambda: not any(on_disk(it.path, topic) for it in disks), what="it is deleted")


def await_offline(cluster: LiveCluster, topic: str, lost: set[int]) -> None:
    """Until others lead these, and broker 1 is in sync with none of them."""

    def is_out() -> bool:
        now = cluster.partitions(topic)
        return all(now[it][0] not in {-1, VICTIM} and VICTIM not in now[it][1] for it in lost)

    eventually(is_out, what="the replicas on the dir are out of the ISR")


def await_more(producer: SteadyProducer, partitions: set[int]) -> None:
    """Until each has acknowledged something new."""
    counts = {it: len(producer.acknowledged[it]) for it in partitions}
    eventually(lambda: all(len(producer.acknowledged[it]) > counts[it] for it in partitions))


def await_unmounted(disk: MountedDisk) -> None:
    """Until no file of it is open."""

    def is_unmounted() -> bool:
        try:
            disk.unmount()
        except OSError:
            return False
        return True

    eventually(is_unmounted, what="nothing keeps a file of the disk open")


def breaks_down(disk: MountedDisk) -> None:
    """Every call fails with EIO."""
    disk.break_down()


def becomes_read_only(disk: MountedDisk) -> None:
    """As after damage."""
    disk.make_read_only()


def is_pulled(disk: MountedDisk) -> None:
    """What is open goes on; what is made anew has no place."""
    disk.pull()


def is_hidden(disk: MountedDisk) -> None:
    """The directory is there, and nothing of it."""
    disk.hide()


@pytest.mark.parametrize("fails", [breaks_down, becomes_read_only, is_pulled, is_hidden])
def test_a_disk_fails_and_is_replaced_without_a_restart(
    cluster: LiveCluster,
    disks: list[MountedDisk],
    odradek: Shell,
    fails: Callable[[MountedDisk], None],
) -> None:
    """Its partitions are led elsewhere, the others stay; nothing acknowledged is lost."""
    topic = fails.__name__
    cluster.place(topic, *([[1, 2, 3]] * PARTITIONS), **OFTEN)
    disk, every = disks[0], set(range(PARTITIONS))
    lost, _ = split(disk.path, disks[1].path, topic)
    with SteadyProducer(cluster.bootstrap, topic, PARTITIONS, **SMALL) as producer:
        await_more(producer, every)
        fails(disk)
        await_offline(cluster, topic, lost)
        now = cluster.partitions(topic)
        assert {it: now[it] for it in every - lost} == dict.fromkeys(every - lost, (1, [1, 2, 3]))
        await_more(producer, every)
        name = str(disk.path)
        rows = odradek("logdirs", "describe", "--broker", "1", "--json").json
        assert {row["log_dir"]: row["state"] for row in rows}[name] == "offline"
        if fails in {breaks_down, becomes_read_only}:
            await_unmounted(disk)
        disk.pull()
        disk.insert()
        odradek("logdirs", "replace", name, "--broker", "1")
        cluster.await_isr(topic, 3)
        await_more(producer, every)
    assert not producer.failed
    assert on_disk(disk.path, topic) == lost
    check_kept(producer, read_all(cluster.bootstrap, topic, PARTITIONS))
    cluster.await_isr(topic, 3)
    cluster.check_replicas_equal(topic)
    drop(cluster, disks, topic)


def test_a_disk_that_is_taken_offline_can_be_unmounted(
    cluster: LiveCluster, disks: list[MountedDisk], odradek: Shell
) -> None:
    """Whose logs have just been moved away: the directories that wait for their end are closed."""
    topic, (disk, other) = "taken", disks
    cluster.place(topic, *([[1, 2, 3]] * PARTITIONS), **OFTEN)
    split(disk.path, other.path, topic)
    with SteadyProducer(cluster.bootstrap, topic, PARTITIONS, **SMALL) as producer:
        await_more(producer, set(range(PARTITIONS)))
        odradek("logdirs", "move", str(other.path), topic, "--broker", "1")
        odradek("logdirs", "offline", str(disk.path), "--broker", "1", "--yes")
        await_unmounted(disk)
        disk.insert()
        odradek("logdirs", "replace", str(disk.path), "--broker", "1")
        cluster.await_isr(topic, 3)
        await_more(producer, set(range(PARTITIONS)))
    assert not producer.failed
    check_kept(producer, read_all(cluster.bootstrap, topic, PARTITIONS))
    drop(cluster, disks, topic)


def test_a_disk_is_full(cluster: LiveCluster, disks: list[MountedDisk]) -> None:
    """Others lead what is written there until there is room; the dir stays online."""
    topic = "full"
    cluster.place(topic, *([[1, 2, 3]] * PARTITIONS), **OFTEN)
    disk, every = disks[1], set(range(PARTITIONS))
    here, _ = split(disk.path, disks[0].path, topic)
    before = len(cluster.brokers[VICTIM].log())
    with SteadyProducer(cluster.bootstrap, topic, PARTITIONS, **SMALL) as producer:
        await_more(producer, every)
        disk.fill()
        await_offline(cluster, topic, here)
        await_more(producer, every)
        (disk.path / "full").unlink()
        cluster.await_isr(topic, 3)
        await_more(producer, every)
    assert not producer.failed
    assert "log_dir.offline" not in cluster.brokers[VICTIM].log()[before:]
    check_kept(producer, read_all(cluster.bootstrap, topic, PARTITIONS))
    drop(cluster, disks, topic)


@pytest.mark.parametrize("restarts", [False, True], ids=["no bounce", "bounce"])
def test_kafkas_plan(
    cluster: LiveCluster, disks: list[MountedDisk], odradek: Shell, *, restarts: bool
) -> None:
    """Of a leader and of a follower: the other dir serves to the end, alone if need be."""
    bad, broker = disks[0], cluster.brokers[VICTIM]
    lost, good, every = {}, {}, set(range(PARTITIONS))
    for role, replicas in (("leader", [1, 2, 3]), ("follower", [2, 1, 3])):
        topic = f"{role}-{restarts}"
        cluster.place(topic, *([replicas] * PARTITIONS), **OFTEN, **{"min.insync.replicas": "1"})
        lost[topic], kept = split(bad.path, disks[1].path, topic)
        good[topic] = min(kept)
    with ExitStack() as stack:
        producers = {
            topic: stack.enter_context(
                SteadyProducer(cluster.bootstrap, topic, PARTITIONS, **SMALL)
            )
            for topic in lost
        }
        for topic, producer in producers.items():
            await_more(producer, lost[topic])
        bad.break_down()
        if restarts:
            broker.stop()
            broker.start()
        for topic, producer in producers.items():
            await_offline(cluster, topic, lost[topic])
            await_more(producer, every)
        assert broker.pid
    for topic, producer in producers.items():
        eventually(
            lambda: VICTIM in cluster.partitions(topic)[good[topic]][1],  # noqa: B023
            what="it is in sync again",
        )
        check_kept(producer, read_all(cluster.bootstrap, topic, PARTITIONS))
    for other in (2, 3):
        cluster.brokers[other].kill()

    def are_alone() -> bool:
        return all(
            cluster.partitions(topic)[number] == (VICTIM, [VICTIM])
            for topic, number in good.items()
        )

    eventually(are_alone, what="it serves alone")
    for topic, number in good.items():
        with SteadyProducer(broker.bootstrap, topic, 1, first=number) as alone:
            await_more(alone, {number})
    for other in (2, 3):
        cluster.brokers[other].launch()
    for other in (2, 3):
        cluster.brokers[other].await_start()
    bad.pull()
    bad.insert()
    odradek("logdirs", "replace", str(bad.path), "--broker", "1")
    for topic in good:
        cluster.await_isr(topic, 3)
        drop(cluster, disks, topic)


@pytest.mark.parametrize("needs", ["roll", "checkpoint"])
def test_a_file_is_in_the_place_of_a_log_dir(tmp_path: Path, needs: str) -> None:
    """Found when a file is made there: by a roll, or by a checkpoint while nothing is written."""
    settings = {**SETTINGS, "min.insync.replicas": "1"}
    if needs == "checkpoint":
        settings["replica.high.watermark.checkpoint.interval.ms"] = "500"
    with LiveCluster(tmp_path / "cluster", 2, settings) as cluster:
        cluster.place("orders", [1, 2], [1, 2], **(OFTEN if needs == "roll" else {}))
        path = tmp_path / "cluster" / "broker-1" / "disk-a"
        (lost,), _ = split(path, path.with_name("disk-b"), "orders", 2)
        with SteadyProducer(cluster.bootstrap, "orders", 2) as producer:
            await_more(producer, {0, 1})
            path.rename(path.with_name("away"))
            path.touch()
            await_offline(cluster, "orders", {lost})
            await_more(producer, {0, 1})
        check_kept(producer, read_all(cluster.bootstrap, "orders", 2))
        broker = cluster.brokers[VICTIM]
        broker.kill()
        broker.start()  # with a bad dir: Kafka's first case
        assert cluster.partitions("orders")[1 - lost][0] > 0
        path.unlink()
        shutil.move(path.with_name("away"), path)
        broker.stop()
        broker.start()
        cluster.await_isr("orders", 2)
        cluster.check_replicas_equal("orders")
        assert cluster.log_of(VICTIM, TopicPartition("orders", lost))
