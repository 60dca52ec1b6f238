"""Cutting a log: from its end by a leader's word, from its start by retention."""

from dataclasses import replace

import pytest

from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Millis, Timestamp
from odradek.records.batch import place
from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.logs.retention import DeleteJob, deletable_up_to
from odradek.storage.logs.truncation import settle_gap, truncate_fully, truncate_to
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import SMALL, Partition

VALUES = [f"value-{number}" for number in range(20)]


def filled(config: LogConfig = SMALL) -> Partition:
    """Twenty batches of a counting producer, over several segments and three epochs."""
    t = Partition(config)
    for number, value in enumerate(VALUES):
        t.epoch = LeaderEpoch(number // 8)
        t.now = Timestamp(1_000 + number)
        t.append(value, producer_id=7, producer_epoch=0, base_sequence=number)
    return t


@pytest.mark.parametrize("offset", range(21))
@pytest.mark.parametrize("after", ["nothing", "kill", "clean"])
def test_truncating_to_an_offset(offset: int, after: str) -> None:
    """The log, its epochs and its producers are as they were when it ended there."""
    t = filled()
    t.flush()
    t.commit()
    truncate_to(t.log, Offset(offset), t.now)
    if after != "nothing":
        t.reopen(clean=after == "clean")
    log = t.log
    assert log.log_end_offset == log.high_watermark == log.recovery_point == offset
    assert t.read() == VALUES[:offset]
    assert all(entry.start_offset < offset for entry in log.epochs.entries)
    entry = log.producers.get(7)
    assert (entry.last_sequence if entry else -1) == offset - 1
    assert log.newest() == ((1_000 + offset - 1, offset - 1) if offset else None)
    again = t.append("new", producer_id=7, producer_epoch=0, base_sequence=offset)
    assert again.base_offset == offset
    t.reopen()
    assert t.read() == [*VALUES[:offset], "new"]


def test_a_batch_is_never_cut_in_two() -> None:
    """The offset lies within one: the log ends where that began."""
    t = Partition()
    t.append("a", "b")
    t.append("c", "d", "e")
    truncate_to(t.log, Offset(4), t.now)
    assert t.log.log_end_offset == 2
    assert t.read() == ["a", "b"]


LEFT = {number: f"value-{number}" for number in (3, 8, 13, 18, 20)}


def compacted(config: LogConfig = SMALL) -> Partition:
    """What compaction left of 21 batches, over four segments."""
    t = Partition(config)
    for number in range(21):
        if (value := LEFT.get(number)) is not None:
            batch = t.batch([value])
            place(batch, 0, number, 0)
            t.now = Timestamp(1_000 + number)
            t.log.append_replica(memoryview(batch), t.now)
            t.write()
        if number % 7 == 6:
            t.log.roll(t.now)
            t.write()
    t.commit()
    return t


@pytest.mark.parametrize("offset", range(21))
@pytest.mark.parametrize("after", ["nothing", "kill", "clean"])
@pytest.mark.parametrize("flushed", [True, False])
def test_truncating_to_where_compaction_left_nothing(
    offset: int, after: str, *, flushed: bool
) -> None:
    """The log ends at the offset all the same, and begins where it did: nothing was deleted."""
    t = compacted()
    if flushed:
        t.flush()
    settle_gap(t.log, Offset(offset), t.now)
    truncate_to(t.log, Offset(offset), t.now)
    if after != "nothing":
        t.reopen(clean=after == "clean")
    log, end = t.log, offset
    assert log.log_end_offset == log.high_watermark == end
    kept = [(number, value) for number, value in LEFT.items() if number < end]
    assert log.log_start_offset == 0
    assert t.records() == kept
    assert t.append("new").base_offset == end
    t.reopen()
    assert t.records() == [*kept, (end, "new")]


def test_a_segment_that_is_empty_holds_retention_up_for_nothing() -> None:
    """A cut, or compaction, took all that the log began with; what is behind it is too old."""
    t = compacted(replace(SMALL, retention_ms=Millis(100)))
    t.flush()
    truncate_to(t.log, Offset(2), t.now)
    t.append("new")
    t.log.roll(t.now)
    t.write()
    t.commit()
    assert [segment.size > 0 for segment in t.log.segments] == [False, True, False]
    assert deletable_up_to(t.log, t.now) == 0
    assert deletable_up_to(t.log, Timestamp(t.now + 101)) == 3


def test_truncating_beyond_the_end_drops_epochs_only() -> None:
    """An epoch of which no record came is not part of the log's history."""
    t = filled()
    t.log.begin_epoch(LeaderEpoch(9))
    truncate_to(t.log, Offset(20), t.now)
    assert t.log.epochs.latest == 2
    assert t.read() == VALUES


def test_beginning_anew_elsewhere() -> None:
    """A follower that fell out of its leader's log starts where that does."""
    t = filled()
    truncate_fully(t.log, Offset(500), t.now)
    assert t.log.epochs.entries == ()
    assert t.append("new").base_offset == 500
    t.reopen()
    assert t.records() == [(500, "new")]


def test_an_aborted_transaction_that_was_cut_off_is_open_again() -> None:
    """Its marker is gone: readers wait for the next one."""
    t = Partition()
    t.append("a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    t.end(1, committed=False)
    t.commit()
    truncate_to(t.log, Offset(1), t.now)
    assert t.log.aborted_between(Offset(0), Offset(9)) == []
    t.commit()
    assert t.log.last_stable_offset == 0


def drop(t: Partition, start: Offset) -> None:
    """Moves the start of the log, and deletes what lies below."""
    if start > t.log.active_segment.base_offset and start == t.log.log_end_offset:
        t.log.roll(t.now)
        t.write()
    DeleteJob(t.log, start).run()


def test_retention_by_time() -> None:
    """A segment goes when even its newest record is too old; never beyond the high watermark."""
    t = filled(LogConfig(Bytes(600), index_interval_bytes=Bytes(100), retention_ms=Millis(100)))
    third = t.log.segments[2]
    now = Timestamp(third.newest.timestamp + 100)
    assert deletable_up_to(t.log, now) == 0
    t.commit()
    assert deletable_up_to(t.log, now) == third.base_offset
    assert deletable_up_to(t.log, Timestamp(now + 99)) == 20
    drop(t, third.base_offset)
    assert t.read() == VALUES[third.base_offset :]
    with pytest.raises(OffsetOutOfRange):
        t.read(third.base_offset - 1)
    assert not [n for n in t.disk.names("orders-0") if n.startswith(f"{0:020}")]
    t.reopen()
    assert t.log.log_start_offset == third.base_offset
    assert t.log.epochs.entries[0].start_offset == third.base_offset


def test_retention_of_the_active_segment() -> None:
    """It is rolled first, so the log goes on with its offsets."""
    t = filled()
    t.commit()
    drop(t, Offset(20))
    assert t.read() == []
    assert len(t.log.segments) == 1
    assert t.append("new").base_offset == 20
    t.reopen()
    assert t.records() == [(20, "new")]


def test_a_deletion_that_is_late_keeps_the_epochs_that_began_meanwhile() -> None:
    """The last step of a move deletes what the log lost during its swap."""
    t = filled()
    t.commit()
    job = DeleteJob(t.log, t.log.segments[1].base_offset)
    t.epoch = LeaderEpoch(7)
    for number in range(5):
        t.append("new", producer_id=7, producer_epoch=0, base_sequence=20 + number)
    t.flush()
    job.run()
    expected = t.log.epochs.entries
    t.reopen()
    assert t.log.epochs.entries == expected
    assert t.log.epochs.start_of(t.epoch) == 20


def test_retention_by_size() -> None:
    """The oldest segments go while what is left is still at least the bound."""
    t = filled(LogConfig(Bytes(600), index_interval_bytes=Bytes(100), retention_bytes=Bytes(900)))
    t.commit()
    sizes = [segment.size for segment in t.log.segments]
    start = deletable_up_to(t.log, Timestamp(0))
    drop(t, start)
    left = [segment.size for segment in t.log.segments]
    assert sum(left) >= 900 > sum(left[1:])
    assert sizes[-len(left) :] == left


def test_a_compacted_topic_keeps_its_segments() -> None:
    """Unless its policy is both."""
    t = filled(LogConfig(Bytes(600), delete=False, compact=True, retention_ms=Millis(1)))
    t.commit()
    assert deletable_up_to(t.log, Timestamp(1 << 40)) == 0


def test_a_reader_on_its_way_may_finish() -> None:
    """The file of a range that was handed out outlives its name."""
    t = filled()
    t.commit()
    chunk = t.log.read(Offset(0), Offset(20), 10_000).chunk
    drop(t, Offset(20))
    assert chunk is not None
    assert len(chunk.file.read(chunk.length, chunk.position)) == chunk.length
