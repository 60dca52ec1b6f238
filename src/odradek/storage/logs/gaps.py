"""What a corrupt batch leaves missing in a log, and how what another broker has takes its place.

The segment is written anew: the batches before the gap, those of the other broker, the batches
behind. Then it is swapped; until then nothing of the log is touched, so what is whole here and
nowhere else stays.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.model.positions import Offset
from odradek.model.units import MIB, Bytes
from odradek.records.batch import BatchHeader, check_crc, headers, read_header
from odradek.storage.errors import CorruptFile, OffsetsOutOfOrder
from odradek.storage.files.names import CLEANED, LOG
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt, ReadableLog
from odradek.storage.logs.replaying import save_indexes
from odradek.storage.logs.swapping import swap
from odradek.storage.segments.scan import walk_headers
from odradek.storage.segments.segment import Segment

STEP_BYTES: Final = MIB


class Gap(NamedTuple):
    """From a corrupt batch up to the next one that is as it was written."""

    segment_base: Offset
    position: int
    offset: Offset
    end_position: int
    end_offset: Offset


def find_gap(log: ReadableLog, corrupt: CorruptAt) -> Gap | None:
    """What is to be fetched again; None where it is not in the log any more. For a view.

    Where there is another one without an end behind it, both are one gap.
    """
    at = next(
        (n for n, it in enumerate(log.segments) if it.base_offset == corrupt.segment_base), None
    )
    if at is None or corrupt.position >= log.segments[at].size:
        return None
    segment, bad = log.segments[at], corrupt.position
    with log.failures.touching(log.folder.disk.name):
        for position in _candidates(segment, corrupt.position):
            header = _sound(segment, position) if position > bad else None
            if header is not None and header.base_offset >= corrupt.offset:
                try:
                    for _ in walk_headers(segment.file, segment.path(LOG), position, segment.size):
                        pass
                except CorruptFile as another:
                    bad = another.position
                    continue
                end = Offset(header.base_offset)
                return Gap(segment.base_offset, *corrupt[1:3], position, end)
    behind = log.segments[at + 1].base_offset if segment is not log.segments[-1] else None
    end = log.log_end_offset if behind is None else behind
    return Gap(segment.base_offset, *corrupt[1:3], segment.size, end)


def _candidates(segment: Segment, position: int) -> Iterator[int]:
    """Where a batch behind this one may begin: where it says that it ends, or by the index."""
    with suppress(CorruptBatch):
        yield position + _header(segment, position).size
    entry = segment.index.above_position(position)
    while entry is not None:
        yield entry[1]
        entry = segment.index.above_position(entry[1])


def _header(segment: Segment, position: int) -> BatchHeader:
    return read_header(segment.file.read(BATCH_HEADER_BYTES, position))


def _sound(segment: Segment, position: int) -> BatchHeader | None:
    """The batch that begins here, if it is as it was written."""
    if position + BATCH_HEADER_BYTES > segment.size:
        return None
    try:
        header = _header(segment, position)
        if position + header.size > segment.size:
            return None
        check_crc(segment.file.read(header.size, position), header)
    except CorruptBatch:
        return None
    return header


def fitting(log: PartitionLog, gap: Gap, run: memoryview) -> list[memoryview]:
    """The batches of a run that belong into the gap; raises where they are of another history."""
    found = []
    end: int = gap.offset
    for position, header in headers(run, cut_tail=True):
        if header.last_offset < gap.offset:
            continue
        if header.base_offset >= gap.end_offset:
            break
        check_crc(run, header, position)
        epoch = log.epochs.epoch_at(Offset(header.base_offset))
        if not end <= header.base_offset <= header.last_offset < gap.end_offset or (
            header.leader_epoch >= 0 and header.leader_epoch != epoch
        ):
            raise OffsetsOutOfOrder(
                f"{log.partition}: a batch from {header.base_offset} to {header.last_offset} of "
                f"epoch {header.leader_epoch} is not what lay from {gap.offset} to {gap.end_offset}"
            )
        end = header.next_offset
        found.append(run[position : position + header.size])
    return found


class Mending:
    """One gap that is filled. `steps` on the disk's thread; the rest on the loop."""

    def __init__(self, log: PartitionLog, gap: Gap, batches: list[memoryview]) -> None:
        """Nothing is on its way to this segment, and no compaction is under way."""
        assert not log.being_cleaned, log.partition
        assert gap.segment_base < log.active_segment.base_offset, log.partition
        log.being_cleaned = True
        self._log = log
        self._spoilt = log.segment_of(gap.segment_base)
        self._gap = gap
        self._batches = batches
        self._mended: Segment | None = None
        self._is_cancelled = False

    def cancel(self) -> None:
        """Stops at the next step: somebody wants the log for himself."""
        self._is_cancelled = True

    def steps(self) -> Iterator[Bytes]:
        """All the work; each step yields how many bytes it wrote."""
        log, gap = self._log, self._gap
        with log.failures.touching(log.folder.disk.name):
            fresh = Segment(log.folder, gap.segment_base, state=CLEANED)
            fresh.index_interval = log.config.index_interval_bytes
            fresh.create()
            try:
                yield from self._copy(fresh, 0, gap.position)
                for batch in self._batches:
                    self._write(fresh, batch, [read_header(batch)])
                yield from self._copy(fresh, gap.end_position, self._spoilt.size)
                if not self._is_cancelled:
                    fresh.aborted.entries.extend(self._spoilt.aborted.entries)
                    fresh.complete_times()
                    save_indexes(fresh)
            except OSError:
                fresh.delete()  # there may be no room for it
                raise
            if self._is_cancelled:
                fresh.delete()
                return
            swap(log, [self._spoilt], fresh)
            self._mended = fresh

    def _copy(self, fresh: Segment, start: int, end: int) -> Iterator[Bytes]:
        """By the headers alone: another batch that is corrupt is another gap."""
        spoilt = self._spoilt
        some: list[BatchHeader] = []
        begun = start
        for position, header in walk_headers(spoilt.file, spoilt.path(LOG), start, end):
            some.append(header)
            reached = position + header.size
            if self._is_cancelled:
                return
            if reached - begun >= STEP_BYTES or reached == end:
                self._write(fresh, spoilt.file.read(reached - begun, begun), some)
                yield Bytes(reached - begun)
                begun, some = reached, []

    @staticmethod
    def _write(fresh: Segment, data: bytes | memoryview, some: list[BatchHeader]) -> None:
        at = fresh.size
        fresh.file.write([data], at)
        fresh.note(some, at)

    def publish(self) -> bool:
        """Whether readers see the mended segment from now on. However the steps ended."""
        self._log.being_cleaned = False
        if self._mended is not None:
            self._log.mended(self._spoilt, self._mended)
        return self._mended is not None
