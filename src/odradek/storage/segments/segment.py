"""One segment: a file of batches, and the sparse indexes that find a place in it.

Memory changes on the loop, files change on the disk's thread. So what is written is noted here
afterwards, and what the disk is to write is handed out as bytes. Nor does the loop read what is not
in memory: it gets `WouldBlock`, and a job reads for it into a copy, which it adopts.

Invariants: `size` is where the next batch goes, and all bytes below it are whole batches whose
offsets rise from `base_offset`. An index entry names a batch by its last offset; where the batch
found there is another, the index lies, and says so.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES, INDEX_INTERVAL_BYTES
from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.ports import Disk, File, FileRange
from odradek.records.batch import BatchHeader, read_header
from odradek.records.record import read_records
from odradek.storage.errors import CorruptFile, LyingIndex
from odradek.storage.files.dir_files import OpenFiles, delete_if_there, read_small
from odradek.storage.files.names import (
    INDEX,
    LOG,
    SEGMENT_SUFFIXES,
    TIME_INDEX,
    TXN_INDEX,
    segment_stem,
)
from odradek.storage.segments import offset_index, time_index
from odradek.storage.segments import transaction_index as txn_index
from odradek.storage.segments.offset_index import RELATIVE_OFFSET_MAX, OffsetIndex
from odradek.storage.segments.scan import walk_batches, walk_headers
from odradek.storage.segments.time_index import TimeIndex
from odradek.storage.segments.transaction_index import TransactionIndex

NO_TIMESTAMP: Final = Timestamp(-1)


class Folder:
    """The directory of one log. It is renamed when the log is deleted, or moves in."""

    __slots__ = ("disk", "files", "name")

    def __init__(self, files: OpenFiles, name: str) -> None:
        self.files = files
        self.disk: Disk = files.disk
        self.name = name

    def path(self, name: str) -> str:
        """Of a file in it."""
        return f"{self.name}/{name}"


class TimestampedOffset(NamedTuple):
    """A record's time and place."""

    timestamp: Timestamp
    offset: Offset


class Save(NamedTuple):
    """Bytes that belong into a file, and what to tell its owner once they are there."""

    path: str
    data: bytes
    position: int
    target: OffsetIndex | TimeIndex | TransactionIndex
    entries: int  # that the file has afterwards

    def write(self, disk: Disk) -> None:
        """On the disk's thread; what lies behind in the file was never part of it."""
        file = disk.open(self.path, create=True)
        try:
            file.write([self.data], self.position)
            file.truncate(self.position + len(self.data))
        finally:
            file.close()

    def note(self) -> None:
        """On the loop, once it is written."""
        self.target.was_saved(self.entries)


class Known(NamedTuple):
    """What was read of a segment's files."""

    file: File | None
    offsets: OffsetIndex | None
    times: TimeIndex | None
    aborted: TransactionIndex | None
    hint: tuple[int, BatchHeader] | None
    max_timestamp: TimestampedOffset | None
    first_timestamp: Timestamp | None


