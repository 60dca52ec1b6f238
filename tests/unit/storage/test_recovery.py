"""Opening a log after a clean stop, after another one, and after rot."""

import struct
import zlib
from dataclasses import replace

import pytest

from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes
from odradek.records.batch import LENGTH_END, place
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import OldFormat
from odradek.storage.files.unclean_logs import Reason
from odradek.storage.logs.loading import Checkpointed
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import ORDERS, SMALL, Partition

PRODUCER_EPOCH_AT = 51  # in a batch
VALUES = [f"value-{number}" for number in range(20)]


def filled(config: LogConfig = SMALL) -> Partition:
    """A log of twenty batches in several segments."""
    t = Partition(config)
    for number, value in enumerate(VALUES):
        t.epoch = LeaderEpoch(number // 8)
        t.append(value)
    return t


def disk_of(t: Partition) -> SimulatedDisk:
    """The disk, by its faults."""
    assert isinstance(t.disk, SimulatedDisk)
    return t.disk


@pytest.mark.parametrize("clean", [True, False])
def test_nothing_is_lost_when_the_process_stops(clean: bool) -> None:  # noqa: FBT001
    """All that was written is there, and the log goes on where it ended."""
    t = filled()
    epochs = t.log.epochs.entries
    t.reopen(clean=clean)
    assert not t.loaded.repair
    assert t.read() == VALUES
    assert t.log.epochs.entries == epochs
    assert t.append("more").base_offset == 20
    assert t.read(19) == [VALUES[19], "more"]


def old_message(value: bytes) -> bytes:
    """A message of magic 1 as Kafka 0.10 wrote it."""
    body = struct.pack(">bbqi", 1, 0, 1_000, -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 0, 4 + len(body), zlib.crc32(body)) + body


@pytest.mark.parametrize("clean", [True, False])
def test_messages_of_an_old_format_are_refused_and_never_cut_away(clean: bool) -> None:  # noqa: FBT001
    """A directory that Kafka has used for ten years is not taken for a corrupt one."""
    t = Partition()
    path = t.log.segments[0].path(".log")
    old = old_message(b"from 2016") * 9
    t.disk.open(path).write([old], 0)
    with pytest.raises(OldFormat, match=r"0\.log: has messages of an old format"):
        t.reopen(clean=clean)
    assert t.disk.open(path).read(len(old) + 1, 0) == old


def test_what_only_looks_like_an_old_format_is_cut() -> None:
    """Zeros behind a crash have magic 0, and so has a torn batch: neither has a true checksum."""
    for garbage in (bytes(500), old_message(b"torn")[:-1] + b"!"):
        t = Partition()
        t.disk.open(t.log.segments[0].path(".log")).write([garbage], 0)
        t.reopen()
        assert t.loaded.repair.lost_bytes == len(garbage)
        assert t.log.log_end_offset == 0


def test_an_unclean_log_is_cut_at_the_first_bad_batch() -> None:
    """And one line says what was lost: bytes, messages, the first offset."""
    t = filled()
    segments = t.log.segments
    second = segments[1]
    assert len(segments) > 2
    disk_of(t).flip(second.path(".log"), 65, 3)
    lost = sum(segment.size for segment in segments[1:])
    t.reopen()
    repair = t.loaded.repair
    assert repair.first_lost_offset == second.base_offset == t.log.log_end_offset
    assert repair.lost_bytes == lost
    assert repair.lost_messages == 20 - second.base_offset
    assert f"lost {lost} bytes" in str(repair)
    assert f"{second.base_offset:020}.log: corrupt at byte 0: the checksum" in str(repair)
    assert t.read() == VALUES[: second.base_offset]
    assert t.append("new").base_offset == second.base_offset


@pytest.mark.parametrize("position", range(0, 76 * 6, 5))
def test_a_flipped_bit_is_found_wherever_it_is(position: int) -> None:
    """In a header or in a record: the log ends before the batch that holds it, or is whole.

    The leader epoch and the base offset lie outside the checksum; what they may be follows from
    their neighbours, so the log may end there, but no record ever changes its place or its value.
    """
    t = filled()
    disk_of(t).flip(t.log.segments[0].path(".log"), position, 6)
    t.reopen()
    read = t.records()
    assert [value for _, value in read] == VALUES[: len(read)]
    size = len(t.batch([VALUES[0]]))
    assert len(read) >= min(position // size, 6) or t.log.log_end_offset < 20


@pytest.mark.parametrize("harmed", range(20))
@pytest.mark.parametrize("point", range(0, 20, 3))
def test_a_log_that_is_cut_has_no_index_beyond_its_end(harmed: int, point: int) -> None:
    """Also where the bad batch is the one at which recovery begins: its index led there."""
    t = filled(LogConfig(index_interval_bytes=Bytes(100), flush_before_ack=True))
    segment = t.log.segments[0]
    t.flush()
    at = segment.find(harmed)
    assert at is not None
    disk_of(t).flip(segment.path(".log"), at[0] + 65, 3)
    t.disk = disk_of(t).after_exit()
    t.open(Checkpointed(Offset(point)))
    end = t.log.log_end_offset
    assert t.log.active_segment.find(end) is None
    assert t.append("more").base_offset == max(end, point)  # what was durable may have been read
    assert t.read(end) == ["more"]


@pytest.mark.parametrize("clean", [True, False])
def test_a_lying_header_below_the_recovery_point_costs_its_own_batches(clean: bool) -> None:  # noqa: FBT001
    """What is behind it is counted, and served; the producers there are known."""
    t = Partition(LogConfig(index_interval_bytes=Bytes(100)))
    for number in range(20):
        t.append(VALUES[number], producer_id=number, producer_epoch=0, base_sequence=0)
    t.flush()
    segment = t.log.segments[0]
    found = segment.find(5)
    assert found is not None
    disk_of(t).flip(segment.path(".log"), found[0] + 10, 2)  # in its length
    for name in t.disk.names("orders-0"):
        if name.endswith(".snapshot"):
            t.disk.unlink(f"orders-0/{name}")
    t.reopen(clean=clean)
    assert t.log.log_end_offset == 20
    known = set(range(20)) if clean else set(range(5)) | set(range(8, 20))
    assert known <= set(t.log.producers.entries)
    assert t.read(8) == VALUES[8:]


def test_a_log_whose_first_batch_has_rotted_takes_records() -> None:
    """By it the age of the segment is known; if it cannot be read, that is no reason to refuse."""
    t = Partition(LogConfig(index_interval_bytes=Bytes(100)))
    for value in VALUES:
        t.append(value)
    t.flush()
    disk_of(t).flip(t.log.segments[0].path(".log"), 8, 2)  # its length
    t.reopen()
    assert t.append("more").base_offset == 20
    assert t.read(20) == ["more"]


def test_what_was_flushed_is_not_read_again() -> None:
    """Recovery begins at the recovery point: below it even a harmed batch stays for its readers."""
    t = filled(LogConfig(index_interval_bytes=Bytes(100)))
    t.flush()
    t.append("unflushed")
    disk_of(t).flip(t.log.segments[0].path(".log"), 65, 3)
    t.reopen()
    assert t.log.log_end_offset == 21
    assert t.log.recovery_point == 20
    t.open(Checkpointed())
    assert t.log.log_end_offset == 0


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("clean", [True, False])
def test_missing_indexes_are_built_anew(suffix: str, clean: bool) -> None:  # noqa: FBT001
    """They hold nothing that the batches do not."""
    t = filled()
    t.flush()
    expected = [t.log.offset_at(t.now), t.log.newest()]
    if clean:
        t.reopen(clean=True)
    for segment in t.log.segments[:2]:
        t.disk.unlink(segment.path(suffix))
    t.reopen() if not clean else t.open(Checkpointed(Offset(20)), clean=True)
    assert t.read() == VALUES
    assert [t.log.offset_at(t.now), t.log.newest()] == expected


@pytest.mark.parametrize("harm", [b"", b"\xff" * 16, b"\x00" * 800])
def test_a_harmed_index_of_the_active_segment(harm: bytes) -> None:
    """An index that points past its file, or nowhere, is noticed when the log is opened."""
    t = filled(LogConfig(index_interval_bytes=Bytes(100)))
    t.reopen(clean=True)
    file = t.disk.open(t.log.active_segment.path(".index"))
    file.truncate(0)
    file.write([harm], 0)
    t.open(Checkpointed(Offset(20)), clean=True)
    assert t.read() == VALUES
    assert bool(t.loaded.repair) is bool(harm)


def test_a_torn_tail_is_cut() -> None:
    """Zeros, or half a batch, where the machine stopped before the bytes had arrived."""
    t = filled()
    file = t.disk.open(t.log.active_segment.path(".log"))
    for tail in (bytes(500), bytes(t.batch(["half"]))[:-1], b"x"):
        size = file.size()
        file.write([tail], size)
        t.reopen()
        assert t.loaded.repair.lost_bytes == len(tail)
        assert t.read() == VALUES
        file = t.disk.open(t.log.active_segment.path(".log"))
        assert file.size() == size


def test_a_harmed_history_of_epochs_is_built_from_the_batches() -> None:
    """Each batch carries the epoch that wrote it."""
    t = filled()
    t.flush()
    expected = t.log.epochs.entries
    for harm in (b"", b"0\n3\n0 0\n", b"junk"):
        file = t.disk.open("orders-0/leader-epoch-checkpoint")
        file.truncate(0)
        file.write([harm], 0)
        t.reopen()
        assert t.log.epochs.entries == expected
        assert "epochs" in str(t.loaded.repair)
    t.disk.unlink("orders-0/leader-epoch-checkpoint")
    t.reopen()
    assert t.log.epochs.entries == expected


def test_a_log_shorter_than_its_start_begins_anew() -> None:
    """What lay between was lost, and nobody may read below the start: the followers' way on."""
    t = filled()
    t.open(Checkpointed(log_start_offset=Offset(50)))
    assert t.log.log_start_offset == t.log.log_end_offset == 50
    assert t.append("new").base_offset == 50
    assert len(t.log.segments) == 1


def test_a_log_that_begins_anew_has_no_transaction_open() -> None:
    """Its end was lost with the records up to the start: readers would wait for it for ever."""
    t = Partition()
    t.append("a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    t.reopen(clean=True)
    t.open(Checkpointed(Offset(1), Offset(3), Offset(3)))
    t.append("b")
    t.commit()
    assert t.log.last_stable_offset == 4


def test_checkpoints_that_lie_beyond_the_end_are_not_believed() -> None:
    """They were written before a crash that took what they speak of."""
    t = filled()
    t.open(Checkpointed(Offset(99), Offset(0), Offset(99)))
    assert t.log.recovery_point == t.log.high_watermark == 20


def test_an_orphaned_index_goes() -> None:
    """Its segment was deleted, and the crash came in between."""
    t = filled()
    t.disk.open(f"orders-0/{99:020}.index", create=True)
    t.disk.open(f"orders-0/{99:020}.log.deleted", create=True)
    t.disk.open("orders-0/leader-epoch-checkpoint.tmp", create=True)
    t.reopen()
    names = t.disk.names("orders-0")
    assert not [name for name in names if "99." in name or name.endswith(("tmp", "deleted"))]


@pytest.mark.parametrize("flushed", range(21))
def test_epochs_survive_a_loss_of_power_without_a_sync_of_their_own(flushed: int) -> None:
    """Below the recovery point the file tells them, behind it the batches that are left."""
    t = Partition()
    t.disk.sync_directory("")
    for number, value in enumerate(VALUES):
        if number == flushed:
            t.flush()
        t.epoch = LeaderEpoch(number // 4)
        t.log.begin_epoch(t.epoch)
        t.append(value)
    t.log.begin_epoch(LeaderEpoch(9))
    expected = t.log.epochs.entries
    point = t.log.recovery_point
    t.disk = disk_of(t).after_crash(SeededRandom(flushed, "power"))
    t.open(Checkpointed(point))
    end = t.log.log_end_offset
    assert end >= point
    assert t.log.epochs.entries == tuple(it for it in expected if it.start_offset < end)


def flushed_within_the_first_epoch() -> Partition:
    """The history of epochs was saved once, and two more began since."""
    t = Partition()
    for number, value in enumerate(VALUES):
        t.epoch = LeaderEpoch(number // 8)
        t.append(value)
        if number == 3:
            t.flush()
    t.commit()
    return t


def test_epochs_of_deleted_records_that_were_never_saved_are_not_guessed() -> None:
    """The process is killed behind the deletion of the last batch that told its epoch.

    With the epoch of the file, which is older, the log would seem to have parted from its leader's
    below its own start, and would be cut to there.
    """
    t = flushed_within_the_first_epoch()
    t.log.roll(t.now)
    t.write()
    for segment in DeleteJob(t.log, Offset(20)).segments:
        segment.delete()
    t.reopen()
    assert t.log.log_start_offset == t.log.log_end_offset == 20
    assert not t.log.epochs.entries
    t.append("new")
    assert t.log.epochs.entries == ((2, 20),)


def test_epochs_of_records_that_were_lost_below_the_start_are_not_guessed() -> None:
    """The start was noted, and a loss of power took the batches that it lies in."""
    t = flushed_within_the_first_epoch()
    for segment in reversed(t.log.segments[2:]):
        segment.delete()
    t.open(Checkpointed(t.log.recovery_point, Offset(20)))
    assert t.log.log_start_offset == t.log.log_end_offset == 20
    assert t.log.epochs.entries == ()


def test_a_producers_epoch_is_learned_from_batches_with_a_true_checksum_alone() -> None:
    """A bit that turned in a header would fence off the living producer for ever."""
    t = Partition()
    for number in range(2):
        t.append("a", producer_id=7, producer_epoch=0, base_sequence=number)
    first = t.log.active_segment
    at = first.size // 2 + PRODUCER_EPOCH_AT + 1
    for value in VALUES:
        t.append(value)
    assert len(t.log.segments) > 1
    t.flush()
    disk_of(t).flip(first.path(".log"), at, 6)
    for name in t.disk.names(str(ORDERS)):
        if name.endswith(".snapshot"):
            t.disk.unlink(f"{ORDERS}/{name}")
    t.reopen()
    entry = t.log.producers.get(7)
    assert entry is not None
    assert entry.producer_epoch == 0


@pytest.mark.parametrize("harmed", [0, 2, 4, 6])
@pytest.mark.parametrize("bit", [0, 1, 2, 5, 33, 62])
def test_a_base_offset_that_has_rotted_cuts_nothing(harmed: int, bit: int) -> None:
    """No checksum covers it; between its neighbours the batch has one place only."""
    t = Partition(LogConfig(segment_bytes=Bytes(300), index_interval_bytes=Bytes(1)))
    for number in range(9):
        t.append(f"{number}", f"{number}'")
    assert 1 < len(t.log.segments) < 9
    before, size = t.records(), len(t.batch(["0", "0'"]))
    segment = t.log.segment_of(2 * harmed)
    at = (harmed - segment.base_offset // 2) * size
    file = t.disk.open(segment.path(".log"))
    flipped = int.from_bytes(file.read(8, at), "big") ^ 1 << bit
    file.write([flipped.to_bytes(8, "big")], at)
    repair = t.reopen().repair
    assert repair.first_lost_offset is None
    assert f"had the offset {flipped} for {2 * harmed}" in str(repair)
    assert t.records() == before
    assert not t.reopen().repair
    assert t.records() == before


@pytest.mark.parametrize("bit", [0, 1, 2, 3, 4, 33])
@pytest.mark.parametrize("harmed", [10, 12])
def test_a_base_offset_that_has_rotted_behind_a_gap_moves_no_other(harmed: int, bit: int) -> None:
    """Compaction left the gap; with one bit the second batch behind it claims to begin there.

    The first one has no place that could be told: it goes rather than to be read at a wrong one.
    """
    t = Partition(replace(SMALL, compact=True))
    for base in (0, 10, 12, 14, 16):
        batch = t.batch([f"k={base}", f"k={base + 1}"])
        place(batch, 0, base, 0)
        t.log.append_replica(memoryview(batch), t.now)
        t.write()
    before = t.records()
    assert len(t.log.segments) == 1
    at, _ = t.log.active_segment.find(harmed) or (0, None)
    file = t.disk.open(t.log.active_segment.path(".log"))
    flipped = int.from_bytes(file.read(8, at), "big") ^ 1 << bit
    file.write([flipped.to_bytes(8, "big")], at)
    t.reopen()
    if harmed == 12:
        assert t.records() == before
    elif not 2 <= flipped <= 10:  # within the gap nothing contradicts it
        assert t.records() == before[:2]


@pytest.mark.parametrize("harmed", range(12))
@pytest.mark.parametrize("bit", [0, 1, 2, 5, 30, 31])
def test_a_leader_epoch_that_has_rotted_is_put_right_where_its_neighbours_tell_it(
    harmed: int, bit: int
) -> None:
    """No checksum covers it, and followers take no epoch that goes back, nor any behind a high one.

    At both ends of a log, and next to the beginning of an epoch, the corrupt one may be another.
    """
    t = Partition(LogConfig(segment_bytes=Bytes(300), index_interval_bytes=Bytes(1)))
    written = [4] * 5 + [6] * 7
    for number, epoch in enumerate(written):
        t.epoch = LeaderEpoch(epoch)
        t.append(f"{number}", f"{number}'")
    assert 1 < len(t.log.segments) < 12
    epochs, files, records = t.log.epochs.entries, batches_of(t), t.records()
    flipped = flip_epoch(t, 2 * harmed, bit)
    harmed_files = batches_of(t)
    repair = t.reopen().repair
    assert repair.first_lost_offset is None
    assert t.records() == records
    if harmed in {2, 7, 8, 9}:
        assert f"had the epoch {flipped} for {written[harmed]}" in str(repair)
    if repair:
        assert t.log.epochs.entries == epochs
        assert batches_of(t) == files
        assert not t.reopen().repair
    else:
        assert harmed not in {2, 7, 8, 9}
        assert batches_of(t) == harmed_files


@pytest.mark.parametrize("bit", [1, 2, 3, 4, 33])
def test_of_the_last_batch_an_offset_too_low_ends_the_log_and_one_too_high_stays(bit: int) -> None:
    """Behind it is nothing that could tell its place, and a log may have gaps."""
    t = Partition()
    for number in range(6):
        t.append(f"{number}", f"{number}'")
    before, segment = t.records(), t.log.active_segment
    at, _ = segment.find(10) or (0, None)
    disk_of(t).flip(segment.path(".log"), at + 7 - bit // 8, bit % 8)
    flipped = 10 ^ 1 << bit
    t.reopen()
    if flipped < 10:
        assert t.records() == before[:10]
        assert t.loaded.repair.first_lost_offset == 10
        assert t.log.unclean is not None
        assert t.log.unclean.reason is Reason.CUT
    elif bit == 33:  # more than a segment can number
        assert t.records() == before[:10]
    else:
        assert t.records() == [*before[:10], (flipped, "5"), (flipped + 1, "5'")]


def batches_of(t: Partition) -> list[bytes]:
    """The segments' files, whole."""
    return [it.file.read(it.size, 0) for it in t.log.segments]


def flip_epoch(t: Partition, offset: int, bit: int) -> int:
    """Turns a bit of the leader epoch of the batch at an offset; what it is then."""
    segment = t.log.segment_of(offset)
    at, _ = segment.find(offset) or (0, None)
    file = t.disk.open(segment.path(".log"))
    disk_of(t).flip(segment.path(".log"), at + LENGTH_END + 3 - bit // 8, bit % 8)
    return int.from_bytes(file.read(4, at + LENGTH_END), "big", signed=True)
