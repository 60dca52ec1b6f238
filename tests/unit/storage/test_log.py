"""One log: appends in three steps, reads, rolls, and what a failed write leaves."""

import errno

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Millis, Timestamp
from odradek.records.batch import place, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import (
    BatchLargerThanSegment,
    DiskFull,
    LogDirOffline,
    OffsetOutOfRange,
    OffsetsOutOfOrder,
    StorageError,
)
from odradek.storage.files.checkpoints import EpochStart, decode_epochs
from odradek.storage.files.dir_files import read_small
from odradek.storage.logs.truncation import truncate_fully
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import SMALL, Partition


def test_what_was_appended_is_read() -> None:
    """Offsets count from 0 without a gap, over batches and segments."""
    t = Partition()
    for number in range(30):
        assert t.append(f"a{number}", f"b{number}").base_offset == number * 2
    assert len(t.log.segments) > 3
    assert t.read() == [f"{letter}{number}" for number in range(30) for letter in "ab"]
    assert t.read(31) == t.read()[31:]
    assert t.read(60) == []


def test_nothing_is_visible_before_it_is_written() -> None:
    """Deciding moves the next offset, publishing the end; a turn's appends are one job."""
    t = Partition()
    t.decide("a")
    t.decide("b")
    assert (t.log.next_offset, t.log.log_end_offset) == (2, 0)
    t.write()
    assert t.log.log_end_offset == 2
    assert t.log.take_job() is None
    assert t.read() == ["a", "b"]


def test_jobs_may_be_on_their_way_one_behind_the_other() -> None:
    """The next turn decides while the disk still writes the last one, also over a roll."""
    t = Partition()
    jobs = []
    for number in range(12):
        t.decide(f"value-{number}")
        jobs.append(t.log.take_job())
    for job in jobs:
        assert job is not None
        job.run()
    for job in jobs:
        assert job is not None
        job.publish()
    assert len(t.log.segments) > 1
    assert t.read() == [f"value-{number}" for number in range(12)]


@pytest.mark.parametrize("part", [0, 1, 70])
def test_a_full_disk_leaves_the_log_as_it_was(part: int) -> None:
    """The error is typed, the directory lives, and the next append takes the same offset."""
    t = Partition()
    t.append("a")
    assert isinstance(t.disk, SimulatedDisk)
    t.decide("b", producer_id=7, producer_epoch=0, base_sequence=0)
    t.disk.faults.fail_call(t.disk.faults.calls + 1, errno.ENOSPC, part=part)
    with pytest.raises(DiskFull, match="No space"):
        t.write()
    assert not t.failures.has_failed("disk")
    assert t.log.producers.get(7) is None
    assert t.append("c").base_offset == 1
    assert t.read() == ["a", "c"]
    t.reopen()
    assert t.read() == ["a", "c"]
    assert not t.loaded.repair


def test_a_failed_write_takes_those_behind_it() -> None:
    """Their offsets rest on its own: written behind a hole they would never be found."""
    t = Partition()
    t.append("a")
    assert isinstance(t.disk, SimulatedDisk)
    t.decide("b")
    first = t.log.take_job()
    t.decide("c")
    second = t.log.take_job()
    assert first is not None
    assert second is not None
    t.disk.faults.fail_call(t.disk.faults.calls + 1, errno.ENOSPC)
    with pytest.raises(DiskFull):
        first.run()
    with pytest.raises(StorageError, match="earlier write failed"):
        second.run()
    first.fail()
    with pytest.raises(StorageError, match="earlier write failed"):
        t.decide("d")
    second.fail()
    assert t.append("e").base_offset == 1
    assert t.read() == ["a", "e"]


def test_an_io_error_takes_the_directory_offline_once() -> None:
    """Whoever meets it reports it; one report reaches the owner, however many meet it."""
    t = Partition()
    t.append("a")
    assert isinstance(t.disk, SimulatedDisk)
    t.decide("b")
    t.disk.faults.fail_call(t.disk.faults.calls + 1, errno.EIO)
    with pytest.raises(LogDirOffline):
        t.write()
    with pytest.raises(LogDirOffline):
        t.decide("c")
    with pytest.raises(LogDirOffline):
        t.read()
    assert [name for name, _ in t.failures.take()] == ["disk"]
    assert t.failures.take() == []
    assert t.failures.has_failed("disk")


