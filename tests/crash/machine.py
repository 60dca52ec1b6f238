"""A log dir on a machine that may stop at any moment, and what must be true of what is left.

Everything that the machine ever promised is remembered here: what was written at which offset,
up to where it was durable, and where it was cut on purpose.
"""

import random
from collections import defaultdict
from itertools import pairwise

from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Timestamp
from odradek.ports import Disk
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.control import EndMarker, TransactionEnd
from odradek.records.record import Record, read_records
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.files.failures import Failures
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.settings import LogConfig

ORDERS = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=Bytes(400), index_interval_bytes=Bytes(80))
SYNCED = LogConfig(segment_bytes=Bytes(400), index_interval_bytes=Bytes(80), flush_before_ack=True)
PRODUCER = 7


class Chance:
    """The Random door, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        """Any number below the bound."""
        return self._random.randrange(bound)

    def bytes(self, count: int) -> bytes:
        """Any bytes."""
        return self._random.randbytes(count)


class Machine:
    """One log in one directory, written as a broker writes it."""

    def __init__(self, disk: Disk, config: LogConfig = CONFIG) -> None:
        self.config = config
        self.written: dict[int, set[str]] = defaultdict(set)  # all that ever stood at an offset
        self.durable: dict[int, str] = {}  # what must be there, whatever happens
        self.volatile: dict[int, str] = {}  # written, and promised to nobody
        self.keys: dict[str, tuple[int, str]] = {}  # the newest record of each
        self.epoch = LeaderEpoch(0)
        self.sequence = 0
        self.now = Timestamp(1_000)
        self.start(disk)

    def start(self, disk: Disk) -> None:
        """The process begins, and opens what it finds."""
        self.disk = disk
        self.log_dir = LogDir(disk, Failures())
        self.log_dir.take()
        self.opened = self.log_dir.open(lambda _: self.config, self.now)

    @property
    def log(self) -> PartitionLog:
        """The log, made when it is first asked for."""
        if ORDERS not in self.log_dir.logs:
            how = InDir(self.config)
            self.log_dir.logs[ORDERS] = self.log_dir.create(ORDERS, str(ORDERS), how, self.now)
        return self.log_dir.logs[ORDERS]

    # What a broker does

    def append(self, count: int = 1, *, transactional: bool = False) -> None:
        """One batch of the counting producer."""
        base = self.log.log_end_offset
        values = [f"{base + n}/{self.epoch}" for n in range(count)]
        batch = build_batch(
            [Record(n, self.now, None, value.encode()) for n, value in enumerate(values)],
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=self.sequence,
            transactional=transactional,
        )
        for number, value in enumerate(values):
            self.written[base + number].add(value)
        self.log.append(batch, read_header(batch), self.epoch, self.now)
        self.sequence += count
        self._write(dict(enumerate(values, base)))

    def end_transaction(self, *, committed: bool) -> None:
        """The producer's transaction ends."""
        end = TransactionEnd(PRODUCER, 0, EndMarker(committed, 0))
        self.log.append_end(end, self.epoch, self.now)
        self._write({})

    def _write(self, fresh: dict[int, str]) -> None:
        job = self.log.take_job()
        assert job is not None
        job.run()
        if job.wants_sync:
            job.sync()
        job.publish()
        (self.durable if job.wants_sync else self.volatile).update(fresh)

    def flush(self) -> None:
        """Everything so far is promised."""
        job = FlushJob(self.log, self.now)
        job.run()
        job.publish()
        self.durable.update(self.volatile)
        self.volatile.clear()

    def checkpoint(self) -> None:
        """Every now and then."""
        self.log_dir.checkpoint().run()

    def truncate(self, offset: int) -> None:
        """By a leader's word: from now on nothing beyond is promised."""
        for promised in (self.durable, self.volatile):
            for gone in [o for o in promised if o >= offset]:
                del promised[gone]
        self.log_dir.truncation({ORDERS: Offset(offset)}, self.now).run()
        entry = self.log.producers.get(PRODUCER)
        self.sequence = entry.last_sequence + 1 if entry else 0

    def retain_from(self, offset: int) -> None:
        """What is below may go."""
        for promised in (self.durable, self.volatile):
            for gone in [o for o in promised if o < offset]:
                del promised[gone]
        self.log.on_high_watermark(self.log.log_end_offset)
        DeleteJob(self.log, Offset(offset)).run()

    def put(self, key: str, value: str) -> None:
        """A record of a compacted topic; an empty value deletes."""
        at = self.log.log_end_offset
        record = Record(0, self.now, key.encode(), value.encode() or None)
        batch = build_batch([record])
        self.written[at].add(value)
        self.log.append(batch, read_header(batch), self.epoch, self.now)
        self._write({at: value})
        self.keys[key] = (at, value)

    def compact(self) -> None:
        """What is superseded is promised no more; what is newest still is."""
        newest = {at for at, _ in self.keys.values()}
        self.log.on_high_watermark(self.log.log_end_offset)
        found = cleanable(self.log, self.log_dir.cleaner_offsets.get(ORDERS, Offset(0)), self.now)
        for promised in (self.durable, self.volatile):
            for gone in [o for o in promised if o < found.end and o not in newest]:
                del promised[gone]
        work = Compaction(self.log_dir, self.log, found, self.now)
        for _ in work.steps():
            pass
        work.publish()
        self.log_dir.note_cleaned(ORDERS, work.end)

    # What must be true afterwards

    def read(self) -> dict[int, tuple[str, int]]:
        """Every record by its offset, with the epoch of its batch."""
        log = self.log
        found: dict[int, tuple[str, int]] = {}
        at = log.log_start_offset
        while at < log.log_end_offset:
            chunk = log.read(at, log.log_end_offset, 1_000, at_least_one=True).chunk
            assert chunk is not None, at
            data = chunk.file.read(chunk.length, chunk.position)
            assert len(data) == chunk.length
            start = 0
            while start < len(data):
                header = read_header(data, start)
                for record in read_records(data, header, start):
                    value = (record.value or b"").decode("latin-1")
                    if record.offset >= at and not header.is_control:
                        found[record.offset] = (value, header.leader_epoch)
                at = Offset(header.next_offset)
                start += header.size
        return found

    def check(self) -> None:
        """Nothing promised is lost, nothing appears that was never written, all agrees."""
        log = self.log
        found = self.read()
        for offset, value in self.durable.items():
            if offset >= log.log_start_offset:
                assert found[offset][0] == value, (offset, value, found.get(offset))
        for offset, (value, epoch) in found.items():
            assert value in self.written[offset], (offset, value)
            assert log.epochs.epoch_at(Offset(offset)) == epoch, (offset, log.epochs.entries)
        for segment, following in pairwise(log.segments):
            assert segment.next_offset() <= following.base_offset, "segments overlap"
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert log.recovery_point <= log.log_end_offset
        lowest = min(self.durable, default=log.log_start_offset)
        assert log.log_start_offset <= lowest, "the start moved further than it was told to"

    def go_on(self) -> None:
        """The log is as good as a new one: it takes records, and is whole after a clean stop."""
        self.check()
        self.durable = {offset: value for offset, (value, _) in self.read().items()}
        entry = self.log.producers.get(PRODUCER)
        self.sequence = entry.last_sequence + 1 if entry else 0
        self.epoch = LeaderEpoch(self.log.epochs.latest + 1)
        open_transaction = entry is not None and entry.transaction_start >= 0
        self.append(2, transactional=open_transaction)
        self.flush()
        self.check()
