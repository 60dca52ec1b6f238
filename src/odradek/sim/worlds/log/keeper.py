"""A machine that keeps logs on two disks, as a broker would, and producers that write to them.

There is no network here: a producer is a number, the values that it has yet to write, and its
memory of what was answered, which outlives every crash. Each partition has one. A batch that got
no answer is sent again after the next start, with the same sequence number.

Told: `log.acked` (partition, base offset, values, whether they are durable), `log.flushed`
(partition, below which offset all is durable), `log.trimmed` (partition, where it may start),
`log.found` (partition, start, high watermark, end, and every offset with its value), `log.corrupt`
(partition, what a reader saw that no writer wrote), and `log.offline` (a directory that failed).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from zlib import crc32

from odradek.model.errors import CorruptBatch
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import KIB, Bytes, Millis, Timestamp
from odradek.records.batch import check_crc, headers, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record, read_records
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.log.keeper_transactions import LedgerKeeper, carry_out
from odradek.sim.worlds.log.ledger import Ledger
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import InvalidTransactionState, OutOfOrderSequence, StorageError
from odradek.storage.files.failures import Failures
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import Appended, PartitionLog
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.settings import LogConfig

DISKS: Final = ("disk-a", "disk-b")
DURABLE_TOPIC: Final = "orders"
PARTITIONS: Final = tuple(
    TopicPartition(topic, number) for topic in (DURABLE_TOPIC, "events") for number in range(2)
)
SEGMENT_BYTES: Final = Bytes(2 * KIB)
BATCHES_MAX: Final = 5  # in one turn
RECORDS_MAX: Final = 4  # in one batch
LEDGER_ACTIONS_MAX: Final = 4  # in one turn
KEPT_RECORDS: Final = 150  # of one partition, before its oldest are trimmed
FORGOTTEN: Final = (OutOfOrderSequence, InvalidTransactionState)
"""What a producer is told of batches that were lost, or that rot has made another kind of."""
PAUSE_MILLIS_MAX: Final = 150
SICK_SECONDS: Final = 8  # how long a broker with a failed disk goes on
EPOCH: Final = LeaderEpoch(0)


class Found(tuple[tuple[int, str], ...]):
    """Offsets and values; prints short."""

    __slots__ = ()

    def __repr__(self) -> str:
        checksum = 0
        for offset, value in self:
            checksum = crc32(b"%d %b" % (offset, value.encode()), checksum)
        return f"<{len(self)} records, {checksum:08x}>"


@dataclass(slots=True)
class Producer:
    """Who writes to one partition: lives outside, and remembers."""

    number: int
    sequence: int = 0
    values: "count[int]" = field(default_factory=lambda: count(1))
    has_log: bool = False  # there is one somewhere
    unanswered: list[list[str]] = field(default_factory=list)

    def begin_anew(self) -> None:
        """As somebody else: what was lost is not sent again."""
        self.number += 1_000
        self.sequence = 0
        self.unanswered = []


def config_of(topic: str) -> LogConfig:
    """One topic syncs before it answers, the other when it comes to it."""
    return LogConfig(
        segment_bytes=SEGMENT_BYTES,
        index_interval_bytes=Bytes(256),
        flush_before_ack=topic == DURABLE_TOPIC,
    )


class Keeper:
    """One life of the machine."""

    def __init__(
        self,
        world: World,
        machine: Machine,
        producers: dict[TopicPartition, Producer],
        ledgers: Mapping[TopicPartition, Ledger],
    ) -> None:
        self._note, self._machine, self._producers = world.history.note, machine, producers
        self._chance: SeededRandom = machine.random.stream(f"keeper {machine.lives}")
        failures = Failures()
        dirs = [LogDir(machine.disk(name), failures) for name in DISKS]
        self._dirs = LogDirs(dirs, failures, machine.random)
        self._configs = {partition.topic: ledger.config for partition, ledger in ledgers.items()}
        chance = machine.random.stream(f"ledgers {machine.lives}")
        self._ledgers = LedgerKeeper(self, self._dirs, ledgers, chance)
        self._actions = ACTIONS_WITH_LEDGERS if ledgers else ACTIONS

    async def run(self) -> None:
        """Until the machine ends, or a disk has been gone for a while."""
        self._open()
        sick_since: Millis | None = None
        while not self._dirs.all_failed:
            if self._dirs.some_failed:
                now = self._machine.clock.monotonic()
                sick_since = now if sick_since is None else sick_since
                if now - sick_since > 1_000 * SICK_SECONDS:
                    return
            await self._pause()
            action = self._actions[self._chance.below(len(self._actions))]
            with suppress(StorageError, *FORGOTTEN):
                action(self)
            self._note_failures()

    async def _pause(self) -> None:
        clock = self._machine.clock
        millis = self._chance.below(PAUSE_MILLIS_MAX)
        await clock.sleep_until(Millis(clock.monotonic() + millis))

    # -- opening -------------------------------------------------------------------------------

    def _open(self) -> None:
        for log_dir in self._dirs.dirs:
            with suppress(StorageError):
                log_dir.take()
        self._dirs.identify(BrokerId(1), "simulated")
        for log_dir in self._dirs.online:
            with suppress(StorageError):
                log_dir.open(self._config_of, self._machine.clock.wall())
        self._note_failures()
        self._dirs.settle()
        for log in list(self._dirs):
            with suppress(StorageError):
                if log.partition.topic not in self._configs:
                    self._tell_all(log)
        self._ledgers.opened()

    def _note_failures(self) -> None:
        for gone in self._dirs.handle_failures():
            self.tell("log.offline", gone.log_dir, str(gone.error), *map(str, gone.current))

    def _config_of(self, topic: str) -> LogConfig:
        return self._configs.get(topic) or config_of(topic)

    def _log(self, partition: TopicPartition) -> PartitionLog:
        producer = self._producers[partition]
        is_new = not producer.has_log
        producer.has_log = True  # perhaps, which is as good: an empty one is not made in its place
        return self.log_of(partition, is_new=is_new)

    def log_of(self, partition: TopicPartition, *, is_new: bool) -> PartitionLog:
        """The log; it is made where there is none."""
        how = InDir(self._config_of(partition.topic), is_new=is_new)
        return self._dirs.get_or_create(partition, how, self.wall())

    def wall(self) -> Timestamp:
        """The time of day."""
        return self._machine.clock.wall()

    # -- what it does --------------------------------------------------------------------------

    def append(self) -> None:
        """The batches of one turn: decided, written, synced where the topic wants it, published.

        Those that got no answer come first, and alone.
        """
        partition = PARTITIONS[self._chance.below(len(PARTITIONS))]
        producer = self._producers[partition]
        log = self._log(partition)
        if not producer.unanswered:
            batches = 1 + self._chance.below(BATCHES_MAX)
            producer.unanswered = [self._fresh(partition, producer) for _ in range(batches)]
        taken = self._decide(log, producer)
        self._carry_out(log)
        durable = log.config.flush_before_ack
        if durable and any(appended.duplicate for appended in taken):
            self._flush(log)  # they may be from before a crash, and not yet synced
        for appended, values in zip(taken, producer.unanswered, strict=True):
            assert appended.last_offset < log.log_end_offset, appended
            self.tell("log.acked", partition, appended.base_offset, tuple(values), durable)
            producer.sequence += len(values)
        producer.unanswered = []

    def _fresh(self, partition: TopicPartition, producer: Producer) -> list[str]:
        records = 1 + self._chance.below(RECORDS_MAX)
        values = [f"{partition}/{next(producer.values)}" for _ in range(records)]
        self.tell("log.tried", partition, tuple(values))
        return values

    def _decide(self, log: PartitionLog, producer: Producer) -> list[Appended]:
        taken: list[Appended] = []
        sequence = producer.sequence
        try:
            for values in producer.unanswered:
                taken.append(self._decide_one(log, producer.number, sequence, values))
                sequence += len(values)
        except FORGOTTEN:
            self.tell("log.gap", log.partition, producer.number, sequence)
            producer.begin_anew()
            job = log.take_job()
            if job is not None:
                job.fail()
            raise
        return taken

    def _decide_one(
        self, log: PartitionLog, producer: int, sequence: int, values: list[str]
    ) -> Appended:
        now = self._machine.clock.wall()
        padding = b"." * self._chance.below(200)
        records = [
            Record(delta, now, None, value.encode() + padding) for delta, value in enumerate(values)
        ]
        batch = build_batch(records, producer_id=producer, producer_epoch=0, base_sequence=sequence)
        return log.append(batch, read_header(batch), EPOCH, now)

    def _carry_out(self, log: PartitionLog) -> None:
        job = log.take_job()
        if job is None:
            return
        try:
            carry_out(job)
        except StorageError as error:
            self.tell("log.refused", log.partition, type(error).__name__)
            raise
        log.on_high_watermark(log.log_end_offset)

    def _flush(self, log: PartitionLog) -> None:
        job = FlushJob(log, self._machine.clock.wall())
        job.run()
        job.publish()
        self.tell("log.flushed", log.partition, log.recovery_point)

    def flush(self) -> None:
        """Makes one log durable."""
        self._flush(self._log(PARTITIONS[self._chance.below(len(PARTITIONS))]))

    def checkpoint(self) -> None:
        """Of every directory."""
        for log_dir in self._dirs.online:
            log_dir.checkpoint().run()

    def trim(self) -> None:
        """Lets the oldest go where there are many."""
        log = self._log(PARTITIONS[self._chance.below(len(PARTITIONS))])
        start = min(log.log_end_offset - KEPT_RECORDS, log.high_watermark)
        if start > log.log_start_offset:
            self.tell("log.trimmed", log.partition, start)
            DeleteJob(log, Offset(start)).run()

    def look(self) -> None:
        """Reads one log from its start to its end."""
        self._tell_all(self._log(PARTITIONS[self._chance.below(len(PARTITIONS))]))

    def keep_ledgers(self) -> None:
        """Some of what happens to logs with transactions, which have less to read than others."""
        for _ in range(1 + self._chance.below(LEDGER_ACTIONS_MAX)):
            self._ledgers.act()

    # -- telling -------------------------------------------------------------------------------

    def _tell_all(self, log: PartitionLog) -> None:
        try:
            found = Found(_records(log))
        except CorruptBatch as error:
            self.tell("log.corrupt", log.partition, str(error))
            return
        bounds = log.log_start_offset, log.high_watermark, log.log_end_offset
        self.tell("log.found", log.partition, *bounds, found)

    def tell(self, what: str, *details: object) -> None:
        """Something happened here."""
        self._note(self._machine.name, what, *details)


ACTIONS: Final = (
    *(8 * (Keeper.append,)),
    Keeper.flush,
    Keeper.checkpoint,
    Keeper.trim,
    Keeper.look,
)
ACTIONS_WITH_LEDGERS: Final = (*(3 * (Keeper.append,)), *ACTIONS[8:], *(9 * (Keeper.keep_ledgers,)))


def _records(log: PartitionLog) -> Iterator[tuple[int, str]]:
    """Every record, through the log's own reading."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        chunk = log.read(offset, log.log_end_offset, 4 * KIB, at_least_one=True).chunk
        if chunk is None:  # no batch is left in the last offsets: rot in one's number, and its cut
            return
        with log.failures.touching(log.folder.disk.name):
            data = chunk.file.read(chunk.length, chunk.position)
        for position, header in headers(data):
            check_crc(data, header, position)  # as every reader does
            for record in read_records(data, header, position):
                at = record.offset
                if at >= log.log_start_offset:
                    yield at, (record.value or b"").rstrip(b".").decode()
            if header.next_offset <= offset:
                raise CorruptBatch(f"the batch at {offset} says that it ends before")
            offset = Offset(header.next_offset)
