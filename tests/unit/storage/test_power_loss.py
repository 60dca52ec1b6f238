"""What the recovery point promises must be on the medium, in every file, when it is promised."""

import pytest

from odradek.model.positions import Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import place
from odradek.records.control import EndMarker, TransactionEnd
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import PowerLost
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import DiskFull, LogDirOffline
from odradek.storage.files.failures import Failures
from odradek.storage.files.names import RECOVERY_POINTS
from odradek.storage.logs.closing import RestJob
from odradek.storage.logs.loading import Checkpointed
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.truncation import truncate_fully, truncate_to
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import SMALL, Partition
from tests.unit.storage.test_log_dirs import NEW, NOW, Host, fill, part

SYNCED = LogConfig(segment_bytes=Bytes(600), index_interval_bytes=Bytes(100), flush_before_ack=True)


def test_a_flush_reaches_indexes_that_were_written_before() -> None:
    """An index that was saved without a sync is synced by the flush that promises its segment."""
    t = Partition()
    for number in range(20):
        t.append(f"value-{number}")
    rest = RestJob(t.log)
    rest.run()
    rest.publish()
    assert any(name.endswith(".index") for name in t.unsynced())
    t.flush()
    assert t.unsynced() == set()


def test_a_synced_append_promises_nothing_of_a_rolled_segment() -> None:
    """Its batches are durable, but not its indexes: the recovery point waits for the flush."""
    t = Partition(SYNCED)
    while len(t.log.segments) < 2:
        t.decide("value" * 20)
        job = t.log.take_job()
        assert job is not None
        job.run()
        job.sync()
        job.publish()
    assert t.log.recovery_point <= t.log.active_segment.base_offset
    t.flush()
    assert t.log.recovery_point == t.log.log_end_offset
    assert t.unsynced() == set()


def test_what_a_full_disk_left_is_taken_back_durably() -> None:
    """The next batch may begin a segment, and a loss of power must not end the log before it."""
    t = Partition()
    t.append("value-0")
    t.flush()
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.faults.capacity = t.disk.used + 10
    with pytest.raises(DiskFull):
        t.append("value-1")
    assert not any(name.endswith(".log") for name in t.unsynced())


def test_what_recovery_cut_off_stays_off() -> None:
    """The cut is durable before a new segment can follow it, behind which nobody looks again."""
    t = Partition()
    for number in range(3):
        t.append(f"value-{number}")
    t.flush()
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.flip(t.log.active_segment.path(".log"), t.log.active_segment.size - 1, 0)
    t.open()
    assert t.log.log_end_offset == 2
    assert not any(name.endswith(".log") for name in t.unsynced())


def test_what_a_truncation_cut_off_stays_off() -> None:
    """The next segment begins there, and what is flushed from then on is that one alone."""
    t = Partition()
    for number in range(3):
        t.append(f"value-{number}")
    t.flush()
    truncate_to(t.log, Offset(2), t.now)
    assert not any(name.endswith(".log") for name in t.unsynced())


