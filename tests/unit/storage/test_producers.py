"""Idempotence and transactions, as one log sees them."""

import pytest

from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import read_header
from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import (
    CorruptFile,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.storage.logs import producer_snapshot
from odradek.storage.logs.earlier_batches import IN_FLIGHT_MS_MAX
from odradek.storage.logs.loading import Checkpointed
from odradek.storage.logs.producers import SEQUENCE_MAX, ProducerState
from odradek.storage.logs.truncation import count_producers_anew, truncate_to
from odradek.storage.segments.transaction_index import AbortedTransaction
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import Partition


def sent(t: Partition, sequence: int, *values: str, epoch: int = 0, producer: int = 7) -> int:
    """Appends as this producer; the base offset."""
    appended = t.append(
        *(values or ("x",)),
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return appended.base_offset


def in_transaction(t: Partition, sequence: int, producer: int, *, epoch: int = 0) -> int:
    """Appends one record to this producer's transaction."""
    return t.append(
        f"p{producer}",
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    ).base_offset


def test_a_repeated_batch_gets_the_offset_that_it_has() -> None:
    """The last five are remembered: so many may be in flight when a connection breaks."""
    t = Partition()
    for number in range(6):
        sent(t, number * 2, "a", "b")
    for number in range(1, 6):
        again = t.decide("a", "b", producer_id=7, producer_epoch=0, base_sequence=number * 2)
        assert again == (number * 2, number * 2 + 1, True)
    assert t.log.take_job() is None
    with pytest.raises(OutOfOrderSequence):
        sent(t, 0, "a", "b")


def test_a_duplicate_of_what_is_still_on_its_way() -> None:
    """Both copies may come in one turn; the second waits for the first."""
    t = Partition()
    t.decide("a", producer_id=7, producer_epoch=0, base_sequence=0)
    again = t.decide("a", producer_id=7, producer_epoch=0, base_sequence=0)
    assert again == (0, 0, True)
    t.write()
    assert t.read() == ["a"]


@pytest.mark.parametrize("sequence", [0, 2, 4, 17])
def test_a_gap_is_refused(sequence: int) -> None:
    """Something before this batch is missing, and would be lost unseen."""
    t = Partition()
    sent(t, 0, "a", "b", "c")
    with pytest.raises(OutOfOrderSequence, match="where 3 was to come"):
        sent(t, sequence, "d", "e")


def test_a_producer_of_which_nothing_is_known_begins_anywhere() -> None:
    """What it wrote before may have been deleted with its segment."""
    t = Partition()
    sent(t, 42)
    assert sent(t, 43) == 1


def test_sequences_go_on_with_zero_behind_the_greatest() -> None:
    """A batch may even span the end of the numbers."""
    t = Partition()
    sent(t, SEQUENCE_MAX, "a", "b", "c")
    assert sent(t, 2, "d") == 3
    again = t.decide("a", "b", "c", producer_id=7, producer_epoch=0, base_sequence=SEQUENCE_MAX)
    assert again == (0, 2, True)


def test_a_new_epoch_fences_the_old_one() -> None:
    """The new one begins with 0 and forgets the old one's batches."""
    t = Partition()
    sent(t, 0)
    with pytest.raises(OutOfOrderSequence):
        sent(t, 1, epoch=1)
    sent(t, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        sent(t, 1, epoch=0)
    assert sent(t, 1, epoch=1) == 2


def test_an_open_transaction_holds_readers_back() -> None:
    """The last stable offset stands before the oldest one, and moves when its end is committed."""
    t = Partition()
    t.append("plain")
    in_transaction(t, 0, 1)
    in_transaction(t, 0, 2)
    t.commit()
    assert t.log.last_stable_offset == 1
    t.end(1, committed=True)
    assert t.log.last_stable_offset == 1
    t.commit()
    assert t.log.last_stable_offset == 2
    t.end(2, committed=False)
    t.commit()
    assert t.log.last_stable_offset == t.log.log_end_offset == 5


def test_an_aborted_transaction_is_told_to_readers() -> None:
    """From its first record to its marker, over all segments that it touches."""
    t = Partition()
    in_transaction(t, 0, 1)
    in_transaction(t, 0, 2)
    for number in range(20):
        t.append(f"filler {number}")
    t.end(2, committed=False)
    t.end(1, committed=False)
    assert len(t.log.segments) > 2
    second = AbortedTransaction(2, 1, 22, 0)  # type: ignore[arg-type]
    first = AbortedTransaction(1, 0, 23, 24)  # type: ignore[arg-type]
    assert t.log.aborted_between(Offset(0), Offset(24)) == [second, first]
    assert t.log.aborted_between(Offset(0), Offset(1)) == [first]
    assert t.log.aborted_between(Offset(23), Offset(24)) == [first]
    for clean in (True, False):
        t.reopen(clean=clean)
        assert t.log.aborted_between(Offset(0), Offset(24)) == [second, first]


def test_who_may_end_a_transaction() -> None:
    """Neither a fenced producer's marker nor one of a replaced coordinator counts."""
    t = Partition()
    in_transaction(t, 0, 1, epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        t.end(1, committed=True, epoch=2)
    t.end(1, committed=True, epoch=3, coordinator=5)
    with pytest.raises(TransactionCoordinatorFenced):
        t.end(1, committed=True, epoch=3, coordinator=4)
    t.end(1, committed=False, epoch=3, coordinator=5)
    assert t.log.aborted_between(Offset(0), Offset(9)) == []


def test_what_hangs_has_the_outcome_of_the_next_transaction() -> None:
    """As in Kafka, whose entry keeps where it began: without verification a late batch stays so."""
    t = Partition()
    in_transaction(t, 0, 2)
    in_transaction(t, 0, 2, epoch=1)
    t.commit()
    assert t.log.last_stable_offset == 0
    t.end(2, committed=True, epoch=1)
    t.commit()
    assert t.log.last_stable_offset == t.log.log_end_offset == 3
    assert t.log.aborted_between(Offset(0), Offset(3)) == []


def test_a_plain_batch_within_a_transaction_is_refused() -> None:
    """It could neither be committed nor aborted with the rest."""
    t = Partition()
    in_transaction(t, 0, 1)
    with pytest.raises(InvalidTransactionState):
        sent(t, 1, producer=1)


@pytest.mark.parametrize("clean", [True, False])
def test_producers_survive_a_restart(clean: bool) -> None:  # noqa: FBT001
    """From the snapshot of a clean stop, or from the batches after another one."""
    t = Partition()
    for number in range(30):
        sent(t, number)
    in_transaction(t, 0, 8)
    t.reopen(clean=clean)
    again = t.decide("x", producer_id=7, producer_epoch=0, base_sequence=29)
    assert again == (29, 29, True)
    with pytest.raises(OutOfOrderSequence):
        sent(t, 31)
    t.commit()
    assert t.log.last_stable_offset == 30
    assert sent(t, 30) == 31


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("segment_bytes", [300, 10_000])
def test_all_batches_in_flight_are_known_after_a_restart(
    clean: bool,  # noqa: FBT001
    segment_bytes: int,
) -> None:
    """A snapshot has the last one of each producer; those before it lie in the log's tail."""
    t = Partition(LogConfig(Bytes(segment_bytes), index_interval_bytes=Bytes(100)))
    for number in range(7):
        sent(t, number * 2, "a", "b")
        sent(t, number, producer=8)
    in_transaction(t, 0, 9)
    t.reopen(clean=clean)
    for number in range(2, 7):
        again = t.decide("a", "b", producer_id=7, producer_epoch=0, base_sequence=number * 2)
        assert again == (number * 3, number * 3 + 1, True)
        again = t.decide("x", producer_id=8, producer_epoch=0, base_sequence=number)
        assert again == (number * 3 + 2, number * 3 + 2, True)
    assert t.log.take_job() is None
    with pytest.raises(OutOfOrderSequence):
        sent(t, 2, "a", "b")
    assert sent(t, 14) == t.log.log_end_offset - 1


def test_batches_in_flight_are_known_after_a_truncation() -> None:
    """It begins with a snapshot, too: who followed may lead next, and be asked."""
    t = Partition()
    for number in range(12):
        sent(t, number)
    truncate_to(t.log, Offset(t.log.active_segment.base_offset), t.now)
    end = t.log.log_end_offset
    for number in range(end - 5, end):
        again = t.decide("x", producer_id=7, producer_epoch=0, base_sequence=number)
        assert again == (number, number, True)


@pytest.mark.parametrize("start", [7, 8, 12])
def test_batches_below_the_start_of_the_log_are_known_after_a_restart(start: int) -> None:
    """Their records were deleted, within a batch or behind it; a client may send them again."""
    t = Partition()
    for number in range(6):
        sent(t, number * 2, "a", "b")
    t.commit()
    t.log.move_start(Offset(start))
    t.reopen()
    for number in range(1, 6):
        again = t.decide("a", "b", producer_id=7, producer_epoch=0, base_sequence=number * 2)
        assert again == (number * 2, number * 2 + 1, True)


def test_batches_below_the_start_of_the_log_are_known_after_a_truncation() -> None:
    """Where no snapshot is left."""
    t = Partition()
    for number in range(6):
        sent(t, number * 2, "a", "b")
    t.commit()
    t.log.move_start(Offset(7))
    truncate_to(t.log, Offset(10), t.now)
    again = t.decide("a", "b", producer_id=7, producer_epoch=0, base_sequence=6)
    assert again == (6, 7, True)


def test_only_what_follows_on_counts_as_in_flight() -> None:
    """Batches of an earlier epoch, or behind a gap that compaction left, are not this one's."""
    t = Partition()
    for number in range(3):
        sent(t, number)
    for number in range(2):
        sent(t, number, epoch=1)
    t.reopen(clean=True)
    entry = t.log.producers.entries[ProducerId(7)]
    assert [batch.last_offset for batch in entry.batches] == [3, 4]


def test_who_has_been_silent_for_long_has_nothing_in_flight() -> None:
    """A start reads nothing for producers that have given up by now."""
    t = Partition()
    for number in range(3):
        sent(t, number)
    t.now = Timestamp(t.now + IN_FLIGHT_MS_MAX)
    t.reopen(clean=True)
    assert len(t.log.producers.entries[ProducerId(7)].batches) == 1


def test_a_silent_producer_is_forgotten() -> None:
    """After a day, unless a transaction of it is open: that must still be ended.

    A marker is a sign of life, too (KAFKA-9144): with its producer the coordinator's epoch would
    be forgotten, and a former one could write again.
    """
    t = Partition()
    sent(t, 0, producer=1)
    in_transaction(t, 0, 2)
    assert t.log.producers.expire(t.now + 999, 1_000) == 0
    assert t.log.producers.expire(t.now + 1_000, 1_000) == 1
    assert t.log.producers.get(1) is None
    assert t.log.producers.get(2) is not None
    assert t.log.producers.expire(t.now + 9_000, 1_000) == 0
    t.now = Timestamp(t.now + 9_000)
    t.end(2, committed=True)
    assert t.log.producers.expire(t.now + 999, 1_000) == 0
    assert t.log.producers.expire(t.now + 1_000, 1_000) == 1


def test_who_writes_is_looked_at_once_in_its_time() -> None:
    """Not in each round: a thousand producers that are alive cost nothing."""
    t = Partition()
    sent(t, 0, producer=1)
    began = t.now
    for sequence in range(1, 10):
        t.now = Timestamp(t.now + 100)
        sent(t, sequence, producer=1)
    (row,) = t.log.producers.looks
    assert row[0] <= began
    assert t.log.producers.expire(began + 1_000, 1_000) == 0
    (row,) = t.log.producers.looks
    assert row[0] == t.log.producers.entries[ProducerId(1)].timestamp
    assert t.log.producers.expire(row[0] + 1_000, 1_000) == 1
    assert not t.log.producers.looks


def test_producers_of_a_snapshot_expire_too() -> None:
    """Each has its row, in whatever order they were written."""
    t = Partition()
    for producer in (3, 1, 2):
        sent(t, 0, producer=producer)
        t.now = Timestamp(t.now + 10)
    state = ProducerState.of(dict(t.log.producers.entries))
    first = min(it.timestamp for it in state.entries.values())
    assert [state.expire(first + 1_000 + 10 * it, 1_000) for it in range(3)] == [1, 1, 1]


def test_a_snapshot_round_trip() -> None:
    """Kafka keeps the last batch only, and so does the file."""
    t = Partition()
    sent(t, 0, "a", "b")
    sent(t, 2, "c", "d", "e")
    in_transaction(t, 5, 8)
    entries = t.log.producers.entries
    data = producer_snapshot.encode(entries.values())
    assert len(data) == 10 + 2 * 46
    read = producer_snapshot.decode(data, "snapshot")
    assert {e._replace(batches=e.batches[-1:]) for e in entries.values()} == set(read.values())
    assert ProducerState.of(read).first_unstable_offset == 5
    for position in range(len(data)):
        harmed = bytearray(data)
        harmed[position] ^= 0x10
        with pytest.raises(CorruptFile):
            producer_snapshot.decode(bytes(harmed), "snapshot")
        with pytest.raises(CorruptFile):
            producer_snapshot.decode(data[:position], "snapshot")


def test_a_header_alone_says_what_a_batch_changes() -> None:
    """Replaying needs no records, but for the markers."""
    state = ProducerState()
    t = Partition()
    batch = t.batch(["a"], producer_id=9, producer_epoch=2, base_sequence=4, transactional=True)
    assert state.replay(read_header(batch), None, 0) is None
    assert state.open_transactions == {0: 9}


@pytest.mark.parametrize("how", ["clean", "unclean", "truncated"])
def test_producers_are_learned_from_checked_batches_only(how: str) -> None:
    """A bit that turned in a header would fence off a living producer for ever."""
    t = Partition()
    for sequence in range(4):
        sent(t, sequence)
    t.flush()
    assert isinstance(t.disk, SimulatedDisk)
    found = t.log.active_segment.find(1)
    assert found is not None
    t.disk.flip(t.log.active_segment.path(".log"), found[0] + 52, 6)  # in the producer epoch
    if how == "truncated":
        truncate_to(t.log, Offset(3), t.now)
    else:
        t.open(Checkpointed(Offset(4)), clean=how == "clean")
    entry = t.log.producers.get(7)
    assert entry is not None
    assert (entry.producer_epoch, entry.last_sequence) == (0, t.log.log_end_offset - 1)


# Above the high watermark


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("committed", [True, False])
def test_an_end_above_the_high_watermark_holds_readers_back_after_a_restart(
    *, clean: bool, committed: bool
) -> None:
    """The snapshot has the transaction as ended, but its marker may still be cut off."""
    t = Partition()
    in_transaction(t, 0, 2)
    t.end(2, committed=committed)
    t.log.on_high_watermark(Offset(1))
    t.reopen(clean=clean)
    assert (t.log.high_watermark, t.log.last_stable_offset) == (1, 0)
    t.commit()
    assert t.log.last_stable_offset == 2


def test_an_end_above_the_high_watermark_holds_readers_back_after_a_truncation() -> None:
    """Where a snapshot lies between the marker and the cut."""
    t = Partition(LogConfig(segment_bytes=Bytes(300)))
    in_transaction(t, 0, 2)
    t.end(2, committed=True)
    for _ in range(6):
        t.append("x" * 50)
    t.log.on_high_watermark(Offset(1))
    assert [it.base_offset for it in t.log.segments] == [0, 3, 5, 7]
    truncate_to(t.log, Offset(6), t.now)
    assert (t.log.high_watermark, t.log.last_stable_offset) == (1, 0)
    t.commit()
    assert t.log.last_stable_offset == t.log.log_end_offset


def test_a_start_reads_no_more_where_no_transaction_ended_above_the_high_watermark() -> None:
    """Producers that only count their batches, and ends that are committed, are in the snapshot."""
    t = Partition()
    in_transaction(t, 0, 2)
    t.end(2, committed=True)
    t.commit()
    sent(t, 0, producer=1)
    t.reopen(clean=True)
    assert t.log.last_stable_offset == t.log.high_watermark == 2
    state = ProducerState.of(t.log.producers.entries)
    assert t.log.producers == state


def test_a_reader_of_a_follower_that_lags_is_told_of_an_abort_beyond() -> None:
    """Its high watermark is older than the marker: nothing of the transaction is stable yet."""
    t = Partition()
    first = in_transaction(t, 0, 2)
    t.append("plain")
    marker = t.end(2, committed=False).base_offset
    t.log.on_high_watermark(Offset(2))
    assert t.log.last_stable_offset == first
    t.log.on_high_watermark(Offset(marker + 1))
    assert t.log.last_stable_offset == marker + 1
    (aborted,) = t.log.aborted_between(Offset(first), Offset(1))
    assert (aborted.first_offset, aborted.last_offset) == (first, marker)


def test_a_marker_that_was_cut_off_is_written_again_by_the_next_leader() -> None:
    """Its change of leader came before its high watermark: the transaction is open as before."""
    t = Partition()
    in_transaction(t, 0, 2, epoch=4)
    marker = t.end(2, committed=True, epoch=5, version=2).base_offset
    assert t.end(2, committed=True, epoch=5, version=2).duplicate
    truncate_to(t.log, Offset(marker), t.now)
    t.log.on_high_watermark(Offset(1))
    assert t.log.last_stable_offset == 0
    again = t.end(2, committed=True, epoch=5, version=2)
    assert (again.base_offset, again.duplicate) == (marker, False)
    t.commit()
    assert t.log.last_stable_offset == 2


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_whose_beginning_was_deleted(*, committed: bool) -> None:
    """DeleteRecords may go beyond its first record; what is left waits for the marker."""
    t = Partition()
    in_transaction(t, 0, 2)
    in_transaction(t, 1, 2)
    t.commit()
    t.log.move_start(Offset(1))
    assert t.log.last_stable_offset == 1
    for _ in range(2):
        t.reopen()
        assert (t.log.log_start_offset, t.log.last_stable_offset) == (1, 1)
        t.reopen(clean=True)
    t.end(2, committed=committed)
    t.commit()
    assert t.log.last_stable_offset == 3
    t.reopen()
    found = [it.last_offset for it in t.log.aborted_between(Offset(1), Offset(3))]
    assert found == ([] if committed else [2])


@pytest.mark.parametrize("clean", [True, False])
def test_no_snapshot_lacks_what_could_not_be_read(*, clean: bool) -> None:
    """A start that passes over a marker notes it: another broker is asked, then it is counted."""
    t = Partition()
    in_transaction(t, 0, 2)
    t.end(2, committed=True)
    t.append("a")
    t.commit()
    t.flush()
    marker = t.log.active_segment.find(Offset(1))
    assert marker is not None
    assert isinstance(t.disk, SimulatedDisk)
    where = t.log.active_segment.path(".log"), marker[0] + marker[1].size - 1
    t.disk.flip(*where, 0)
    for is_clean in (False, clean):
        t.reopen(clean=is_clean)
        assert t.log.corrupt == t.log.passed_over == (0, marker[0], 1, frozenset())
        assert t.log.last_stable_offset == 0
        t.log.roll(t.now)
        t.write()
        t.append("b")
        t.commit()
    t.disk.flip(*where, 0)
    count_producers_anew(t.log, t.now)
    assert t.log.passed_over is None
    assert t.log.last_stable_offset == t.log.high_watermark
    for clean_too in (clean, True, False):
        t.reopen(clean=clean_too)
        assert t.log.last_stable_offset == t.log.high_watermark


def test_a_snapshot_from_before_what_is_gone_is_not_believed() -> None:
    """The end of its transaction lay between it and the start, at which a log begins anew."""
    t = Partition()
    t.append("a")
    in_transaction(t, 0, 2)
    t.log.roll(t.now)
    t.write()
    t.end(2, committed=True)
    t.append("b")
    t.commit()
    end = t.log.log_end_offset
    assert isinstance(t.disk, SimulatedDisk)
    t.disk = t.disk.after_exit()
    for suffix in (".log", ".index", ".timeindex"):
        t.disk.unlink(f"orders-0/{2:020}{suffix}")
    t.open(Checkpointed(Offset(2), log_start_offset=end, high_watermark=end))
    assert (t.log.log_start_offset, t.log.log_end_offset) == (end, end)
    t.append("c")
    t.commit()
    assert t.log.last_stable_offset == end + 1
    t.reopen(clean=True)
    assert t.log.last_stable_offset == end + 1


def test_what_another_leader_has_taken_is_awaited_no_longer() -> None:
    """A batch waited here for its coordinator; the producer went on with the next leader."""
    t, other = Partition(), Partition()
    first = t.batch(["a"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    t.log.producers.expect(read_header(first), t.now)
    with pytest.raises(OutOfOrderSequence):
        in_transaction(t, 1, 7)
    in_transaction(other, 0, 7)
    run = other.log.active_segment
    t.log.append_replica(memoryview(bytearray(run.file.read(run.size, 0))), t.now)
    t.write()
    assert in_transaction(t, 1, 7) == 1


def test_a_batch_that_waits_is_not_awaited_for_ever() -> None:
    """Its client may never send it again: it is forgotten as a silent producer is."""
    t = Partition()
    first = t.batch(["a"], producer_id=7, producer_epoch=0, base_sequence=5, transactional=True)
    t.log.producers.expect(read_header(first), t.now)
    t.log.producers.expire(t.now + 999, 1_000)
    with pytest.raises(OutOfOrderSequence):
        in_transaction(t, 6, 7)
    assert in_transaction(t, 0, 7, epoch=1) == 0  # another epoch does not wait
    t.log.producers.expect(read_header(first), t.now)
    t.log.producers.expire(t.now + 1_000, 1_000)
    assert not t.log.producers.awaited
