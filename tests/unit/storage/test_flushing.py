"""Syncs before acknowledgement: one for a group, and none believed that was not made."""

import errno
from dataclasses import replace

import pytest

from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.medium import Directory
from odradek.storage.errors import DiskFull, LogDirOffline
from odradek.storage.files.failures import Failures
from odradek.storage.logs.closing import RestJob
from odradek.storage.logs.flushing import FlushJob, sync_group
from odradek.storage.logs.writing import WriteJob
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import ORDERS, SMALL, Partition

SYNCED = LogConfig(segment_bytes=Bytes(600), index_interval_bytes=Bytes(100), flush_before_ack=True)


def decided(t: Partition, *values: str) -> list[WriteJob]:
    """A job for each value, run, but neither synced nor published."""
    jobs = []
    for value in values:
        t.decide(value)
        job = t.log.take_job()
        assert job is not None
        job.run()
        jobs.append(job)
    return jobs


def unsafe(t: Partition) -> set[str]:
    """The segments of which a loss of power may take something."""
    return {name for name in t.unsynced() if name.endswith(".log")}


def test_a_group_shares_one_sync() -> None:
    """All jobs of a log are durable by one sync of its file."""
    t = Partition(SYNCED)
    sync_group(decided(t, "first"))  # it brings the history of epochs along
    jobs = decided(t, "a", "b", "c")
    assert isinstance(t.disk, SimulatedDisk)
    calls = t.disk.faults.calls
    sync_group(jobs)
    assert t.disk.faults.calls == calls + 1
    for job in jobs:
        job.publish()
    assert t.read() == ["first", "a", "b", "c"]
    assert not unsafe(t)


def test_a_group_that_rolls_syncs_every_segment() -> None:
    """Also those that an earlier job of the group left."""
    t = Partition(SYNCED)
    values = [f"value-{number}" for number in range(30)]
    jobs = decided(t, *values)
    sync_group(jobs)
    for job in jobs:
        job.publish()
    assert len(t.log.segments) > 2
    assert t.read() == values
    assert not unsafe(t)


def nameless(t: Partition) -> set[str]:
    """The segments that a loss of power may take whole."""
    return {name for name in t.nameless() if name.endswith(".log")}


def test_a_segment_that_a_synced_append_begins_keeps_its_name() -> None:
    """The bytes of a file that no directory knows are lost with it."""
    t = Partition(SYNCED)
    sync_group(decided(t, "first"))
    assert not nameless(t)
    t.log.roll(t.now)
    job = t.log.take_job()
    assert job is not None
    job.run()
    assert nameless(t)
    sync_group([job])
    assert not nameless(t)


def test_a_segment_that_an_earlier_job_of_a_group_began_keeps_its_name() -> None:
    """The later job's sync covers the bytes of that segment, not the directory that it is in."""
    t = Partition(SYNCED)
    sync_group(decided(t, "first"))
    t.log.roll(t.now)
    jobs = decided(t, "begins the segment", "goes into it, too")
    assert [piece.is_new for job in jobs for piece in job.pieces] == [True, False]
    sync_group(jobs)
    for job in jobs:
        job.publish()
    assert not unsafe(t)
    assert not nameless(t)


def test_a_checkpoint_beside_a_flush_says_what_was_durable_before_it() -> None:
    """A power cut while the flush runs would else leave a recovery point behind lost records."""
    t = Partition()
    t.append("a")
    flush = FlushJob(t.log, t.now)
    assert t.log.recovery_point == Offset(0)
    flush.run()
    assert t.log.recovery_point == Offset(0)
    flush.publish()
    assert t.log.recovery_point == Offset(1)


def test_a_flush_that_fails_moves_no_recovery_point() -> None:
    """What could not be synced is checked when the log is opened again."""
    t = Partition()
    t.append("a")
    flush = FlushJob(t.log, t.now)
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.faults.rows.append(Fault(calls=frozenset({"sync"})))
    with pytest.raises(LogDirOffline):
        flush.run()
    assert t.log.recovery_point == Offset(0)


