"""What an append needs of a segment is read by its job: publishing, on the loop, meets no disk."""

from odradek.model.positions import Offset
from odradek.model.units import Bytes, Timestamp
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.storage.logs.closing import RestJob
from odradek.storage.logs.truncation import truncate_to
from odradek.storage.logs.view import LogView
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import Partition

TINY = LogConfig(segment_bytes=Bytes(100), index_interval_bytes=Bytes(1))


def three_segments_at_rest() -> Partition:
    """With a batch each, whose times are in their indexes."""
    t = Partition(TINY)
    for value in "abc":
        t.append(value)
    assert len(t.log.segments) == 3
    t.flush()
    rest = RestJob(t.log)
    rest.run()
    rest.publish()
    return t


def write_and_publish_without_a_disk(t: Partition) -> None:
    """The job may wait for it; the loop may not."""
    job = t.log.take_job()
    assert job is not None
    job.run()
    assert isinstance(t.disk, SimulatedDisk)
    row = Fault(calls=frozenset({"open", "read", "stat"}))
    t.disk.faults.rows.append(row)
    job.publish()
    t.disk.faults.rows.remove(row)


def test_a_cut_makes_a_segment_the_active_one_whose_times_were_looked_through() -> None:
    """A look-up by time knows the index, and not yet its last entry: what comes next needs that."""
    t = three_segments_at_rest()
    assert LogView(t.log).offset_at(t.now) == (t.now, 0)
    truncate_to(t.log, Offset(1), t.now)
    t.now = Timestamp(t.now + 1)
    t.decide("d")
    write_and_publish_without_a_disk(t)
    assert t.records() == [(0, "a"), (1, "d")]


def test_a_segment_is_not_warm_before_the_last_entry_of_its_times_is_known() -> None:
    """All else was read for a reader of committed records."""
    t = three_segments_at_rest()
    assert LogView(t.log).offset_at(t.now) == (t.now, 0)
    truncate_to(t.log, Offset(1), t.now)
    t.commit()
    assert t.log.aborted_between(Offset(0), Offset(1)) == []
    t.now = Timestamp(t.now + 1)
    t.decide("d")
    write_and_publish_without_a_disk(t)
    assert t.records() == [(0, "a"), (1, "d")]
