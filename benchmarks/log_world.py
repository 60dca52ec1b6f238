"""What the benchmarks of the log share: a log on a real disk, batches, and ratios in one run."""

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import thread_time

from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.model.units import Timestamp
from odradek.records.batch import check_crc, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.runtime.doors.disk import SystemDisk
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.files.failures import Failures
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig

NOW = Timestamp(1_700_000_000_000)
EPOCH = LeaderEpoch(0)
ORDERS = TopicPartition("orders", 0)


@contextmanager
def folder() -> Iterator[Path]:
    """An empty directory, outside of the repository; `TMPDIR` says on which disk."""
    path = Path(tempfile.mkdtemp(prefix="odradek-benchmark-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def log_dir(path: Path) -> LogDir:
    """A log dir that was taken."""
    found = LogDir(SystemDisk(str(path)), Failures())
    found.take()
    return found


def new_log(
    home: LogDir, partition: TopicPartition, config: LogConfig | None = None
) -> PartitionLog:
    """An empty log in it."""
    how = InDir(config or LogConfig())
    log = home.logs[partition] = home.create(partition, str(partition), how, NOW)
    return log


def batch_of(size: int) -> bytearray:
    """A batch of one record, of exactly this size."""
    batch = build_batch([Record(0, NOW, None, bytes(size))])
    return build_batch([Record(0, NOW, None, bytes(2 * size - len(batch)))])


def append_turn(log: PartitionLog, batches: list[bytearray], *, checked: bool = False) -> None:
    """What a broker does in a turn of its loop: decide, write, publish; with the CRC if asked."""
    for batch in batches:
        header = read_header(batch)
        if checked:
            check_crc(batch, header)
        log.append(batch, header, EPOCH, NOW)
    job = log.take_job()
    assert job is not None
    job.run()
    job.publish()


class Ratios:
    """Times of a case and of the bare thing beside it, taken in turn, compared pair by pair."""

    def __init__(self, title: str, bytes_each: int) -> None:
        self._title = title
        self._bytes = bytes_each
        self._pairs: list[tuple[float, float]] = []

    def add(self, bare: float, ours: float) -> None:
        """One pair of seconds."""
        self._pairs.append((bare, ours))

    def show(self) -> None:
        """Rates, and what we reach of the bare rate."""
        shares = sorted(bare / ours for bare, ours in self._pairs)
        rates = [self._bytes / ours / 1e6 for _, ours in self._pairs]
        middle = statistics.median(shares)
        print(
            f"{self._title:<44} {min(rates):8.0f} {statistics.median(rates):8.0f} "
            f"{max(rates):8.0f} MB/s   {shares[0]:5.2f} {middle:5.2f} {shares[-1]:5.2f} of bare"
        )


def seconds() -> float:
    """What this thread has had of the processor, the kernel's part included.

    All is served from the page cache, so nobody waits; and a neighbour's work does not count.
    """
    return thread_time()
