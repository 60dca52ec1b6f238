"""Compaction: of each key the newest record stays, at its offset."""

import errno

import pytest

from odradek.model.positions import Offset
from odradek.model.units import Bytes, Millis, Timestamp
from odradek.ports import Disk
from odradek.records.batch import read_header
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.storage.compacting import compaction
from odradek.storage.compacting.compaction import Compaction, Throttle, cleanable, is_due
from odradek.storage.compacting.key_map import KeyMap
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import DiskFull
from odradek.storage.logs.truncation import truncate_to
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import ORDERS, Partition

CONFIG = LogConfig(
    segment_bytes=Bytes(500),
    index_interval_bytes=Bytes(100),
    delete=False,
    compact=True,
    delete_retention_ms=Millis(1_000),
)


class Compacted(Partition):
    """A log with a compacted topic's settings."""

    def __init__(self, config: LogConfig = CONFIG, disk: Disk | None = None) -> None:
        super().__init__(config, disk)
        self.cleaned = Offset(0)

    def compact(self) -> Compaction:
        """Rolls, so that all may be compacted, and does it."""
        self.log.roll(self.now)
        if (job := self.log.take_job()) is not None:
            job.run()
            job.publish()
        self.commit()
        self.flush()
        found = cleanable(self.log, self.cleaned, self.now)
        log_dir = LogDir(self.disk, self.failures)
        work = Compaction(log_dir, self.log, found, self.now)
        try:
            for _ in work.steps():
                pass
        finally:
            work.publish()
        self.cleaned = work.end
        return work


def test_the_newest_record_of_each_key_stays() -> None:
    """At the offset that it always had; readers see the rest in order."""
    t = Compacted()
    for number in range(30):
        t.append(f"k{number % 3}={number}", f"only{number}=x" if number % 10 == 0 else "k9=y")
    work = t.compact()
    assert t.records() == [
        (1, "only0=x"), (21, "only10=x"), (41, "only20=x"), (54, "k0=27"),
        (56, "k1=28"), (58, "k2=29"), (59, "k9=y"),
    ]  # fmt: skip
    assert (work.records_read, work.records_kept) == (60, 7)
    assert t.log.size < 900
    assert t.log.log_end_offset == 60
    assert t.append("k0=new").base_offset == 60


@pytest.mark.parametrize("clean", [True, False])
def test_a_compacted_log_is_opened_again(clean: bool) -> None:  # noqa: FBT001
    """Gaps in the offsets are no losses."""
    t = Compacted()
    for number in range(30):
        t.append(f"k{number % 3}={number}")
    t.compact()
    expected = t.records()
    t.append("k0=active")
    t.reopen(clean=clean)
    assert t.records() == [*expected, (30, "k0=active")]
    assert not t.loaded.repair


def test_the_active_segment_is_never_touched() -> None:
    """Nor what is not committed."""
    t = Compacted()
    t.append("a=1")
    t.append("a=2")
    t.flush()
    assert cleanable(t.log, Offset(0), t.now).end == 0
    for number in range(20):
        t.append(f"a={number}")
    t.flush()
    assert cleanable(t.log, Offset(0), t.now).end == 0
    t.log.on_high_watermark(t.log.segments[1].base_offset)
    assert cleanable(t.log, Offset(0), t.now).end == t.log.segments[1].base_offset


def test_a_tombstone_goes_when_all_could_have_seen_it() -> None:
    """It stays for the retention that begins with the first compaction that meets it."""
    t = Compacted()
    t.append("a=1")
    t.append("a=")
    t.append("b=1")
    t.compact()
    assert t.read() == ["a=", "b=1"]
    t.now = Timestamp(t.now + 999)
    t.append("c=1")
    t.compact()
    assert t.read() == ["a=", "b=1", "c=1"]
    t.now = Timestamp(t.now + 1)
    t.append("c=2")
    t.compact()
    assert t.read() == ["b=1", "c=2"]