def test_a_look_up_by_time_that_meets_an_io_error_takes_the_directory_offline() -> None:
    """As any other call: the error does not reach its caller as it is."""
    t = Partition()
    t.append("a")
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.faults.fail_call(t.disk.faults.calls + 1, errno.EIO)
    with pytest.raises(LogDirOffline):
        t.log.newest()
    with pytest.raises(LogDirOffline):
        t.log.offset_at(Timestamp(0))
    assert [name for name, _ in t.failures.take()] == ["disk"]


@pytest.mark.parametrize("call", range(1, 16))
def test_a_failed_roll_leaves_no_segment(call: int) -> None:
    """Whichever call finds the disk full, the batch may be tried again and nothing is left."""
    t = Partition()
    t.append("x" * 400)
    assert isinstance(t.disk, SimulatedDisk)
    t.decide("y" * 400)
    fault = t.disk.faults.fail_call(t.disk.faults.calls + call, errno.ENOSPC)
    with pytest.raises(DiskFull):
        t.write()
    assert fault.hits == 1
    assert len(t.log.segments) == 1
    assert t.append("y" * 400).base_offset == 1
    t.reopen()
    assert t.read() == ["x" * 400, "y" * 400]


def test_a_segment_is_rolled_by_size() -> None:
    """A batch never spans two segments; one that fits into none is refused."""
    t = Partition()
    t.append("x" * 300)
    t.append("y" * 300)
    assert [segment.base_offset for segment in t.log.segments] == [0, 1]
    with pytest.raises(BatchLargerThanSegment):
        t.append("z" * 600)
    assert t.append("z").base_offset == 2


def test_a_copy_takes_what_was_taken_when_segments_were_larger() -> None:
    """The leader's log has it; what follows it begins the next segment."""
    leader, follower = Partition(LogConfig(segment_bytes=Bytes(2_000))), Partition()
    for value in ("a", "x" * 900, "y" * 900, "b"):
        batch = leader.batch([value])
        leader.log.append(batch, read_header(batch), leader.epoch, leader.now)
        leader.write()
        follower.log.append_replica(memoryview(batch), follower.now)
        follower.write()
    assert [segment.base_offset for segment in follower.log.segments] == [0, 1, 2, 3]
    follower.reopen()
    assert follower.records() == leader.records()
    with pytest.raises(BatchLargerThanSegment):
        follower.append("z" * 900)
    assert follower.append("z").base_offset == 4


def test_a_segment_is_rolled_by_time() -> None:
    """By the time that its records tell, which may run ahead of the clock.

    After a start that is known once something was written: the loop reads no file for it.
    """
    t = Partition(LogConfig(segment_ms=Millis(500)))
    t.append("a")
    t.now = Timestamp(1_500)
    t.append("b")
    assert len(t.log.segments) == 1
    t.now = Timestamp(1_501)
    t.append("c")
    assert [segment.base_offset for segment in t.log.segments] == [0, 2]
    t.reopen(clean=True)
    t.now = Timestamp(2_002)
    t.append("d")
    assert [segment.base_offset for segment in t.log.segments] == [0, 2]
    t.append("e")
    assert [segment.base_offset for segment in t.log.segments] == [0, 2, 4]


def test_a_segment_is_rolled_when_its_index_is_full() -> None:
    """The index has a bound of its own; two entries fit here."""
    t = Partition(LogConfig(index_bytes_max=Bytes(36), index_interval_bytes=Bytes(60)))
    for number in range(8):
        t.append(f"{number}")
    assert len(t.log.segments) > 1
    assert t.read() == [str(number) for number in range(8)]


def test_a_segment_is_rolled_before_an_offset_overflows() -> None:
    """An index entry holds 31 bits; a replica of a compacted log may leap over more."""
    t = Partition(LogConfig())
    t.append("a")
    far = t.batch(["b"])
    place(far, 0, (1 << 31) + 5, 0)
    t.log.append_replica(memoryview(far), t.now)
    t.write()
    assert [segment.base_offset for segment in t.log.segments] == [0, (1 << 31) + 5]
    assert t.records() == [(0, "a"), ((1 << 31) + 5, "b")]


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_the_log_is_refused(offset: int) -> None:
    """A reader that is told nothing would wait for ever."""
    t = Partition()
    t.append("a", "b", "c")
    with pytest.raises(OffsetOutOfRange):
        t.log.read(Offset(offset), Offset(3), 100)