class Segment:
    """A run of a log, from its base offset to the next segment's."""

    __slots__ = (
        "_aborted",
        "_file",
        "_hint",
        "_index",
        "_is_copy",
        "_pinned",
        "_tail",
        "_times",
        "base_offset",
        "bytes_since_entry",
        "created",
        "first_timestamp",
        "folder",
        "has_new_entries",
        "index_interval",
        "max_timestamp",
        "owed_snapshot",
        "size",
        "state",
    )

    def __init__(self, folder: Folder, base_offset: Offset, size: int = 0, state: str = "") -> None:
        self.folder = folder
        self.base_offset = base_offset
        self.size = size
        self.state = state  # the suffix behind the suffix: "", ".cleaned", ".swap"
        self.index_interval: int = INDEX_INTERVAL_BYTES
        self.bytes_since_entry = 0
        self.has_new_entries = True  # in an index, perhaps, since `due_saves` was asked
        self.created: Timestamp | None = None  # None: before this process began
        self.first_timestamp: Timestamp | None = None  # of the first batch; None: not known
        self.max_timestamp: TimestampedOffset | None = None  # None: not read yet
        self.owed_snapshot: bytes | None = None  # it had no room yet; for the disk's thread
        self._file: File | None = None
        self._hint: tuple[int, BatchHeader] | None = None  # the batch behind the last range
        self._tail: tuple[int, BatchHeader] | None = None  # where those noted last begin
        self._pinned = False  # its names are gone: the open file is all there is
        self._is_copy = False  # whose files are not counted: it goes soon
        self._index: OffsetIndex | None = None
        self._times: TimeIndex | None = None
        self._aborted: TransactionIndex | None = None

    # Where it is

    def path(self, suffix: str) -> str:
        """Of one of its files."""
        return f"{self.folder.name}/{segment_stem(self.base_offset)}{suffix}{self.state}"

    @property
    def file(self) -> File:
        """The batches. Opened when it is needed, and forgotten when many others were."""
        file = self._file
        if file is None:
            if self._is_copy:
                file = self._file = self.folder.disk.open(self.path(LOG))
            else:
                file = self.folder.files.open(self.path(LOG), self)
                self._file = None if self.folder.files.is_given_up else file
        return file

    def forget_file(self) -> None:
        """Lets go of what can be had again from the disk."""
        if self._pinned:
            return
        self._file = None
        if self._index is not None:
            self._index.forget_page()

    def rest(self) -> None:
        """Gives back all memory and files that an idle segment does not need."""
        self.folder.files.forget(self)
        self._hint = self._tail = None
        if self._pinned:
            return
        if self._index is not None and not self._index.relatives:
            self._index = None
        if self._times is not None and not self._times.tail:
            self._times = None
        if self._aborted is not None and self._aborted.count == self._aborted.saved:
            self._aborted = None

    def pin(self) -> None:
        """Holds on to its files: their names go, or mean others, and readers are still here."""
        if self._pinned:
            return
        disk = self.folder.disk
        index = disk.open(self.path(INDEX))
        times = disk.open(self.path(TIME_INDEX))
        self.index.open_with(lambda: index)
        self.times.open_with(lambda: times)
        _ = self.aborted
        self._file = self.file
        self._pinned = True

    def unpin(self) -> None:
        """Nobody looks for anything in it any more: its room is free once all ranges were sent."""
        if self._pinned:
            self._pinned = False
            self._file = self._index = self._times = None

    @property
    def is_at_rest(self) -> bool:
        """Whether all that its indexes say is in their files."""
        index, times = self._index, self._times
        return (index is None or not index.relatives) and (times is None or not times.tail)

    def copy(self) -> "Segment":
        """It as it is now: what is appended or saved later is not seen there."""
        same = Segment(self.folder, self.base_offset, self.size, self.state)
        same.index_interval, same.bytes_since_entry = self.index_interval, self.bytes_since_entry
        same.created, same.first_timestamp = self.created, self.first_timestamp
        same.max_timestamp, same._file, same._is_copy = self.max_timestamp, self._file, True
        same._hint, same._tail = self._hint, self._tail
        same._index = None if self._index is None else self._index.copy()
        same._times = None if self._times is None else self._times.copy()
        same._aborted = None if self._aborted is None else self._aborted.copy()
        return same

    @property
    def is_warm(self) -> bool:
        """Whether memory holds what an append needs of it."""
        return (
            self._index is not None
            and self._times is not None
            and self._times.knows_last
            and self._aborted is not None
            and self.max_timestamp is not None
            and (self.first_timestamp is not None or not self.size)
        )

    @property
    def _lacks_first_timestamp(self) -> bool:
        return self.first_timestamp is None and bool(self.size)

    def warm(self) -> None:
        """Reads what an append needs of it, so that noting it meets no disk. For a copy's job."""
        _ = self.index, self.times.last(), self.newest, self.aborted
        if self._lacks_first_timestamp:
            self.first_timestamp = self._read_first_timestamp()

    def _read_first_timestamp(self) -> Timestamp:
        """That of its first batch; -1 where rot has made it unreadable."""
        try:
            found = self.find(self.base_offset)
        except CorruptFile:
            found = None
        return Timestamp(found[1].max_timestamp if found else -1)

    @property
    def known(self) -> "Known":
        """What memory holds of its files now."""
        return Known(
            self._file,
            self._index,
            self._times,
            self._aborted,
            self._hint,
            self.max_timestamp,
            self.first_timestamp,
        )

    def adopt(self, seen: "Known") -> None:
        """What a job has read into a copy of it, as far as it is not known yet. On the loop.

        Its files have not been cut since. Whatever else changes them has it in memory.
        """
        if self._file is None and seen.file is not None:
            self._file = seen.file
            self.folder.files.adopt(self)
        if self._index is None:
            self._index = seen.offsets
        elif seen.offsets is not None and seen.offsets is not self._index:
            self._index.adopt_page(seen.offsets.page, seen.offsets.saved)
        if self._times is None:
            self._times = seen.times
        elif seen.times is not None:
            self._times.adopt_last(seen.times)
        self._aborted = self._aborted or seen.aborted
        self._hint = self._hint or seen.hint
        self.max_timestamp = self.max_timestamp or seen.max_timestamp
        if self.first_timestamp is None:
            self.first_timestamp = seen.first_timestamp

    # Its indexes

    @property
    def index(self) -> OffsetIndex:
        """From offsets to positions."""
        if self._index is None:
            saved = self._entries(INDEX, offset_index.ENTRY_BYTES)
            self._index = OffsetIndex(
                self.path(INDEX), saved, lambda: self.folder.disk.open(self.path(INDEX))
            )
        return self._index

    @property
    def times(self) -> TimeIndex:
        """From timestamps to offsets."""
        if self._times is None:
            saved = self._entries(TIME_INDEX, time_index.ENTRY_BYTES)
            self._times = TimeIndex(
                self.path(TIME_INDEX), saved, lambda: self.folder.disk.open(self.path(TIME_INDEX))
            )
        return self._times

    @property
    def aborted(self) -> TransactionIndex:
        """The transactions whose abort marker lies here."""
        if self._aborted is None:
            path = self.path(TXN_INDEX)
            try:
                entries = txn_index.decode(read_small(self.folder.disk, path), path)
            except FileNotFoundError:
                entries = []
            self._aborted = TransactionIndex(path, entries)
        return self._aborted

    @property
    def newest(self) -> TimestampedOffset:
        """Its greatest timestamp, and the last offset of the batch that has it; -1 if empty."""
        if self.max_timestamp is None:
            last = self.times.last()
            if last is None:
                self.max_timestamp = TimestampedOffset(NO_TIMESTAMP, self.base_offset)
            else:
                offset = Offset(self.base_offset + last.relative)
                self.max_timestamp = TimestampedOffset(Timestamp(last.timestamp), offset)
        return self.max_timestamp

    def forget_indexes(self) -> None:
        """Their files were written anew: what was read of them is no longer true."""
        self._index = self._times = self.max_timestamp = None
        self._hint = self._tail = None

    def adopt_aborted(self, entries: list[txn_index.AbortedTransaction]) -> None:
        """The transaction index is written, and says this."""
        self._aborted = TransactionIndex(self.path(TXN_INDEX), entries)

    def start_empty_indexes(self) -> None:
        """A segment that is not there yet has indexes without entries."""
        path = self.path
        self._index = OffsetIndex(path(INDEX), 0, lambda: self.folder.disk.open(path(INDEX)))
        self._times = TimeIndex(
            path(TIME_INDEX), 0, lambda: self.folder.disk.open(path(TIME_INDEX))
        )
        self._aborted = TransactionIndex(path(TXN_INDEX), [])
        self.max_timestamp = TimestampedOffset(NO_TIMESTAMP, self.base_offset)
        self.bytes_since_entry = 0

    def _entries(self, suffix: str, entry_bytes: int) -> int:
        """How many entries a file has; a cut one at its end was never finished, and is not one."""
        try:
            return self.folder.disk.size(self.path(suffix)) // entry_bytes
        except FileNotFoundError:
            if not self.size:
                return 0
            raise CorruptFile(self.path(suffix), 0, "the file is missing") from None

    # What was written

    def holds(self, last_offset: int) -> bool:
        """Whether this offset can stand in an index of this segment."""
        return 0 <= last_offset - self.base_offset <= RELATIVE_OFFSET_MAX

    def follows(self, position: int, header: BatchHeader, end: int) -> int:
        """The offset behind a batch; CorruptFile if it does not follow, or cannot stand here.

        No checksum covers the base offset.
        """
        last = header.last_offset
        if not (end <= header.base_offset <= last and self.holds(last)):
            reason = f"offset {header.base_offset} does not follow {end}"
            raise CorruptFile(self.path(LOG), position, reason)
        return last + 1

    def note(self, headers: Sequence[BatchHeader], position: int) -> None:
        """The batches of these headers have been written from this position on, behind all others.

        One loop over plain numbers: this is on the way of every append.
        """
        base, interval = self.base_offset, self.index_interval
        since, newest = self.bytes_since_entry, self.max_timestamp or self.newest
        latest, latest_at = newest.timestamp, newest.offset - base
        if headers:
            self._tail = position, headers[0]
            if self.first_timestamp is None and not position:
                self.first_timestamp = Timestamp(headers[0].max_timestamp)
        for header in headers:
            relative = header.base_offset + header.last_offset_delta - base
            if header.max_timestamp > latest:
                latest, latest_at = Timestamp(header.max_timestamp), relative
            if since > interval:
                self.index.relatives.append(relative)
                self.index.positions.append(position)
                if latest >= 0:
                    self.times.append(latest, latest_at)
                since, self.has_new_entries = 0, True
            since += header.size
            position += header.size
        self.bytes_since_entry, self.size = since, position
        if latest != newest.timestamp:
            self.max_timestamp = TimestampedOffset(latest, Offset(base + latest_at))

    def complete_times(self) -> None:
        """Notes the greatest timestamp in the index, whatever the interval: the segment rests."""
        newest = self.newest
        if newest.timestamp >= 0:
            self.times.append(newest.timestamp, newest.offset - self.base_offset)

    def saves(self) -> list[Save]:
        """What the disk is to write so that the index files hold what memory does."""
        saves = []
        for suffix, index, size in (
            (INDEX, self._index, offset_index.ENTRY_BYTES),
            (TIME_INDEX, self._times, time_index.ENTRY_BYTES),
            (TXN_INDEX, self._aborted, txn_index.ENTRY_BYTES),
        ):
            if index is not None and index.count > index.saved:
                at = index.saved * size
                saves.append(Save(self.path(suffix), index.unsaved(), at, index, index.count))
        return saves

    def due_saves(self) -> list[Save]:
        """Likewise, once enough entries wait to be worth a write."""
        if self.index.write_is_due:
            return self.saves()
        self.has_new_entries = False
        return []

    # Reading

    def find(self, offset: int) -> tuple[int, BatchHeader] | None:
        """The first batch that ends at or beyond an offset; None if all end before it."""
        for known in self._tail, self._hint:  # the first is what a reader has been woken for
            if known is not None:
                behind = offset - known[1].base_offset
                if 0 <= behind <= known[1].last_offset_delta:
                    return known
        start, entry = 0, self.index.floor(offset - self.base_offset)
        if entry is not None:
            start, header = self._indexed(entry)
            if header.last_offset >= offset:
                return start, header
        for position, header in walk_headers(self.file, self.path(LOG), start, self.size):
            if header.base_offset + header.last_offset_delta >= offset:
                return position, header
        return None

    def _indexed(self, entry: tuple[int, int]) -> tuple[int, BatchHeader]:
        """The batch that an index entry names; LyingIndex if it is not there."""
        last_offset, position = self.base_offset + entry[0], entry[1]
        reason = f"no batch up to {last_offset} starts at {position}"
        if position + BATCH_HEADER_BYTES > self.size:
            raise LyingIndex(self.path(INDEX), 0, f"{position} is beyond the segment's {self.size}")
        try:
            header = read_header(self.file.read(BATCH_HEADER_BYTES, position))
        except CorruptBatch:
            raise LyingIndex(self.path(INDEX), 0, reason) from None
        if header.last_offset != last_offset:
            raise LyingIndex(self.path(INDEX), 0, reason)
        return position, header

    def find_time(self, timestamp: int, from_offset: int) -> TimestampedOffset | None:
        """The first record at or after a time, from an offset on; None if there is none here."""
        before = self.times.before(timestamp)
        start = max(from_offset, self.base_offset + before.relative if before else 0)
        found = self.find(start)
        if found is None:
            return None
        for _, header, batch in walk_batches(self.file, self.path(LOG), found[0], self.size):
            if header.max_timestamp < timestamp:
                continue
            for record in read_records(batch, header):
                if record.timestamp >= timestamp and record.offset >= from_offset:
                    return TimestampedOffset(Timestamp(record.timestamp), Offset(record.offset))
        return None

    def range_up_to(self, position: int, bytes_max: int, stop: int) -> FileRange:
        """Whole batches from a position on, at most so many bytes of them, and none from `stop` on.

        Where there is a choice the range ends on an index entry: a reader that goes on there
        finds its place at once. Empty if not even the first batch fits.
        """
        if position + bytes_max >= stop:
            return FileRange(self.file, position, stop - position)
        entry = self.index.floor_position(position + bytes_max)
        if entry is not None and entry[1] > position:
            self._hint = end, _ = self._indexed(entry)
            return FileRange(self.file, position, end - position)
        for at, header in walk_headers(self.file, self.path(LOG), position, stop):
            if at + header.size > position + bytes_max:
                self._hint = at, header
                return FileRange(self.file, position, at - position)
        return FileRange(self.file, position, stop - position)

    def next_offset(self, *, closed: bool = False) -> Offset:
        """The offset behind its last batch; its base if it has none.

        Walks over the batches behind the last index entry, and notes their greatest time: the
        indexes say nothing of them, unless the segment was closed in good order.
        """
        last = self.index.last()
        start = last[1] if last else 0
        if start >= self.size > 0:
            raise CorruptFile(self.path(INDEX), 0, f"{start} is beyond the segment's {self.size}")
        end = self.base_offset
        self.bytes_since_entry = self.size - start
        newest = None if closed else self.newest
        for _, header in walk_headers(self.file, self.path(LOG), start, self.size):
            if header.base_offset < end:
                raise CorruptFile(self.path(LOG), start, f"offset {header.base_offset} < {end}")
            end = Offset(header.next_offset)
            if newest is not None and header.max_timestamp > newest.timestamp:
                newest = TimestampedOffset(
                    Timestamp(header.max_timestamp), Offset(header.last_offset)
                )
        self.max_timestamp = newest
        return end

    # Changing its files, on the disk's thread

    def create(self) -> None:
        """Makes its files, empty, whatever a crash left of an earlier attempt."""
        self._file = self.folder.files.open(self.path(LOG), self, create=True)
        self._file.truncate(0)
        self.clear_indexes()

    def make_files(self) -> None:
        """Likewise in a directory that is empty."""
        for suffix in (LOG, INDEX, TIME_INDEX):
            self.folder.disk.open(self.path(suffix), create=True).close()

    def clear_indexes(self) -> None:
        """Empties the indexes and their files: each batch is to be noted anew."""
        self._cut(INDEX, 0, create=True)
        self._cut(TIME_INDEX, 0, create=True)
        delete_if_there(self.folder.disk, self.path(TXN_INDEX))
        self.start_empty_indexes()

    def delete(self) -> None:
        """Removes its files, that of the log first: indexes without a log go when one is opened."""
        self.folder.files.forget(self)
        for suffix in SEGMENT_SUFFIXES:
            delete_if_there(self.folder.disk, self.path(suffix))

    def rename(self, state: str) -> None:
        """Changes the last suffix of all its files, that of the log first."""
        for suffix in SEGMENT_SUFFIXES:
            old = self.path(suffix)
            if suffix == LOG or self.folder.disk.exists(old):
                self.folder.disk.rename(old, old.removesuffix(self.state) + state)
        self.folder.files.forget(self)
        self.state = state
        for index in (self._index, self._times):
            if index is not None:
                index.path = self.path(INDEX if index is self._index else TIME_INDEX)

    def rename_rest(self, state: str) -> None:
        """As `rename`, where a crash came after the log's file had been renamed."""
        for suffix in SEGMENT_SUFFIXES:
            old = self.path(suffix)
            if self.folder.disk.exists(old):
                self.folder.disk.rename(old, old.removesuffix(self.state) + state)
        self.state = state

    def truncate(self, size: int, end_offset: Offset) -> None:
        """Cuts everything from a position on, where the batch of this offset begins."""
        self.file.truncate(size)
        self.size = size
        self._hint = self._tail = None
        self.truncate_indexes(end_offset)
        if not size:
            self.first_timestamp = None

    def truncate_indexes(self, end_offset: Offset) -> None:
        """Drops what they say of this offset and all beyond it."""
        self.truncate_places(end_offset)
        self._cut(TXN_INDEX, self.aborted.truncate(end_offset) * txn_index.ENTRY_BYTES)

    def truncate_places(self, end_offset: Offset) -> None:
        """Likewise, of the indexes that lead to a batch."""
        relative = end_offset - self.base_offset
        self._cut(INDEX, self.index.truncate(relative) * offset_index.ENTRY_BYTES)
        self._cut(TIME_INDEX, self.times.truncate(relative) * time_index.ENTRY_BYTES)
        last = self.index.last()
        self.bytes_since_entry = self.size - (last[1] if last else 0)
        self.max_timestamp = None

    def _cut(self, suffix: str, size: int, *, create: bool = False) -> None:
        try:
            file = self.folder.disk.open(self.path(suffix), create=create)
        except FileNotFoundError:
            return
        try:
            file.truncate(size)
        finally:
            file.close()