def test_aborted_records_go_and_so_does_their_marker() -> None:
    """The marker first stays as long as a tombstone would."""
    t = Compacted()
    fields = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    t.append("a=aborted", base_sequence=0, **fields)
    t.end(7, committed=False)
    t.append("a=committed", base_sequence=1, **fields)
    t.end(7, committed=True)
    t.append("b=1", producer_id=7, producer_epoch=1, base_sequence=0)
    t.compact()
    assert t.records() == [(2, "a=committed"), (4, "b=1")]
    assert t.log.aborted_between(Offset(0), Offset(9)) == [(7, 0, 1, 2)]
    t.append("c=1")
    t.compact()
    t.now = Timestamp(t.now + 1_000)
    t.append("c=2")
    t.compact()
    headers = markers(t)
    assert headers == [3]
    assert t.log.aborted_between(Offset(0), Offset(9)) == []


def test_an_open_transaction_is_not_compacted() -> None:
    """Nor is what lies behind its first record: how it ends is not known."""
    t = Compacted()
    fields = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    t.append("a=1")
    t.append("a=2")
    t.log.roll(t.now)
    t.write()
    t.append("a=open", base_sequence=0, **fields)
    t.append("a=3")
    t.compact()
    assert t.records() == [(1, "a=2"), (2, "a=open"), (3, "a=3")]
    t.end(7, committed=False)
    t.compact()
    assert t.records() == [(3, "a=3")]


def markers(t: Partition) -> list[int]:
    """The offsets of the control batches that have a record."""
    found = []
    for segment in t.log.segments:
        position = 0
        while position < segment.size:
            header = read_header(segment.file.read(61, position))
            if header.is_control and header.record_count:
                found.append(header.base_offset)
            position += header.size
    return found


def test_a_producers_last_batch_keeps_its_numbers() -> None:
    """Emptied, for its record is superseded; after a crash the next batch is still recognised."""
    t = Compacted()
    t.append("a=1", producer_id=7, producer_epoch=0, base_sequence=0)
    t.append("a=2", producer_id=7, producer_epoch=0, base_sequence=1)
    t.append("a=3")
    t.compact()
    assert t.records() == [(2, "a=3")]
    t.disk.unlink(f"orders-0/{3:020}.snapshot")
    t.reopen()
    again = t.decide("a=2", producer_id=7, producer_epoch=0, base_sequence=1)
    assert again == (1, 1, True)


@pytest.mark.parametrize("compactions", [1, 2])
def test_a_producers_last_committed_batch_keeps_its_numbers(compactions: int) -> None:
    """What it wrote behind may be cut off; then the next batch is recognised by the one before.

    Also where the segment was compacted before, and the producer has nothing in what was not.
    """
    t = Compacted()
    t.append("a=1", producer_id=7, producer_epoch=0, base_sequence=0)
    t.append("a=2", producer_id=7, producer_epoch=0, base_sequence=1)
    for number in range(compactions):
        t.append(f"a={number + 3}")
        t.log.roll(t.now)
        t.write()
        t.commit()
        if number == compactions - 1:
            for sequence in range(2, 9):
                t.append(f"b={sequence}", producer_id=7, producer_epoch=0, base_sequence=sequence)
        t.flush()
        found = cleanable(t.log, t.cleaned, t.now)
        work = Compaction(LogDir(t.disk, t.failures), t.log, found, t.now)
        for _ in work.steps():
            pass
        work.publish()
        t.cleaned = work.end
    truncate_to(t.log, Offset(2 + compactions), t.now)
    for name in t.disk.names("orders-0"):
        if name.endswith(".snapshot"):
            t.disk.unlink(f"orders-0/{name}")
    t.reopen()
    again = t.decide("a=2", producer_id=7, producer_epoch=0, base_sequence=1)
    assert again == (1, 1, True)


