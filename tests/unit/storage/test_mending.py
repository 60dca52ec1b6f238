"""An index that lies is found out, and built anew from the batches: never a wrong answer."""

from collections.abc import Callable
from struct import pack

import pytest

from odradek.model.units import Timestamp
from odradek.storage.errors import CorruptFile, LyingIndex
from odradek.storage.files.names import INDEX, TIME_INDEX
from odradek.storage.segments.segment import Segment
from tests.unit.storage.partition import Partition

VALUES = [f"value-{number}" for number in range(40)]


def written() -> Partition:
    """A log of several segments, flushed, with nothing of its indexes in memory."""
    t = Partition()
    for number, value in enumerate(VALUES):
        t.now = Timestamp(1_000 + number)
        t.append(value)
    t.commit()
    t.flush()
    for segment in t.log.segments:
        segment.rest()
    return t


def overwrite(t: Partition, segment: Segment, suffix: str, data: bytes) -> None:
    """Puts other bytes over the file of an index."""
    file = t.disk.open(segment.path(suffix))
    file.truncate(0)
    file.write([data], 0)
    file.close()


def shifted(right: bytes) -> bytes:
    """Every position a byte too far: into the middle of a batch."""
    entries = [right[at : at + 8] for at in range(0, len(right), 8)]
    return b"".join(e[:4] + pack(">I", int.from_bytes(e[4:], "big") + 1) for e in entries)


LIES: dict[str, Callable[[bytes], bytes]] = {
    "past the file": lambda right: right[:4] + pack(">I", 1 << 30),
    "into a batch": shifted,
    "another batch": lambda right: pack(">I", 0) + right[4:],
    "falling": lambda right: right[:8] * 2,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_index_is_built_anew_when_it_is_read(lie: str) -> None:
    """Every record is read, from wherever a reader begins, and the file is right again."""
    t = written()
    segment = t.log.segments[1]
    file = t.disk.open(segment.path(INDEX))
    right = file.read(file.size(), 0)
    assert len(right) >= 16
    overwrite(t, segment, INDEX, LIES[lie](right))
    for start in range(len(VALUES)):
        assert t.read(start) == VALUES[start:]
        segment.rest()
    assert t.disk.open(segment.path(INDEX)).read(1 << 20, 0) == right


def test_a_lying_time_index_is_built_anew() -> None:
    """Times are found as before."""
    t = written()
    segment = t.log.segments[1]
    overwrite(t, segment, TIME_INDEX, bytes(24))
    for number in range(len(VALUES)):
        found = t.log.offset_at(Timestamp(1_000 + number))
        assert found is not None
        assert found.offset == number


def test_what_is_still_written_to_is_not_built_anew() -> None:
    """A save may be on its way to those files: the reader gets the error, with file and place."""
    t = written()
    active = t.log.active_segment
    overwrite(t, active, INDEX, pack(">II", 0, 1 << 30))
    with pytest.raises(LyingIndex, match="beyond the segment") as caught:
        t.log.read(t.log.next_offset - 1, t.log.log_end_offset, 1_000)  # type: ignore[arg-type]
    assert caught.value.path == active.path(INDEX)


def test_where_the_batches_are_corrupt_too_that_is_said() -> None:
    """No index is made of a segment that cannot be walked through."""
    t = written()
    segment = t.log.segments[1]
    overwrite(t, segment, INDEX, pack(">II", 0, 1))
    t.disk.open(segment.path(".log")).write([bytes(30)], 0)
    with pytest.raises(CorruptFile, match=r"\.log"):
        t.read()
