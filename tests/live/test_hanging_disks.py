"""A disk of a live broker hangs: its partitions are led elsewhere, all others go on.

Broker 1 has two ext4 file systems of its own; the others have plain directories. How long others
wait meanwhile is measured by `benchmarks/hanging_disk.py`; that it is so by default, after a
minute, is a scenario.
"""

from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.live.cluster import PATIENCE_SECONDS, LiveCluster
from tests.live.mounted_disks import (
    DiskOnFrozenDevice,
    DiskOnSuspendedDevice,
    MountedDisk,
    why_no_device_mapper,
    why_not,
)
from tests.live.test_disks import PARTITIONS, SETTINGS, VICTIM, await_more, split
from tests.live.workload import SteadyProducer, check_kept, read_all

SOON = {**SETTINGS, "log.dir.hang.timeout.ms": "5000"}


@pytest.mark.parametrize("kind", [MountedDisk, DiskOnFrozenDevice, DiskOnSuspendedDevice])
def test_a_disk_hangs_and_its_partitions_alone_are_led_elsewhere(
    kind: type[MountedDisk], tmp_path: Path
) -> None:
    """The broker lives and goes on with its other disk; nothing acknowledged is lost."""
    if reason := why_not() or (kind is DiskOnSuspendedDevice and why_no_device_mapper()):
        pytest.skip(str(reason))
    folder, topic, every = tmp_path / f"broker-{VICTIM}", "orders", set(range(PARTITIONS))
    with (
        kind(folder / "disk-a") as hanging,
        MountedDisk(folder / "disk-b") as other,
        LiveCluster(tmp_path, settings=SOON) as cluster,
    ):
        cluster.place(topic, *([[1, 2, 3]] * PARTITIONS))
        lost, _ = split(hanging.path, other.path, topic)
        with SteadyProducer(cluster.bootstrap, topic, PARTITIONS) as producer:
            await_more(producer, every)
            hanging.freeze()
            try:
                eventually(
                    lambda: all(
                        leader not in {-1, VICTIM} and VICTIM not in isr
                        for number, (leader, isr) in cluster.partitions(topic).items()
                        if number in lost
                    ),
                    seconds=PATIENCE_SECONDS,
                    what="the replicas on the hanging disk are out of the ISR",
                )
                now = cluster.partitions(topic)
                kept = {it: now[it] for it in every - lost}
                assert kept == dict.fromkeys(every - lost, (VICTIM, [1, 2, 3]))
                await_more(producer, every)
            finally:
                hanging.thaw()
            cluster.brokers[VICTIM].kill()
            cluster.brokers[VICTIM].start()
            cluster.await_isr(topic, 3)
        assert not producer.failed
        check_kept(producer, read_all(cluster.bootstrap, topic, PARTITIONS))
        cluster.await_isr(topic, 3)
        cluster.check_replicas_equal(topic)