def test_a_full_map_ends_the_dirty_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: compaction goes on the next time where it ended."""
    monkeypatch.setattr(compaction, "MAP_BYTES_MAX", Bytes(232 * 4))
    t = Compacted()
    for number in range(30):
        t.append(f"k{number % 10}={number}")
    work = t.compact()
    assert work.end == 4
    assert len(t.read()) == 30
    for _ in range(12):
        t.compact()
    assert [value.split("=")[0] for value in t.read()] == [f"k{n}" for n in range(10)]


def test_a_reader_goes_on_in_the_old_segments() -> None:
    """Until the new ones are published, and in the file that it was given even after."""
    t = Compacted()
    for number in range(20):
        t.append(f"k={number}")
    t.log.roll(t.now)
    t.write()
    t.commit()
    t.flush()
    before = t.records()
    chunk = t.log.read(Offset(2), Offset(20), 10_000).chunk
    assert chunk is not None
    data = chunk.file.read(chunk.length, chunk.position)
    log_dir = LogDir(t.disk, t.failures)
    work = Compaction(log_dir, t.log, cleanable(t.log, Offset(0), t.now), t.now)
    for _ in work.steps():
        assert t.records() == before
    assert t.records() == before
    t.log.folder.files.forget_all()
    assert t.records() == before
    work.publish()
    assert t.records() == [(19, "k=19")]
    assert chunk.file.read(chunk.length, chunk.position) == data


def test_a_reader_of_what_is_decided_ends_in_the_new_segments() -> None:
    """Where it ended in the old ones is not looked up there."""
    t = Compacted()
    for number in range(20):
        t.append(f"k={number}")
    t.log.roll(t.now)
    t.write()
    t.commit()
    t.flush()
    fields = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    t.append("k=open", base_sequence=0, **fields)
    t.commit()
    assert t.log.last_stable_offset == t.log.active_segment.base_offset == 20
    assert t.log.read(Offset(19), Offset(20), 10_000).chunk is not None
    work = Compaction(LogDir(t.disk, t.failures), t.log, cleanable(t.log, Offset(0), t.now), t.now)
    for _ in work.steps():
        pass
    work.publish()
    chunk = t.log.read(Offset(0), Offset(20), 10_000).chunk
    assert chunk is not None
    data = chunk.file.read(chunk.length, chunk.position)
    assert [(it.base_offset, it.size) for it in (read_header(data),)] == [(19, chunk.length)]


def test_a_reader_in_a_gap_sees_no_further_than_it_may() -> None:
    """Compaction took the end of a segment: the next one begins where it has to end."""
    t = Compacted()
    for number in range(5):
        t.append(f"{number}=")
    t.append("k=old")
    t.log.roll(t.now)
    t.write()
    t.append("k=new")
    for number in range(5, 10):
        t.append(f"{number}=")
    t.compact()
    assert [it.base_offset for it in t.log.segments] == [0, 6, 12]
    assert t.log.segments[0].find(Offset(5)) is None
    assert t.log.read(Offset(5), Offset(6), 10_000).chunk is None
    assert t.log.read(Offset(5), Offset(7), 10_000).chunk is not None


def test_the_last_batch_of_a_log_stays() -> None:
    """Emptied: a new replica, which copies batches, comes to the end by it."""
    t = Compacted()
    t.append("a=1")
    t.append("a=")
    t.compact()
    t.now = Timestamp(t.now + 1_000)
    t.cleaned = Offset(0)
    t.compact()
    assert t.records() == []
    chunk = t.log.read(Offset(0), Offset(2), 10_000).chunk
    assert chunk is not None
    last = read_header(chunk.file.read(chunk.length, chunk.position))
    assert (last.next_offset, last.record_count) == (t.log.log_end_offset, 0)
    t.append("b=1")
    t.compact()
    assert t.log.read(Offset(0), Offset(3), 10_000).chunk is not None
    assert t.records() == [(2, "b=1")]


def test_a_cancelled_compaction_leaves_nothing_half_done() -> None:
    """What was swapped stays, what was being written goes."""
    t = Compacted()
    for number in range(20):
        t.append(f"k={number}")
    t.log.roll(t.now)
    t.write()
    t.commit()
    t.flush()
    before = t.records()
    log_dir = LogDir(t.disk, t.failures)
    work = Compaction(log_dir, t.log, cleanable(t.log, Offset(0), t.now), t.now)
    work.cancel()
    assert list(work.steps()) is not None
    work.publish()
    assert t.records() == before
    assert work.cleaned_upto is None
    assert not [name for name in t.disk.names(str(ORDERS)) if name.endswith((".cleaned", ".swap"))]


@pytest.mark.parametrize("call", ["create", "write"])
def test_a_compaction_without_room_takes_none(call: str) -> None:
    """What it had written would stand there until the broker starts again, on a full disk."""
    disk = SimulatedDisk()
    t = Compacted(disk=disk)
    for number in range(30):
        t.append(f"k{number % 3}={number}")
    newest = t.records()[-3:]
    row = Fault(errno.ENOSPC, frozenset({call}), "*.cleaned", skip=1)
    disk.faults.rows.append(row)
    with pytest.raises(DiskFull):
        t.compact()
    assert row.hits
    assert not [path for path, _ in disk.medium.files() if path.endswith(".cleaned")]
    assert t.records()[-3:] == newest
    disk.faults.rows.clear()
    t.compact()
    assert t.records() == newest


def test_when_compaction_is_due() -> None:
    """When enough is dirty, or something has waited too long, and never for young records."""
    t = Compacted()
    for number in range(40):
        t.append(f"k={number}")
    t.commit()
    t.flush()
    found = cleanable(t.log, Offset(0), t.now)
    assert found.dirty_ratio == 1.0
    assert is_due(t.log, found)
    found = cleanable(t.log, t.log.segments[-2].base_offset, t.now)
    assert 0 < found.dirty_ratio < 0.5
    assert not is_due(t.log, found)
    t.log.config = LogConfig(compact=True, compaction_lag_ms_max=Millis(10))
    found = cleanable(t.log, t.log.segments[-2].base_offset, Timestamp(t.now + 11))
    assert is_due(t.log, found)
    t.log.config = LogConfig(compact=True, compaction_lag_ms_min=Millis(10))
    assert not is_due(t.log, cleanable(t.log, Offset(0), Timestamp(t.now + 9)))
    assert is_due(t.log, cleanable(t.log, Offset(0), Timestamp(t.now + 10)))


def test_small_segments_become_one() -> None:
    """As large as a segment may be, so that their number does not grow for ever."""
    t = Compacted()
    for number in range(60):
        t.append(f"k{number % 5}={number}")
    before = len(t.log.segments)
    t.compact()
    t.append("k=x")
    t.compact()
    assert len(t.log.segments) < before / 2
    assert all(segment.size <= CONFIG.segment_bytes for segment in t.log.segments)


def test_a_throttle_spreads_the_work() -> None:
    """After so many bytes, the rest that keeps the rate; none without a rate."""
    throttle = Throttle(1_000)
    assert throttle.rest_after(500, Millis(0)) == 500
    assert throttle.rest_after(500, Millis(500)) == 500
    assert throttle.rest_after(500, Millis(5_000)) == 500
    assert Throttle(None).rest_after(1 << 40, Millis(0)) == 0


def test_the_map_counts_what_it_holds() -> None:
    """Long keys by a digest of theirs."""
    keys = KeyMap(Bytes(1_000))
    assert keys.has_room(4)
    assert not keys.has_room(5)
    long = b"x" * 500
    keys.put(long, 5)
    keys.put(b"a", 6)
    keys.put(b"a", 7)
    assert len(keys) == 2
    assert keys.bytes == 216 + 201
    assert [keys.is_newest(long, o) for o in (4, 5, 6)] == [False, True, True]
    assert keys.is_newest(b"unknown", 0)