def test_a_duplicate_is_not_there_before_the_original_is_durable() -> None:
    """It is told its offsets at once; the end of the log passes them when the sync is done."""
    t = Partition(SYNCED)
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    t.decide("a", **fields)
    job = t.log.take_job()
    assert job is not None
    job.run()
    again = t.decide("a", **fields)
    assert again.duplicate
    assert t.log.log_end_offset <= again.last_offset
    assert t.log.take_job() is None
    job.sync()
    job.publish()
    assert t.log.log_end_offset > again.last_offset
    assert not unsafe(t)


def test_a_setting_that_comes_late_moves_no_recovery_point() -> None:
    """A job that was not synced stays so, though its topic is to be synced from now on."""
    t = Partition()
    (job,) = decided(t, "a")
    t.log.config = SYNCED
    job.publish()
    assert t.log.recovery_point == Offset(0)


def test_a_failed_sync_ends_the_directory() -> None:
    """Whether the bytes are durable is not known, and a second sync would not tell."""
    t = Partition(SYNCED)
    jobs = decided(t, "a", "b")
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.faults.fail_call(t.disk.faults.calls + 1, errno.ENOSPC)
    with pytest.raises(LogDirOffline):
        sync_group(jobs)
    for job in jobs:
        job.fail()
    assert t.log.log_end_offset == 0
    assert t.failures.has_failed(t.disk.name)


def test_a_flush_waits_for_room_for_the_history_of_epochs() -> None:
    """What was written is durable all the same: only a sync that fails ends a directory."""
    t = Partition()
    t.append("a")
    flush = FlushJob(t.log, t.now)
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.faults.capacity = t.disk.used
    with pytest.raises(DiskFull):
        flush.run()
    assert not unsafe(t)
    assert not t.failures.has_failed(t.disk.name)
    t.disk.faults.capacity = None
    flush = FlushJob(t.log, t.now)
    flush.run()
    flush.publish()
    assert t.log.recovery_point == Offset(1)


def test_an_append_is_taken_back_without_room_for_the_history_of_epochs() -> None:
    """Refused as any that meets a full disk; the next one finds the log as it was."""
    t = Partition(SYNCED)
    jobs = decided(t, "a", "b")
    assert isinstance(t.disk, SimulatedDisk)
    t.disk.faults.capacity = t.disk.used
    with pytest.raises(DiskFull):
        sync_group(jobs)
    assert not t.failures.has_failed(t.disk.name)
    for job in jobs:
        job.fail()
    assert t.log.log_end_offset == 0
    assert not t.log.active_segment.file.size()
    t.disk.faults.capacity = None
    sync_group(jobs := decided(t, "c"))
    jobs[0].publish()
    assert t.read() == ["c"]


@pytest.mark.parametrize("config", [SYNCED, SMALL])
def test_what_a_restart_finds_is_made_durable_where_that_is_promised(config: LogConfig) -> None:
    """The batch whose sync failed is still in the kernel's memory, where a sync no longer helps.

    Its producer asks again, and is told that it is there: then it must be.
    """
    t = Partition(config)
    decided(t, *(f"value-{number}" for number in range(20)))
    assert unsafe(t)
    assert isinstance(t.disk, SimulatedDisk)
    t.disk = t.disk.after_exit()
    for _, contents in t.disk.medium.files():
        contents.unsynced.clear()  # the kernel takes them for clean
    t.failures = Failures()
    t.open()
    assert len(t.read()) == 20
    folder = t.disk.medium.root.current[str(ORDERS)]
    assert isinstance(folder, Directory)
    logs = [file for name, file in folder.current.items() if name.endswith(".log")]
    assert len(logs) > 1
    assert all(file.durable == file.current for file in logs) is (config is SYNCED)
    assert t.log.recovery_point == (t.log.log_end_offset if config is SYNCED else 0)


def test_a_flush_that_was_planned_during_an_append_knows_its_epoch() -> None:
    """The append saves a newer epoch first; the recovery point passes it, so the file keeps it."""
    t = Partition(replace(SYNCED, segment_bytes=Bytes(2_000)))
    for epoch in (0, 1):
        t.epoch = LeaderEpoch(epoch)
        jobs = decided(t, *"abcde")
        flush = FlushJob(t.log, t.now)
        sync_group(jobs)
        flush.run()
        for job in jobs:
            job.publish()
        flush.publish()
    assert t.log.recovery_point == 10
    rest = RestJob(t.log)
    rest.run()
    rest.publish()
    t.reopen()
    assert t.log.epochs.entries == ((0, 0), (1, 5))
