"""What no checksum covers of a batch: a job that reads for somebody looks at its neighbours."""

from dataclasses import replace

import pytest

from odradek.model.positions import LeaderEpoch
from odradek.model.units import Bytes
from odradek.ports import FileRange
from odradek.records.batch import LENGTH_END, place
from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import CorruptFile
from odradek.storage.logs.rot import check_range
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import SMALL, Partition

OFFSET_ENDS, EPOCH_ENDS = 7, LENGTH_END + 3
BATCHES = 9
ONE_SEGMENT = LogConfig(segment_bytes=Bytes(10_000), index_interval_bytes=Bytes(200))


def filled() -> tuple[Partition, int]:
    """A log of one segment; the size of each batch."""
    t = Partition(ONE_SEGMENT)
    for number in range(BATCHES):
        t.append(f"{number}", f"{number}'")
    return t, t.log.active_segment.size // BATCHES


def found(t: Partition, start: int, end: int) -> int | None:
    """Where the check of a range finds a batch that cannot be true."""
    segment = t.log.active_segment
    try:
        check_range(FileRange(segment.file, start, end - start), segment)
    except CorruptFile as error:
        return error.position
    return None


@pytest.mark.parametrize("last_byte", [OFFSET_ENDS, EPOCH_ENDS])
@pytest.mark.parametrize("bit", [0, 1, 2, 4, 9, 30])
@pytest.mark.parametrize("harmed", range(2, BATCHES - 2))
def test_it_is_found_by_whoever_reads_it_or_what_is_next_to_it(
    harmed: int, bit: int, last_byte: int
) -> None:
    """Too high, too low, or taken for another: it is the one that is named, wherever one begins."""
    t, size = filled()
    segment = t.log.active_segment
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.flip(segment.path(".log"), harmed * size + last_byte - bit // 8, bit % 8)
    for first in range(BATCHES):
        for end in range(first + 1, BATCHES + 1):
            at = found(t, first * size, end * size)
            if at is None:
                assert not first <= harmed < end
            else:
                assert at == harmed * size


def test_what_is_sound_is_not_taken_for_rot() -> None:
    """Gaps that compaction left, a leap, epochs that begin, batches without one."""
    t = Partition(replace(ONE_SEGMENT, compact=True))
    written = [(0, -1), (2, -1), (10, 0), (12, 3), (14, 3), (300, 5), (302, -1), (304, 5), (306, 7)]
    for base, epoch in written:
        batch = t.batch([f"k={base}", f"k={base + 1}"])
        place(batch, 0, base, LeaderEpoch(epoch))
        t.log.append_replica(memoryview(batch), t.now)
        t.write()
    size = t.log.active_segment.size
    starts = [at for at in range(size) if at * len(written) % size == 0]
    for start in starts:
        for end in [*starts[1:], size]:
            if start < end:
                assert found(t, start, end) is None


@pytest.mark.parametrize("bit", [1, 4, 33])
def test_the_last_batch_has_no_neighbour_that_contradicts_too_high_an_offset(bit: int) -> None:
    """A log may have gaps: this is served, and a start after a crash keeps it."""
    t = Partition(SMALL)
    t.append("a")
    last = t.append("b").base_offset
    segment = t.log.active_segment
    at, _ = segment.find(last) or (0, None)
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.flip(segment.path(".log"), at + OFFSET_ENDS - bit // 8, bit % 8)
    assert found(t, 0, segment.size) is None
