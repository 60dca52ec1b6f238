"""A corrupt batch is taken out of a log, and what another broker has takes its place."""

import pytest

from odradek.model.errors import BrokerError
from odradek.model.positions import Offset
from odradek.model.units import Bytes
from odradek.records.batch import place
from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import CorruptFile, DiskFull, OffsetsOutOfOrder
from odradek.storage.logs.gaps import Gap, Mending, find_gap, fitting
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt
from odradek.storage.segments.scan import walk_batches
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import Partition

MAGIC_AT = 16
"""In the header: with another value nothing tells where the batch ends."""
LAST_BYTE = -1
VALUES = [f"value-{number}" for number in range(20)]


class Copies:
    """Two logs with the same records, of which one is spoilt; its segments have ten batches."""

    def __init__(self) -> None:
        config = LogConfig(segment_bytes=Bytes(800), index_interval_bytes=Bytes(100))
        self.whole, self.spoilt = Partition(config), Partition(config)
        for value in VALUES:
            for partition in (self.whole, self.spoilt):
                partition.append(value)
        self.spoilt.flush()
        assert len(self.log.segments) > 1
        assert len(self.log.segments[0].file.read(800, 0)) > 700

    @property
    def log(self) -> PartitionLog:
        """The one that is to be mended."""
        return self.spoilt.log

    def spoil(self, offset: int, at: int = LAST_BYTE) -> None:
        """One bit of a batch."""
        segment = self.log.segment_of(offset)
        found = segment.find(offset)
        assert found is not None
        position, header = found
        assert isinstance(self.spoilt.disk, SimulatedDisk)
        self.spoilt.disk.flip(segment.path(".log"), position + at % header.size, 0)
        segment.rest()

    def found(self) -> CorruptAt:
        """The first corrupt batch, as a reader meets it."""
        for segment in self.log.segments:
            try:
                for _ in walk_batches(segment.file, segment.path(".log"), 0, segment.size):
                    pass
            except CorruptFile as error:
                found = self.log.locate(error)
                assert found is not None
                return found
        raise AssertionError("no batch is corrupt")

    def gap(self) -> Gap:
        """What is missing."""
        gap = find_gap(self.log, self.found())
        assert gap is not None
        return gap

    def run(self, offset: int) -> memoryview:
        """What the other log has from an offset on, to the end of its segment."""
        chunk = self.whole.log.read(Offset(offset), self.whole.log.log_end_offset, 5_000).chunk
        assert chunk is not None
        return memoryview(chunk.file.read(chunk.length, chunk.position))

    def mend(self) -> None:
        """With what the other one has."""
        gap = self.gap()
        mending = Mending(self.log, gap, fitting(self.log, gap, self.run(gap.offset)))
        for _ in mending.steps():
            pass
        assert mending.publish()


@pytest.mark.parametrize("at", [MAGIC_AT, LAST_BYTE])
@pytest.mark.parametrize("offset", [0, 4, 7])
def test_a_batch_is_mended_and_nothing_else_is_touched(offset: int, at: int) -> None:
    """Also where its header is spoilt: the index tells where another batch begins."""
    t = Copies()
    t.spoil(offset, at)
    t.mend()
    assert t.log.corrupt is None
    assert t.spoilt.records() == t.whole.records()
    t.spoilt.reopen()
    assert t.spoilt.records() == t.whole.records()


def test_only_what_lies_in_the_gap_is_asked_of_the_other() -> None:
    """Another may have spoilt what lies behind it: that copy may be the only one."""
    t = Copies()
    t.spoil(4)
    gap = t.gap()
    assert (gap.offset, gap.end_offset) == (4, 5)


def test_two_batches_without_an_end_are_one_gap() -> None:
    """What lies between them comes anew, too."""
    t = Copies()
    t.spoil(2, MAGIC_AT)
    t.spoil(6, MAGIC_AT)
    gap = t.gap()
    assert gap.offset == 2
    assert gap.end_offset > 6
    t.mend()
    assert t.spoilt.records() == t.whole.records()


def test_what_another_has_of_another_history_is_not_taken() -> None:
    """Its epoch is not the one that wrote this part of the log."""
    t = Copies()
    t.spoil(4)
    run = bytearray(t.run(4))
    place(run, 0, 4, 3)
    with pytest.raises(OffsetsOutOfOrder, match="orders-0"):
        fitting(t.log, t.gap(), memoryview(run))


def test_what_another_has_spoilt_is_not_taken() -> None:
    """The bytes are checked before anything is replaced."""
    t = Copies()
    t.spoil(4)
    run = bytearray(t.run(4))
    run[70] ^= 1
    with pytest.raises(BrokerError, match="checksum"):
        fitting(t.log, t.gap(), memoryview(run))


def test_what_another_has_compacted_away_is_missing_here_from_now_on() -> None:
    """The log goes on behind it."""
    t = Copies()
    t.spoil(4)
    mending = Mending(t.log, t.gap(), [])
    for _ in mending.steps():
        pass
    assert mending.publish()
    assert [offset for offset, _ in t.spoilt.records()] == [
        offset for offset, _ in t.whole.records() if offset != 4
    ]


def test_a_mending_that_is_cancelled_leaves_the_log_as_it_was() -> None:
    """Somebody wants the log for himself; it is tried again."""
    t = Copies()
    t.spoil(4)
    mending = Mending(t.log, t.gap(), [])
    mending.cancel()
    for _ in mending.steps():
        pass
    assert not mending.publish()
    t.mend()
    assert t.spoilt.records() == t.whole.records()


@pytest.mark.parametrize("call", range(1, 12))
def test_a_full_disk_leaves_the_log_as_it_was(call: int) -> None:
    """Whichever call finds it full, what is whole can be read, and it is tried again."""
    t = Copies()
    t.spoil(4)
    gap = t.gap()
    assert isinstance(t.spoilt.disk, SimulatedDisk)
    faults = t.spoilt.disk.faults
    mending = Mending(t.log, gap, fitting(t.log, gap, t.run(gap.offset)))
    faults.fail_call(faults.calls + call, 28)
    with pytest.raises(DiskFull):
        for _ in mending.steps():
            pass
    assert not mending.publish()
    t.mend()
    assert t.spoilt.records() == t.whole.records()