def test_a_reader_sees_no_further_than_it_may() -> None:
    """The end is the high watermark for some, the last stable offset for others."""
    t = Partition()
    for value in "abcd":
        t.append(value)
    piece = t.log.read(Offset(1), Offset(3), 10_000)
    assert piece.chunk is not None
    batch = len(t.batch("a"))
    assert (piece.chunk.position, piece.chunk.length) == (batch, 2 * batch)
    assert t.log.read(Offset(3), Offset(3), 10_000).chunk is None


def test_a_small_limit_still_brings_one_batch_if_asked() -> None:
    """A reader whose limit is below one batch would never get on."""
    t = Partition()
    t.append("a", "b")
    assert t.log.read(Offset(0), Offset(2), 10).chunk is None
    piece = t.log.read(Offset(1), Offset(2), 10, at_least_one=True)
    assert piece.chunk is not None
    assert piece.chunk.length == len(t.batch("ab"))


def test_a_range_ends_with_a_whole_batch() -> None:
    """On an index entry where there is one, so that the next read finds its place at once."""
    t = Partition(LogConfig(index_interval_bytes=Bytes(200)))
    for number in range(40):
        t.append(f"{number:02}")
    batch = len(t.batch(["00"]))
    for limit in range(batch, 20 * batch, 7):
        piece = t.log.read(Offset(3), Offset(40), limit)
        assert piece.chunk is not None
        assert 0 < piece.chunk.length <= limit
        assert piece.chunk.length % batch == 0


def test_a_follower_takes_what_the_leader_has() -> None:
    """Offsets and epochs come with the batches; a cut tail is left for the next fetch."""
    leader, follower = Partition(), Partition()
    for epoch in (0, 2, 5):
        leader.epoch = LeaderEpoch(epoch)
        leader.append(f"of epoch {epoch}", "b")
    chunk = leader.log.read(Offset(0), Offset(6), 10_000).chunk
    assert chunk is not None
    data = chunk.file.read(chunk.length, 0)
    assert follower.log.append_replica(memoryview(data)[:-1], follower.now) == 4
    follower.write()
    rest = memoryview(bytearray(leader.batch(["of epoch 5", "b"])))
    place(rest, 0, 4, 5)
    assert follower.log.append_replica(rest, follower.now) == 6
    follower.write()
    assert follower.read() == leader.read()
    assert follower.log.epochs.entries == leader.log.epochs.entries


def test_a_leadership_without_records_gives_way_to_those_of_the_leader() -> None:
    """A log that was made anew while it led holds none of that epoch's, and needs those before."""
    t = Partition()
    t.log.begin_epoch(LeaderEpoch(3))
    batch = t.batch(["a"])
    place(batch, 0, 0, 1)
    assert t.log.append_replica(memoryview(batch), t.now) == 1
    t.write()
    assert t.log.epochs.entries == (EpochStart(LeaderEpoch(1), Offset(0)),)


@pytest.mark.parametrize(("offset", "epoch"), [(0, 3), (1, 3), (2, 2)])
def test_a_follower_refuses_what_does_not_follow(offset: int, epoch: int) -> None:
    """An offset that is taken, or an epoch that is over: one of the two logs is wrong."""
    t = Partition()
    t.epoch = LeaderEpoch(3)
    t.append("a", "b")
    batch = t.batch(["c"])
    place(batch, 0, offset, epoch)
    with pytest.raises(OffsetsOutOfOrder, match="orders-0"):
        t.log.append_replica(memoryview(batch), t.now)
    assert t.log.take_job() is None


def test_a_follower_takes_all_of_a_run_or_nothing() -> None:
    """A flipped bit in the last batch refuses the first as well: the leader sends both again."""
    t = Partition()
    first, second = t.batch(["a"]), t.batch(["b"])
    place(first, 0, 0, 0)
    place(second, 0, 1, 0)
    second[-1] ^= 1
    with pytest.raises(CorruptBatch):
        t.log.append_replica(memoryview(first + second), t.now)
    assert t.log.next_offset == 0


def test_a_leadership_begins_without_a_disk() -> None:
    """Its epoch is in the history at once, and in the file before a flush covers its records."""
    t = Partition()
    t.epoch = LeaderEpoch(4)
    assert isinstance(t.disk, SimulatedDisk)
    calls = t.disk.faults.calls
    t.log.begin_epoch(t.epoch)
    assert t.log.take_job() is None
    assert t.disk.faults.calls == calls
    assert t.log.epochs.entries == ((4, 0),)
    t.append("a")
    t.flush()
    saved = read_small(t.disk, "orders-0/leader-epoch-checkpoint")
    assert decode_epochs(saved, "epochs") == [(4, 0)]
    assert t.unsynced() == set()