def test_what_a_truncation_cut_off_the_indexes_of_a_segment_that_it_left_stays_off() -> None:
    """Behind a gap the log goes on in another segment, and nobody looks at this one again.

    An aborted transaction would come back, and hide what its producer committed later.
    """
    t = Partition()
    t.append("a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    end = TransactionEnd(1, 0, EndMarker(committed=False, coordinator_epoch=0), 0).batch(t.now)
    place(end, 0, 9, 0)
    t.log.append_replica(memoryview(end), t.now)
    t.write()
    t.flush()
    truncate_to(t.log, Offset(5), t.now)
    assert not any(name.startswith(f"{0:020}") for name in t.unsynced())


def test_a_segment_that_was_rolled_when_all_of_it_was_durable_has_its_last_time() -> None:
    """Its time index is completed when it is rolled, and no flush had reason to look at it."""
    for clean in (True, False):
        t = Partition()
        t.append("value-0")
        for number in range(1, 4):
            t.now = Timestamp(1_000 + number)
            t.append(f"value-{number}")
        t.flush()
        t.log.roll(t.now)
        t.write()
        t.append("value-4")
        t.reopen(clean=clean)
        assert t.log.segments[0].newest == (1_003, 3)
        assert t.log.offset_at(Timestamp(1_003)) == (1_003, 3)


def test_indexes_built_anew_below_the_recovery_point_are_durable() -> None:
    """The next start would trust them without looking."""
    t = Partition()
    for number in range(20):
        t.append(f"value-{number}")
    t.flush()
    t.disk.unlink(t.log.segments[0].path(".index"))
    t.reopen()
    first = t.log.segments[0].path("").rpartition("/")[2]
    assert not any(name.startswith(first) for name in t.unsynced())


@pytest.mark.parametrize("end", ["killed", "power"])
@pytest.mark.parametrize(
    ("harmed", "harm", "segment_bytes"),
    [
        (".index", "gone", 600),
        (".index", "gone", 6_000),
        (".index", "lies", 6_000),
        (".index", "emptied", 6_000),
        (".timeindex", "gone", 600),
        (".timeindex", "gone", 6_000),
        (".txnindex", "lies", 6_000),
    ],
)
def test_a_start_that_is_interrupted_leaves_no_index_that_the_next_one_wrongly_believes(
    end: str, harmed: str, harm: str, segment_bytes: int
) -> None:
    """At any change of its disk, or soon after it.

    Below the recovery point a start believes what the files say. One that builds the offset index
    anew puts the others in order before: else records of an aborted transaction would be shown for
    good, and retention would take new records for old ones.
    """
    change, is_done = 0, False
    while not is_done:
        change += 1
        t, points = with_an_abort(segment_bytes)
        spoil(t, harmed, harm)
        assert isinstance(t.disk, SimulatedDisk)
        disk = t.disk = t.disk.after_exit()
        disk.faults.crash_at_change = change
        try:
            t.open(points)
            is_done = disk.faults.changes < change
            disk.faults.crash_at_change = None
            t.append("more")
        except PowerLost:
            pass
        chance = SeededRandom(change, "crash")
        t.disk = disk.after_exit() if end == "killed" else disk.after_crash(chance)
        t.open(points)
        found = t.log.aborted_between(Offset(0), t.log.log_end_offset)
        assert [(it.producer_id, it.first_offset, it.last_offset) for it in found] == [(9, 0, 1)]
        assert t.log.newest() == (9_000, 2)
        assert t.log.offset_at(Timestamp(9_000)) == (9_000, 2)


def with_an_abort(segment_bytes: int) -> tuple[Partition, Checkpointed]:
    """A durable log with a snapshot behind the marker, and what its checkpoints say."""
    t = Partition(LogConfig(segment_bytes=Bytes(segment_bytes), index_interval_bytes=Bytes(100)))
    t.disk.sync_directory("")
    t.append("a", producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    t.end(9, committed=False)
    t.now = Timestamp(9_000)
    t.append("the newest")
    t.now = Timestamp(2_000)
    t.append("value")
    t.commit()
    t.reopen(clean=True)
    for number in range(20):
        t.append(f"value-{number}")
    t.commit()
    t.flush()
    end = t.log.log_end_offset
    t.append("unflushed")
    return t, Checkpointed(end, Offset(0), end)


def spoil(t: Partition, suffix: str, harm: str) -> None:
    """Of two segments, if there are so many; durably."""
    for segment in t.log.segments[:2]:
        path = segment.path(suffix)
        if harm == "gone":
            t.disk.unlink(path)
            continue
        file = t.disk.open(path)
        size = file.size()
        file.truncate(0)
        if harm == "lies":
            file.write([b"\x7f" * size], 0)
        file.sync()
    t.disk.sync_directory(t.log.folder.name)


def test_what_is_written_behind_a_cut_of_recovery_is_checked_by_the_next_start() -> None:
    """The checkpoint said more when the log lost its end; what comes in its place is not synced."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b", "c")
    h.restart(clean=True)
    log = found(h)
    segment = log.active_segment
    h.disks[0].flip(segment.path(".log"), segment.size - 1, 3)
    h.restart()
    log = found(h)
    assert log.log_end_offset == 2
    h.restart()
    assert h.dirs.online[0].saved(RECOVERY_POINTS) == {part(0): 2}


@pytest.mark.parametrize("how", ["recovery", "a leader"])
def test_what_is_written_behind_a_cut_is_not_committed_by_what_was_there_before(how: str) -> None:
    """The checkpoint of high watermarks said more when the log lost its end."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a", "b", "c")
    log.on_high_watermark(Offset(3))
    h.restart(clean=True)
    log = found(h)
    segment = log.active_segment
    if how == "recovery":
        h.disks[0].flip(segment.path(".log"), segment.size - 1, 3)
        h.restart()
        log = found(h)
    else:
        h.dirs.online[0].truncation({part(0): Offset(2)}, NOW).run()
    assert (log.log_end_offset, log.high_watermark) == (2, 2)
    fill(log, "d", "e")
    h.restart()
    log = found(h)
    assert log.high_watermark == 2


def found(h: Host) -> PartitionLog:
    """The first log."""
    log = h.dirs.get(part(0))
    assert log is not None
    return log


def test_a_disk_too_full_to_be_opened_is_offline() -> None:
    """Were some of its logs left out, empty ones would be made in their place."""
    t = Partition()
    for number in range(20):
        t.append(f"value-{number}")
    assert isinstance(t.disk, SimulatedDisk)
    disk = t.disk.after_exit()
    disk.faults.capacity = disk.used

    log_dir = LogDir(disk, Failures())
    log_dir.take()
    with pytest.raises(LogDirOffline, match="No space left"):
        log_dir.open(lambda _: SMALL, t.now)
    assert log_dir.is_offline


def test_a_producer_whose_batch_shared_a_turn_with_a_roll_is_remembered() -> None:
    """The snapshot of the new segment stands for all before it, that of the same turn included."""
    t = Partition()
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    t.decide("first", **fields)
    for number in range(9):
        t.decide(f"value-{number}")
    t.write()
    assert len(t.log.segments) > 1
    t.flush()
    t.reopen()
    again = t.decide("first", **fields)
    assert again.duplicate
    assert again.base_offset == 0


@pytest.mark.parametrize("seed", range(40))
def test_an_empty_segment_that_gave_way_to_an_earlier_one_stays_away(seed: int) -> None:
    """A log of both would end where the later one begins, and have nothing to read before that.

    Its followers asked for that for ever, where nothing was appended any more.
    """
    leader, follower = Partition(), Partition()
    follower.log.append_replica(within_a_batch(leader, follower), follower.now)
    follower.write()
    assert isinstance(follower.disk, SimulatedDisk)
    follower.disk = follower.disk.after_crash(SeededRandom(seed, "crash"))
    follower.open(Checkpointed(recovery_point=Offset(2)))
    log = follower.log
    assert log.log_end_offset in {log.log_start_offset, 4}
    found = [offset for offset, _ in follower.records()]
    assert found == [*range(log.log_start_offset, log.log_end_offset)]
    follower.append("e")
    assert follower.records()[-1] == (log.log_end_offset - 1, "e")


def test_an_empty_segment_is_back_where_the_earlier_one_did_not_fit() -> None:
    """The follower asks again, and begins within the batch as before."""
    leader, follower = Partition(), Partition()
    run = within_a_batch(leader, follower)
    assert isinstance(follower.disk, SimulatedDisk)
    follower.disk.faults.capacity = follower.disk.used + 10
    follower.log.append_replica(run, follower.now)
    with pytest.raises(DiskFull):
        follower.write()
    assert follower.disk.exists(follower.log.active_segment.path(".log"))
    follower.disk.faults.capacity = None
    follower.log.append_replica(run, follower.now)
    follower.write()
    assert follower.records() == [(2, "c"), (3, "d")]


def within_a_batch(leader: Partition, follower: Partition) -> memoryview:
    """The follower's log is empty and starts within this batch of its leader."""
    leader.append("a", "b", "c", "d")
    chunk = leader.log.read(Offset(0), Offset(4), 10_000).chunk
    assert chunk is not None
    follower.disk.sync_directory("")
    truncate_fully(follower.log, Offset(2), follower.now)
    return memoryview(chunk.file.read(chunk.length, 0))
