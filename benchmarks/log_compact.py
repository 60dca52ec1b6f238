"""Compacting records of 1 KB, and the memory that the map of keys takes.

The bar is 100 MB/s of what is read of the log, with the map within its bound.
"""

import statistics
import tracemalloc

from log_world import EPOCH, NOW, ORDERS, folder, log_dir, new_log, seconds

from odradek.model.positions import Offset
from odradek.model.units import Bytes
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.record import Record
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.compacting.key_map import KeyMap
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig

ROUNDS = 3
RECORDS = 64 << 10
IN_BATCH = 16
CONFIG = LogConfig(segment_bytes=Bytes(64 << 20), delete=False, compact=True)


def fill(log: PartitionLog, keys: int, codec: Codec) -> None:
    """Keys come around in turn; a segment is rolled at the end so that all can be compacted."""
    for start in range(0, RECORDS, IN_BATCH):
        records = [
            Record(n, NOW, b"key-%08d" % ((start + n) % keys), bytes(1_000))
            for n in range(IN_BATCH)
        ]
        batch = build_batch(records, codec=codec)
        log.append(batch, read_header(batch), EPOCH, NOW)
        if start % (IN_BATCH * 64) == 0:
            finish(log)
    finish(log)
    log.roll(NOW)
    finish(log)
    log.on_high_watermark(log.log_end_offset)
    flush = FlushJob(log, NOW)
    flush.run()
    flush.publish()


def finish(log: PartitionLog) -> None:
    """Writes what the turn decided."""
    job = log.take_job()
    if job is not None:
        job.run()
        job.publish()


def one(keys: int, codec: Codec) -> float:
    """MB/s of records, as they were before they were compressed."""
    with folder() as path:
        home = log_dir(path)
        log = new_log(home, ORDERS, CONFIG)
        fill(log, keys, codec)
        work = Compaction(home.checkpoint(), log, cleanable(log, Offset(0), NOW), NOW)
        started = seconds()
        longest = last = started
        longest = 0.0
        for _ in work.steps():
            longest, last = max(longest, seconds() - last), seconds()
        work.publish()
        took = seconds() - started
        assert work.records_kept <= keys + IN_BATCH
        home.abandon()
    return RECORDS * 1_024 / took / 1e6


def map_bytes() -> tuple[int, int]:
    """What the map says that it takes, and what it takes."""
    tracemalloc.start()
    keys = KeyMap(Bytes(64 << 20))
    number = 0
    while keys.has_room(1):
        keys.put(b"key-%020d" % number, number)
        number += 1
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return keys.bytes, taken


def main() -> None:
    """Few keys that come often, and many that come twice."""
    for keys, codec in ((1_000, Codec.NONE), (RECORDS // 2, Codec.NONE), (1_000, Codec.LZ4)):
        rates = [one(keys, codec) for _ in range(ROUNDS)]
        print(
            f"compaction, {keys} keys, {codec.name.lower():<5} {min(rates):6.0f} "
            f"{statistics.median(rates):6.0f} {max(rates):6.0f} MB/s (min, median, max)"
        )
    said, taken = map_bytes()
    print(f"a map that counts {said >> 20} MiB takes {taken >> 20} MiB")


if __name__ == "__main__":
    main()