def test_a_leadership_that_begins_behind_appends_starts_behind_them() -> None:
    """What is on its way belongs to the epoch before, whether it is written or not."""
    t = Partition()
    t.append("a")
    t.decide("b")
    job = t.log.take_job()
    assert job is not None
    t.log.begin_epoch(LeaderEpoch(4))
    assert t.log.epochs.latest == 0
    job.run()
    job.publish()
    assert t.log.epochs.entries == ((0, 0), (4, 2))
    t.decide("c")
    job = t.log.take_job()
    assert job is not None
    t.log.begin_epoch(LeaderEpoch(5))
    job.fail()
    t.epoch = LeaderEpoch(5)
    t.append("c")
    assert t.log.epochs.entries == ((0, 0), (5, 2))


def test_looking_up_a_time() -> None:
    """The first record at or after it, wherever in a batch, a segment or the log that lies."""
    t = Partition()
    for number in range(20):
        t.now = Timestamp(1_000 + number * 10)
        t.append(f"{number}", "x" * 20)
    assert len(t.log.segments) > 2
    for timestamp, offset in ((0, 0), (1_000, 0), (1_001, 2), (1_105, 22), (1_190, 38)):
        found = t.log.offset_at(Timestamp(timestamp))
        assert found is not None
        assert found.offset == offset
    assert t.log.offset_at(Timestamp(1_191)) is None
    newest = t.log.newest()
    assert newest is not None
    assert newest == (1_190, 38)
    assert Partition().log.newest() is None


@pytest.mark.parametrize(
    ("start", "newest"), [(1, (9_000, 1)), (2, (5_000, 3)), (3, (5_000, 3)), (4, (1_000, 4))]
)
def test_the_newest_record_is_one_that_is_left(start: int, newest: tuple[int, int]) -> None:
    """What had a later time may have been deleted, in a batch or segment of which a part stays."""
    t = Partition()
    for times in ((1_000, 9_000), (1_000, 5_000), (1_000,)):
        batch = build_batch([Record(at, it, None, b"x") for at, it in enumerate(times)])
        t.log.append(batch, read_header(batch), t.epoch, t.now)
        t.write()
    t.commit()
    t.log.move_start(Offset(start))
    assert t.log.newest() == newest
    t.log.roll(t.now)
    t.write()
    t.append("y")
    t.commit()
    assert t.log.newest() == newest


def test_an_idle_log_holds_no_file() -> None:
    """Its indexes are written out, and everything comes back when it is needed."""
    from odradek.storage.logs.closing import RestJob

    t = Partition(SMALL)
    for number in range(30):
        t.append(f"{number}")
    assert len(t.log.folder.files) > 1
    job = RestJob(t.log)
    job.run()
    job.publish()
    assert len(t.log.folder.files) == 0
    assert t.read() == [str(number) for number in range(30)]
    t.append("more")
    assert t.read(29) == ["29", "more"]


def test_a_follower_takes_a_batch_within_which_its_leaders_log_starts() -> None:
    """DeleteRecords stops at any record; the batch stays whole, on both."""
    leader, follower = Partition(), Partition()
    leader.append("a", "b", "c", "d")
    leader.append("e")
    leader.commit()
    leader.log.move_start(Offset(2))
    chunk = leader.log.read(Offset(2), Offset(5), 10_000).chunk
    assert chunk is not None
    run = memoryview(chunk.file.read(chunk.length, chunk.position))
    truncate_fully(follower.log, Offset(2), follower.now)
    assert follower.log.append_replica(run, follower.now) == 5
    follower.write()
    for _ in range(2):
        assert follower.log.log_start_offset == 2
        assert follower.records() == [(2, "c"), (3, "d"), (4, "e")]
        assert [segment.base_offset for segment in follower.log.segments] == [0]
        follower.reopen()
    with pytest.raises(OffsetsOutOfOrder):
        follower.log.append_replica(run, follower.now)
    elsewhere = Partition()
    truncate_fully(elsewhere.log, Offset(9), elsewhere.now)
    with pytest.raises(OffsetsOutOfOrder):
        elsewhere.log.append_replica(run, elsewhere.now)
