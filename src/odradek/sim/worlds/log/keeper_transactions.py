"""Logs with transactions, beside the keeper's others: what leader or follower does to them.

Idempotent producers write, begin and end transactions, send again, end twice; the high watermark
lags behind the end; records are deleted up to it, the log is cut above it, rolled, flushed, and
compacted in steps between all that. What should be so stands in a `Ledger` for each.

Told: `ledger.wrote` (partition, end before, batches), `ledger.resent` (partition, base offset, what
the log made of it), `ledger.refused` (partition, producer, why), `ledger.cut` (partition, where it
was to end, and ends), `ledger.reopened` (partition, start, end, what is wrong), `ledger.read`
(partition, from, below, start, high watermark, last stable offset, end, aborted, batches), and
`ledger.misread` (partition, what a reader was given that no file holds).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from odradek.model.errors import BrokerError, CorruptBatch
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import DAY, Bytes, Millis, Timestamp
from odradek.records.batch import BatchHeader, check_crc, headers, read_header
from odradek.records.build import build_batch
from odradek.records.control import EndMarker, TransactionEnd, end_marker_in
from odradek.records.record import Record, read_records
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.worlds.log.ledger import Batch, Ledger
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import CorruptFile, StorageError
from odradek.storage.logs.earlier_batches import BLOCKS_MAX
from odradek.storage.logs.flushing import FlushJob, sync_group
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import ReadableLog
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.logs.view import LogView
from odradek.storage.logs.writing import WriteJob
from odradek.storage.settings import LogConfig

TOPICS: Final = ("ledger", "journal")  # each has settings of its own
PRODUCERS: Final = (11, 12, 13)
NOBODY: Final = -1
KEYS: Final = 6
FIRST_VERSION: Final = 1  # of transactions: an end has the epoch of its transaction
SECOND_VERSION: Final = 2  # it has the next one


def draw_ledgers(chance: SeededRandom) -> dict[TopicPartition, Ledger]:
    """Two logs with settings by which much happens to few records; in half of the worlds none."""
    if not chance.below(2):
        return {}
    return {TopicPartition(topic, 0): _draw_one(chance) for topic in TOPICS}


def _draw_one(chance: SeededRandom) -> Ledger:
    compact = chance.below(2) == 0
    may_delete = not compact or chance.one_in(4)
    config = LogConfig(
        segment_bytes=Bytes((500, 900, 2_000)[chance.below(3)]),
        index_interval_bytes=Bytes((1, 100, 4_096)[chance.below(3)]),
        flush_before_ack=chance.one_in(4),
        delete=may_delete,
        compact=compact,
        delete_retention_ms=Millis((0, 5_000, DAY)[chance.below(3)]),
    )
    return Ledger(config, may_delete)


class FoundBatch(NamedTuple):
    """A batch as a reader gets it."""

    identity: tuple[int, ...]
    transactional: bool
    committed: bool | None  # of the marker in it
    is_control: bool
    records: tuple[tuple[int, str, str], ...]  # offset, key, value


class FoundBatches(tuple[FoundBatch, ...]):
    """Print short."""

    __slots__ = ()

    def __repr__(self) -> str:
        checksum = 0
        for batch in self:
            checksum = crc32(repr(tuple(batch)).encode(), checksum)
        return f"<{len(self)} batches, {checksum:08x}>"


class Host(Protocol):
    """The keeper, as far as it is needed here."""

    def tell(self, what: str, *details: object) -> None:
        """Something happened."""

    def log_of(self, partition: TopicPartition, *, is_new: bool) -> PartitionLog:
        """The log; it is made where there is none."""

    def wall(self) -> Timestamp:
        """The time of day."""


def carry_out(job: WriteJob) -> None:
    """All steps of a write; one that cannot be made is given up."""
    try:
        job.run()
        if job.wants_sync:
            sync_group([job])
    except StorageError:
        job.fail()
        raise
    job.publish()


class LedgerKeeper:
    """For one life of the machine."""

    def __init__(
        self,
        host: Host,
        dirs: LogDirs,
        ledgers: Mapping[TopicPartition, Ledger],
        chance: SeededRandom,
    ) -> None:
        self._host, self._dirs, self._ledgers, self._chance = host, dirs, ledgers, chance
        self._partitions = tuple(ledgers)
        self._compactions: dict[TopicPartition, tuple[Compaction, Iterator[Bytes]]] = {}
        self._given_up: dict[TopicPartition, bool] = {}  # a cut of it failed half-way

    def opened(self) -> None:
        """Each is looked at once it is open again."""
        for partition, ledger in self._ledgers.items():
            log = self._dirs.get(partition)
            if log is None:
                continue
            start, end = log.log_start_offset, log.log_end_offset
            wrong = ledger.reopened(start, end)
            self._host.tell("ledger.reopened", partition, start, end, wrong)
            with suppress(StorageError):
                self._read(log, start, end)
                self._read(log, start, log.last_stable_offset)

    def act(self) -> None:
        """One of all that can happen to one of them."""
        partition = self._partitions[self._chance.below(len(self._partitions))]
        ledger = self._ledgers[partition]
        action = ACTIONS[self._chance.below(len(ACTIONS))]
        if partition in self._given_up:
            return
        is_new, ledger.has_log = not ledger.has_log, True
        log = self._host.log_of(partition, is_new=is_new)
        with suppress(BrokerError):
            action(self, log, ledger)

    # Writing

    def write(self, log: PartitionLog, ledger: Ledger) -> None:
        """Some batches of some producers in one turn."""
        taken: list[Batch] = []
        for producer in self._drawn_producers():
            try:
                taken.append(self._decide(log, ledger, producer))
            except BrokerError as error:
                self._refused(log, ledger, producer, error)
                ended = self._ended(log, ledger, producer, committed=False, version=SECOND_VERSION)
                taken.append(ended)
        self._carry_out(log, ledger, taken)

    def _drawn_producers(self) -> list[int]:
        """Different ones."""
        if self._chance.one_in(5):
            return [NOBODY]
        first = self._chance.below(len(PRODUCERS))
        others = 1 + self._chance.below(2)
        return [PRODUCERS[(first + number) % len(PRODUCERS)] for number in range(others)]

    def _decide(self, log: PartitionLog, ledger: Ledger, producer: int) -> Batch:
        records = tuple(
            (f"k{self._chance.below(KEYS)}", f"v{next(ledger.values)}")
            for _ in range(1 + self._chance.below(3))
        )
        epoch, sequence, is_open = -1, -1, False
        if producer != NOBODY:
            epoch, sequence, is_open = ledger.client(producer)
        transactional = producer != NOBODY and (is_open or not self._chance.one_in(3))
        batch = Batch(-1, -1, producer, epoch, sequence, records, transactional)
        data = self._bytes_of(batch)
        epoch_of_leader = LeaderEpoch(ledger.leader_epoch)
        appended = log.append(data, read_header(data), epoch_of_leader, self._now())
        return batch._replace(base=appended.base_offset, last=appended.last_offset)

    def _bytes_of(self, batch: Batch) -> bytearray:
        now, padding = self._now(), b"." * self._chance.below(80)
        records = [
            Record(delta, now, key.encode(), value.encode() + padding)
            for delta, (key, value) in enumerate(batch.records)
        ]
        return build_batch(
            records,
            producer_id=batch.producer,
            producer_epoch=batch.epoch,
            base_sequence=batch.sequence,
            transactional=batch.transactional,
        )

    def _refused(
        self, log: PartitionLog, ledger: Ledger, producer: int, error: BrokerError
    ) -> None:
        """Tells it; the producer goes on under its next epoch, and what it had open is aborted."""
        if isinstance(error, StorageError):
            raise error
        is_known = bool(ledger.recognised(producer))
        self._host.tell("ledger.refused", log.partition, producer, is_known, str(error))

    def end(self, log: PartitionLog, ledger: Ledger) -> None:
        """A transaction ends, in version 1 or 2, perhaps under another coordinator."""
        begun = [producer for producer in PRODUCERS if ledger.client(producer).is_open]
        if not begun:
            self.write(log, ledger)
            return
        producer = begun[self._chance.below(len(begun))]
        ledger.coordinator_epoch += self._chance.one_in(6)
        committed = self._chance.below(2) == 0
        version = (FIRST_VERSION, SECOND_VERSION)[self._chance.below(2)]
        ended = self._ended(log, ledger, producer, committed=committed, version=version)
        self._carry_out(log, ledger, [ended])

    def _ended(
        self, log: PartitionLog, ledger: Ledger, producer: int, *, committed: bool, version: int
    ) -> Batch:
        epoch = ledger.client(producer).epoch + (version == SECOND_VERSION)
        marker = EndMarker(committed, ledger.coordinator_epoch)
        end = TransactionEnd(producer, epoch, marker, version)
        appended = log.append_end(end, LeaderEpoch(ledger.leader_epoch), self._now())
        base, last = appended.base_offset, appended.last_offset
        return Batch(base, last, producer, epoch, -1, transactional=True, committed=committed)

    def end_again(self, log: PartitionLog, ledger: Ledger) -> None:
        """The end of a transaction comes once more, late: it changes nothing."""
        ends = [batch for batch in ledger.batches if batch.is_marker]
        if not ends:
            return
        late = ends[-1 - self._chance.below(min(len(ends), 3))]
        client = ledger.client(late.producer)
        if client.is_open or client.epoch != late.epoch:
            return  # in version 1 it would end the next one
        marker = EndMarker(bool(late.committed), ledger.coordinator_epoch)
        end = TransactionEnd(late.producer, late.epoch, marker, FIRST_VERSION)
        appended = log.append_end(end, LeaderEpoch(ledger.leader_epoch), self._now())
        again = late._replace(base=appended.base_offset, last=appended.last_offset)
        self._carry_out(log, ledger, [again])

    def send_again(self, log: PartitionLog, ledger: Ledger) -> None:
        """One of the last batches of a producer comes once more.

        A start, or a cut, looks for those before the last in so many blocks, here of one segment.
        """
        producer = PRODUCERS[self._chance.below(len(PRODUCERS))]
        known = ledger.recognised(producer)
        sought_from = log.segments[-BLOCKS_MAX:][0].base_offset
        known = [batch for batch in known if batch.base >= sought_from] or known[-1:]
        if not known:
            return
        batch = known[self._chance.below(len(known))]
        data = self._bytes_of(batch)
        try:
            got = log.append(data, read_header(data), LeaderEpoch(ledger.leader_epoch), self._now())
        except StorageError:
            raise
        except BrokerError as error:
            self._host.tell("ledger.resent", log.partition, batch.base, str(error))
            return
        what = "" if got.duplicate else f"taken anew at {got.base_offset}"
        if got.duplicate and got.base_offset != batch.base:
            what = f"said to be at {got.base_offset}"
        self._host.tell("ledger.resent", log.partition, batch.base, what)
        self._carry_out(log, ledger, [] if got.duplicate else [batch])

    def _carry_out(self, log: PartitionLog, ledger: Ledger, taken: list[Batch]) -> None:
        job = log.take_job()
        if job is None:
            return
        try:
            carry_out(job)
        except StorageError:
            ledger.perhaps = taken
            raise
        before, ledger.perhaps = ledger.end, []
        ledger.take(taken)
        self._host.tell("ledger.wrote", log.partition, before, tuple(taken))

    # What else happens

    def roll(self, log: PartitionLog, ledger: Ledger) -> None:
        """The next batch begins a segment."""
        log.roll(self._now())
        self._carry_out(log, ledger, [])

    def flush(self, log: PartitionLog, ledger: Ledger) -> None:
        """All is durable."""
        job = FlushJob(log, self._now())
        job.run()
        job.publish()
        ledger.durable = max(ledger.durable, log.recovery_point)

    def advance(self, log: PartitionLog, ledger: Ledger) -> None:
        """The high watermark comes nearer to the end, or reaches it."""
        between = [b.base for b in ledger.batches if b.base > log.high_watermark]
        upto = log.log_end_offset
        if between and self._chance.below(2):
            upto = Offset(min(between[self._chance.below(len(between))], upto))
        log.on_high_watermark(max(upto, log.high_watermark))
        ledger.high_watermark = max(ledger.high_watermark, log.high_watermark)

    def cut(self, log: PartitionLog, ledger: Ledger) -> None:
        """As a follower's whose leader has other records, all of them above what is committed."""
        low = max(ledger.high_watermark, log.log_start_offset)
        bases = [batch.base for batch in ledger.batches if batch.base >= low]
        if not bases:
            return
        offset = Offset(bases[self._chance.below(len(bases))])
        self._stop_compaction(log.partition)
        log_dir = self._dirs.dir_of(log.partition)
        assert log_dir is not None, log.partition
        ledger.may_be_cut(offset)
        ledger.leader_epoch += 1
        self._given_up[log.partition] = True
        log_dir.truncation({log.partition: offset}, self._now()).run()
        log_dir.is_cut({log.partition: offset})
        del self._given_up[log.partition]
        end = log.log_end_offset
        ledger.cut(end)
        self._host.tell("ledger.cut", log.partition, offset, end)

    def delete(self, log: PartitionLog, ledger: Ledger) -> None:
        """DeleteRecords, or retention, which rolls before it takes all."""
        start, upto = log.log_start_offset, log.high_watermark
        if not ledger.may_delete or upto <= start:
            return
        to = upto
        if not self._chance.one_in(3):
            to = Offset(start + 1 + self._chance.below(upto - start))
        if to == log.log_end_offset and self._chance.below(2):
            self.roll(log, ledger)
        self._stop_compaction(log.partition)
        log_dir = self._dirs.dir_of(log.partition)
        assert log_dir is not None, log.partition
        ledger.start_to_be = max(ledger.start_to_be, to)
        log_dir.note_log_starts(log_dir.log_starts() | {log.partition: to})
        ledger.start = max(ledger.start, to)
        DeleteJob(log, to).run()

    # Compaction

    def compact(self, log: PartitionLog, ledger: Ledger) -> None:
        """Begins one, or goes on with it; now and then it is cancelled."""
        log_dir = self._dirs.dir_of(log.partition)
        assert log_dir is not None, log.partition
        if not ledger.config.compact:
            self.read(log, ledger)
            return
        if log.partition not in self._compactions:
            first = log_dir.cleaner_offsets.get(log.partition, log.log_start_offset)
            found = cleanable(LogView(log), first, self._now())
            if found.end <= found.first_dirty:
                return
            ledger.compacted = max(ledger.compacted, found.end)
            begun = Compaction(log_dir, log, found, self._now())
            self._compactions[log.partition] = begun, begun.steps()
        compaction, steps = self._compactions[log.partition]
        if self._chance.one_in(8):
            compaction.cancel()
        count = 1_000 if self._chance.below(2) else 1 + self._chance.below(6)
        is_over = True
        try:
            is_over = not all(next(steps, None) is not None for _ in range(count))
        finally:
            if is_over:
                del self._compactions[log.partition]
                compaction.publish()
        if is_over and compaction.cleaned_upto is not None:
            log_dir.note_cleaned(log.partition, compaction.cleaned_upto)

    def _stop_compaction(self, partition: TopicPartition) -> None:
        """Somebody wants the log for himself."""
        if partition not in self._compactions:
            return
        compaction, steps = self._compactions.pop(partition)
        compaction.cancel()
        try:
            for _ in steps:
                pass
        finally:
            compaction.publish()

    # Reading

    def read(self, log: PartitionLog, ledger: Ledger) -> None:
        """As a reader of committed records, of all that are committed to the log, or a follower."""
        del ledger
        uptos = (log.last_stable_offset, log.last_stable_offset, log.high_watermark)
        upto = (*uptos, log.log_end_offset)[self._chance.below(4)]
        start = log.log_start_offset
        if self._chance.below(2) and upto > start:
            start = Offset(start + self._chance.below(upto - start))
        self._read(log, start, upto)

    def _read(self, log: PartitionLog, start: Offset, upto: Offset) -> None:
        reader: ReadableLog = log if self._chance.below(2) else LogView(log)
        size = Bytes((1, 200, 10_000)[self._chance.below(3)])
        try:
            found = FoundBatches(self._batches(reader, start, upto, size))
            with log.failures.touching(log.folder.disk.name):
                entries = log.aborted_between(start, upto)
            aborted = tuple((it.producer_id, it.first_offset) for it in entries)
        except (CorruptBatch, CorruptFile) as error:
            self._host.tell("ledger.misread", log.partition, str(error))
            return
        bounds = log.log_start_offset, log.high_watermark, log.last_stable_offset
        end = log.log_end_offset
        self._host.tell("ledger.read", log.partition, start, upto, *bounds, end, aborted, found)

    def _batches(
        self, log: ReadableLog, offset: Offset, upto: Offset, size: Bytes
    ) -> Iterator[FoundBatch]:
        while offset < upto:
            chunk = log.read(offset, upto, size, at_least_one=True).chunk
            if chunk is None:
                return
            with log.failures.touching(log.folder.disk.name):
                data = chunk.file.read(chunk.length, chunk.position)
            if len(data) != chunk.length:
                raise CorruptBatch(f"{chunk.length} bytes of a file that has {len(data)}")
            for position, header in headers(data):
                check_crc(data, header, position)
                batch = memoryview(data)[position : position + header.size]
                yield _found(batch, header)
                if header.next_offset <= offset:
                    raise CorruptBatch(f"the batch at {offset} says that it ends before")
                offset = Offset(header.next_offset)

    def _now(self) -> Timestamp:
        return self._host.wall()


def _found(batch: memoryview, header: BatchHeader) -> FoundBatch:
    """One batch, taken apart."""
    identity = (
        header.base_offset,
        header.last_offset,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )
    marker = end_marker_in(batch, header) if header.is_control else None
    records: tuple[tuple[int, str, str], ...] = ()
    if not header.is_control:
        records = tuple(
            (it.offset, (it.key or b"").decode(), (it.value or b"").rstrip(b".").decode())
            for it in read_records(batch, header)
        )
    committed = None if marker is None else marker.committed
    return FoundBatch(identity, header.is_transactional, committed, header.is_control, records)


Action = Callable[[LedgerKeeper, PartitionLog, Ledger], None]

ACTIONS: Final[tuple[Action, ...]] = (
    *(5 * (LedgerKeeper.write,)),
    *(3 * (LedgerKeeper.end,)),
    LedgerKeeper.end_again,
    LedgerKeeper.send_again,
    LedgerKeeper.roll,
    LedgerKeeper.flush,
    *(2 * (LedgerKeeper.advance,)),
    LedgerKeeper.cut,
    LedgerKeeper.delete,
    *(2 * (LedgerKeeper.compact,)),
    *(3 * (LedgerKeeper.read,)),
)
