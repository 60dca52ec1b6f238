"""A partition's log for tests: on a simulated disk, by the same calls that a broker makes."""

from collections.abc import Iterable
from itertools import count

from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Timestamp
from odradek.ports import Disk
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.control import EndMarker, TransactionEnd
from odradek.records.record import Record, read_records
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.medium import Directory
from odradek.storage.files.dir_files import OpenFiles
from odradek.storage.files.failures import Failures
from odradek.storage.logs.closing import close
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.loading import Checkpointed, Loaded, LogOpener
from odradek.storage.logs.log import Appended, PartitionLog
from odradek.storage.segments.segment import Folder
from odradek.storage.settings import LogConfig

ORDERS = TopicPartition("orders", 0)
SMALL = LogConfig(segment_bytes=Bytes(600), index_interval_bytes=Bytes(100))


class Partition:
    """A log that is opened, written, read, closed and crashed."""

    def __init__(self, config: LogConfig = SMALL, disk: Disk | None = None) -> None:
        self.config = config
        self.disk: Disk = disk or SimulatedDisk()
        self.epoch = LeaderEpoch(0)
        self.now = Timestamp(1_000)
        self.failures = Failures()
        self.disk.make_directory(str(ORDERS))
        self.loaded = self.open()

    @property
    def log(self) -> PartitionLog:
        """What was opened last."""
        return self.loaded.log

    def open(self, checkpointed: Checkpointed | None = None, *, clean: bool = False) -> Loaded:
        """Opens the log that lies on the disk."""
        opener = LogOpener(self.failures, clean, self.now)
        folder = Folder(OpenFiles(self.disk), str(ORDERS))
        self.loaded = opener.open(ORDERS, folder, self.config, checkpointed or Checkpointed())
        return self.loaded

    def reopen(self, *, clean: bool = False) -> Loaded:
        """What the next process finds; the checkpoints say what they last could."""
        log = self.log
        if clean:
            close(log, self.now)
        assert isinstance(self.disk, SimulatedDisk)
        self.disk = self.disk.after_exit()
        self.failures = Failures()
        points = Checkpointed(log.recovery_point, log.log_start_offset, log.high_watermark)
        return self.open(points, clean=clean)

    def append(self, *values: str, **fields: int | bool) -> Appended:
        """Decides, writes and publishes one batch with a record for each value."""
        appended = self.decide(*values, **fields)
        self.write()
        return appended

    def decide(self, *values: str, **fields: int | bool) -> Appended:
        """The first step of an append alone."""
        batch = self.batch(values, **fields)
        return self.log.append(batch, read_header(batch), self.epoch, self.now)

    def batch(self, values: Iterable[str], **fields: int | bool) -> bytearray:
        """A produced batch; a value `k=v` has a key, `k=` is a tombstone."""
        records = (_record(value, number, self.now) for number, value in zip(count(), values))
        return build_batch(list(records), **fields)  # type: ignore[arg-type]

    def end(
        self,
        producer_id: int,
        *,
        committed: bool,
        epoch: int = 0,
        coordinator: int = 0,
        version: int = 0,
    ) -> Appended:
        """Ends a producer's transaction."""
        end = TransactionEnd(producer_id, epoch, EndMarker(committed, coordinator), version)
        appended = self.log.append_end(end, self.epoch, self.now)
        if not appended.duplicate:
            self.write()
        return appended

    def write(self) -> None:
        """The second and the third step."""
        job = self.log.take_job()
        assert job is not None
        try:
            job.run()
        except BaseException:
            job.fail()
            raise
        job.publish()

    def flush(self) -> None:
        """Makes everything durable."""
        job = FlushJob(self.log, self.now)
        job.run()
        job.publish()

    def unsynced(self) -> set[str]:
        """The files of the log that a loss of power may change."""
        assert isinstance(self.disk, SimulatedDisk)
        folder = self.disk.medium.root.current[str(ORDERS)]
        assert isinstance(folder, Directory)
        return {name for name, file in folder.current.items() if getattr(file, "unsynced", None)}

    def nameless(self) -> set[str]:
        """The files of the log whose names a loss of power may take."""
        assert isinstance(self.disk, SimulatedDisk)
        folder = self.disk.medium.root.current[str(ORDERS)]
        assert isinstance(folder, Directory)
        return {name for name, file in folder.current.items() if folder.durable.get(name) != file}

    def commit(self) -> None:
        """Everything is on all replicas."""
        self.log.on_high_watermark(self.log.log_end_offset)

    def read(self, offset: int | None = None) -> list[str]:
        """The values from an offset to the end."""
        return [value for _, value in self.records(offset)]

    def records(self, offset: int | None = None) -> list[tuple[int, str]]:
        """Offsets and values, read as a fetch reads them."""
        log = self.log
        at = log.log_start_offset if offset is None else Offset(offset)
        found: list[tuple[int, str]] = []
        while at < log.log_end_offset:
            piece = log.read(at, log.log_end_offset, 250, at_least_one=True)
            if piece.chunk is None:
                break
            file, position, length = piece.chunk
            data = file.read(length, position)
            assert len(data) == length
            start = 0
            while start < len(data):
                header = read_header(data, start)
                if not header.is_control:
                    found += [
                        (record.offset, _text(record))
                        for record in read_records(data, header, start)
                        if record.offset >= at
                    ]
                at = Offset(header.next_offset)
                start += header.size
        return found


def _record(text: str, number: int, now: int) -> Record:
    key, separator, value = text.partition("=")
    if not separator:
        return Record(number, now, None, text.encode())
    return Record(number, now, key.encode(), value.encode() or None)


def _text(record: Record) -> str:
    value = (record.value or b"").decode()
    return value if record.key is None else f"{record.key.decode()}={value}"
