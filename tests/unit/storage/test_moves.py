"""A log moves between two dirs: copied, swapped, given up; whatever fails, and wherever."""

import errno
from collections.abc import Generator
from contextlib import suppress
from itertools import pairwise
from typing import TypeVar

import pytest

from odradek.model.errors import BrokerError
from odradek.model.positions import LeaderEpoch, Offset
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.control import EndMarker, TransactionEnd
from odradek.records.record import Record
from odradek.sim.doors.disk_faults import Fault, PowerLost
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.moves import (
    PIECE_BATCHES,
    PIECE_BYTES,
    PIECE_BYTES_MIN,
    Move,
    Piece,
    Step,
    begin_move,
)
from odradek.storage.errors import (
    LogDirCordoned,
    LogDirNotFound,
    LogDirOffline,
    OutOfOrderSequence,
    StorageError,
)
from odradek.storage.files.names import KEPT_HERE
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.logs.truncation import truncate_to
from odradek.storage.settings import LogConfig
from tests.unit.storage.test_log_dirs import KNOWN, NEW, NOW, Host, fill, part

T = TypeVar("T")
LARGE = NEW._replace(config=LogConfig())


def ahead(piece: Piece) -> None:
    """As the other worker does."""
    error: BrokerError | None = None
    try:
        piece.run()
    except BrokerError as met:
        error = met
    piece.done(error)


def driven(steps: Generator[Step, None, T]) -> T:
    """Carries the steps out one after the other, as the workers of a broker do."""
    try:
        step = next(steps)
        while True:
            if step.ahead is not None:
                ahead(step.ahead)
            try:
                step.run()
            except StorageError as error:
                step = steps.throw(error)
            else:
                step = next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result


def begun(h: Host, target: str = "disk-1", how: InDir = KNOWN) -> Move:
    """A move of the first partition's log, of which nothing is copied yet."""
    move = driven(begin_move(h.dirs, part(0), target, how=how, now=NOW))
    assert move is not None
    return move


def moving(h: Host) -> Move:
    """A log on the first disk, with a future log of the same records on the second."""
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b", "c")
    move = begun(h)
    while driven(move.copy(NOW)):
        pass
    assert move.is_caught_up
    return move


def written_in(log: PartitionLog, epoch: int, *values: str) -> None:
    """Appends in another leader epoch."""
    for value in values:
        batch = build_batch([Record(0, NOW, None, value.encode())])
        log.append(batch, read_header(batch), LeaderEpoch(epoch), NOW)
        publish(log)


def written(log: PartitionLog) -> bytes:
    """All that is in it."""
    return b"".join(it.file.read(it.size, 0) for it in log.segments)


def where(h: Host) -> str:
    """The dir that has the log."""
    home = h.dirs.dir_of(part(0))
    assert home is not None
    return home.name


def end(h: Host) -> Offset:
    """Where the log ends."""
    log = h.dirs.get(part(0))
    assert log is not None
    return log.log_end_offset


def test_a_log_moves_to_another_directory() -> None:
    """What is written during the copy comes along; the old log waits to be deleted."""
    h = Host(2)
    move = moving(h)
    fill(move.current, "d")
    assert not move.is_caught_up
    driven(move.swap(NOW))
    assert h.dirs.get(part(0)) is move.future
    assert h.dirs.future(part(0)) is None
    fill(move.future, "e")
    for clean in (False, True):
        h.restart(clean=clean)
        assert (where(h), end(h)) == ("disk-1", 5)
    assert not h.disks[0].exists("orders-0")


@pytest.mark.parametrize("early", [True, False])
def test_an_open_transaction_moves_along(*, early: bool) -> None:
    """Its marker ends it in the log that takes the place, also if it came during the copy."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), LARGE, NOW)
    batch = build_batch(
        [Record(0, NOW, None, b"a")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    log.append(batch, read_header(batch), LeaderEpoch(0), NOW)
    publish(log)
    move = begun(h)
    while driven(move.copy(NOW)):
        pass
    end = TransactionEnd(7, 0, EndMarker(committed=False, coordinator_epoch=3))
    if early:
        log.append_end(end, LeaderEpoch(0), NOW)
        publish(log)
    driven(move.swap(NOW))
    if not early:
        move.future.append_end(end, LeaderEpoch(0), NOW)
        publish(move.future)
    move.future.on_high_watermark(Offset(1))
    assert move.future.last_stable_offset == 0
    move.future.on_high_watermark(Offset(2))
    assert move.future.last_stable_offset == 2
    (aborted,) = move.future.aborted_between(Offset(0), Offset(2))
    assert (aborted.first_offset, aborted.last_offset) == (0, 1)


def test_a_batch_that_waits_to_be_confirmed_is_waited_for_in_the_new_place() -> None:
    """The log knows nothing else of its producer: it would take the second for the first."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), LARGE, NOW)
    first, second = (
        build_batch(
            [Record(0, NOW, None, b"a")],
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=True,
        )
        for sequence in range(2)
    )
    log.producers.expect(read_header(first), NOW)
    move = begun(h)
    driven(move.swap(NOW))
    with pytest.raises(OutOfOrderSequence):
        move.future.append(second, read_header(second), LeaderEpoch(0), NOW)
    for batch in first, second:
        move.future.append(batch, read_header(batch), LeaderEpoch(0), NOW)


def test_a_batch_that_was_deleted_is_known_in_the_new_place() -> None:
    """Its answer was lost, and it is sent again."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), LARGE, NOW)
    batch = build_batch(
        [Record(0, NOW, None, b"a")], producer_id=7, producer_epoch=0, base_sequence=0
    )
    log.append(bytearray(batch), read_header(batch), LeaderEpoch(0), NOW)
    publish(log)
    log.on_high_watermark(Offset(1))
    DeleteJob(log, Offset(1)).run()
    move = begun(h)
    driven(move.swap(NOW))
    again = bytearray(batch)
    assert move.future.append(again, read_header(again), LeaderEpoch(0), NOW).duplicate


def publish(log: PartitionLog) -> None:
    """Writes what was decided."""
    job = log.take_job()
    assert job is not None
    job.run()
    job.publish()


def test_a_log_takes_all_that_is_known_of_it_along() -> None:
    """Its epochs, also those without a record; its start, its high watermark, its lacks."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), KNOWN, NOW)
    for epoch in (0, 2):
        written_in(log, epoch, "a", "b")
    log.begin_epoch(LeaderEpoch(5))
    log.on_high_watermark(Offset(3))
    DeleteJob(log, Offset(1)).run()
    h.dirs.dirs[0].note_cleaned(part(0), Offset(1))
    move = begun(h)
    while driven(move.copy(NOW)):
        pass
    driven(move.swap(NOW))
    assert move.future.epochs.entries == log.epochs.entries
    assert move.future.high_watermark == 3
    assert h.dirs.dirs[1].cleaner_offsets == {part(0): 1}
    h.come_back("crash")
    found = h.dirs.get(part(0))
    assert found is not None
    assert (found.log_start_offset, found.log_end_offset, found.high_watermark) == (1, 4, 3)
    assert found.unclean == log.unclean != None  # noqa: E711 - both of it
    assert found.epochs.latest == 2


def test_a_current_log_that_is_cut_cuts_the_future_one() -> None:
    """Both have one history before they are swapped (KIP-101), whatever leaders did meanwhile."""
    h = Host(2)
    move = moving(h)
    truncate_to(move.current, Offset(1), NOW)
    written_in(move.current, 3, "B", "C", "D")
    assert not move.is_caught_up
    driven(move.swap(NOW))
    piece = move.future.read(Offset(1), Offset(4), 10_000).chunk
    assert piece is not None
    data = piece.file.read(piece.length, piece.position)
    assert b"B" in data
    assert move.future.epochs.entries == ((0, 0), (3, 1))


def test_what_was_read_ahead_counts_only_if_it_is_still_so() -> None:
    """The current log is cut, and goes on with other records, between two pieces."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), LARGE, NOW)
    fill(log, *(letter * 40_000 for letter in "abcd"))
    move = begun(h, how=LARGE)
    driven(move.copy(NOW))
    assert move.future.log_end_offset < 4
    truncate_to(log, move.future.log_end_offset, NOW)
    fill(log, *(letter * 40_000 for letter in "BCD"))
    while driven(move.copy(NOW)):
        pass
    assert move.is_caught_up
    assert written(move.future) == written(log)


def test_pieces_are_as_large_as_the_batches_allow() -> None:
    """A few large batches, or some hundreds of small ones: those are checked on the loop."""
    sizes: dict[int, set[int]] = {}
    for length in (100, 60_000):
        h = Host(2)
        log = h.dirs.get_or_create(part(0), LARGE, NOW)
        fill(log, *["a" * length] * 2_000)
        move = begun(h, how=LARGE)
        sizes[length] = set()
        while count := driven(move.copy(NOW)):
            sizes[length].add(count)
        assert written(move.future) == written(log)
    assert max(sizes[100]) < 2 * PIECE_BYTES_MIN
    assert max(sizes[60_000]) > PIECE_BYTES // 2


def test_no_turn_places_many_batches() -> None:
    """A piece that follows large batches may have thousands of small ones: the loop has others."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), LARGE, NOW)
    fill(log, *["a" * 60_000] * 200, *["b" * 100] * 2_000)
    move = begun(h, how=LARGE)
    ends = [0]
    while driven(move.copy(NOW)):
        ends.append(move.future.log_end_offset)
    assert max(after - before for before, after in pairwise(ends)) == PIECE_BATCHES
    assert written(move.future) == written(log)


def test_a_start_that_moves_on_during_a_copy() -> None:
    """What retention took from the current log is not copied; the future one begins later."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, *[f"value-{number}" for number in range(30)])
    move = begun(h)
    driven(move.copy(NOW))
    log.on_high_watermark(log.log_end_offset)
    log.move_start(Offset(25))
    driven(move.swap(NOW))
    assert move.future.log_start_offset == 25
    assert move.future.log_end_offset == 30


def test_a_start_that_moves_on_behind_a_copy() -> None:
    """What was copied already is deleted in the future log as well."""
    h = Host(2)
    move = moving(h)
    move.current.on_high_watermark(Offset(3))
    DeleteJob(move.current, Offset(2)).run()
    driven(move.swap(NOW))
    found = h.dirs.get(part(0))
    assert found is move.future
    assert (found.log_start_offset, found.log_end_offset, found.high_watermark) == (2, 3, 3)


def test_a_move_may_be_given_up_or_go_elsewhere() -> None:
    """There is one future log at most, and none in the directory of the current one."""
    h = Host(3)
    future = moving(h).future
    assert begun(h).future is future
    assert begun(h, "disk-2").future is not future
    assert h.dirs.dirs[1].futures == {}
    for partition, target in ((part(0), "disk-0"), (part(5), "disk-2")):
        assert driven(begin_move(h.dirs, partition, target, how=KNOWN, now=NOW)) is None
    assert h.dirs.future(part(0)) is None
    assert h.dirs.preferred == {part(5): "disk-2"}


def test_a_target_that_takes_no_log_is_refused() -> None:
    """Unknown, cordoned, or offline, each in a sentence that names it."""
    h = Host(3)
    h.dirs.get_or_create(part(0), NEW, NOW)
    with pytest.raises(LogDirNotFound, match="nowhere"):
        begun(h, "nowhere")
    h.dirs.dirs[1].set_cordoned(is_cordoned=True)
    with pytest.raises(LogDirCordoned, match="disk-1 is cordoned"):
        begun(h)
    h.dirs.failures.report("disk-2", OSError("gone"))
    with pytest.raises(LogDirOffline, match="disk-2 is offline"):
        begun(h, "disk-2")


def test_a_future_log_is_resumed() -> None:
    """After a restart it is a future log still, checked from its start."""
    h = Host(2)
    moving(h)
    h.restart()
    move = Move(h.dirs, part(0))
    assert move.is_caught_up
    driven(move.swap(NOW))
    assert where(h) == "disk-1"


def test_a_future_log_of_nothing_goes() -> None:
    """Its current log was deleted while the dir was away."""
    h = Host(2)
    moving(h)
    for name in h.disks[0].names("orders-0"):
        h.disks[0].unlink(f"orders-0/{name}")
    h.disks[0].remove_directory("orders-0")
    h.restart()
    assert h.dirs.future(part(0)) is None
    assert h.dirs.get(part(0)) is None


@pytest.mark.parametrize("disk", [0, 1])
def test_a_dir_that_fails_during_a_copy_ends_the_move(disk: int) -> None:
    """The other one goes on: with the log, or without a part of it."""
    h = Host(2)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b", "c")
    move = begun(h)
    h.disks[disk].faults.rows.append(Fault(error=errno.EIO))
    with pytest.raises(StorageError):
        driven(move.copy(NOW))
    (gone,) = h.dirs.handle_failures()
    assert (gone.moves, gone.future_only) == (((part(0),), ()) if not disk else ((), (part(0),)))
    assert move.is_over
    driven(move.cancel())
    assert h.dirs.future(part(0)) is None
    assert (h.dirs.get(part(0)) is None) == (not disk)


@pytest.mark.parametrize("disk", [0, 1])
@pytest.mark.parametrize("change", range(1, 60))
@pytest.mark.parametrize("after", ["exit", "crash"])
@pytest.mark.parametrize("is_full", [False, True])
def test_a_swap_survives_a_crash_at_every_step(
    disk: int, change: int, after: str, *, is_full: bool
) -> None:
    """The next start finds one current log, whole; never two, never none."""
    h = Host(2)
    move = moving(h)
    for log in h.dirs:
        FlushJob(log, NOW).run()
    if is_full:
        h.disks[0].faults.capacity = h.disks[0].used
    faults = h.disks[disk].faults
    faults.crash_at_change = faults.changes + change
    with suppress(PowerLost):  # or the other disk's part is over before
        driven(move.swap(NOW))
    h.disks[0].faults.capacity = None
    h.come_back(after)
    assert end(h) == 3
    found = h.dirs.get(part(0))
    assert found is not None
    assert after == "crash" or found.unclean is None
    fill(found, "d")


@pytest.mark.parametrize("disk", [0, 1])
@pytest.mark.parametrize("call", range(80))
@pytest.mark.parametrize("is_full", [False, True])
def test_what_is_appended_after_a_swap_failed_is_never_lost(
    disk: int, call: int, *, is_full: bool
) -> None:
    """A disk fails at any call; whoever serves on is the true one when it comes back.

    Also where the log moves away for want of room, which comes only later.
    """
    h = Host(2)
    move = moving(h)
    if is_full:
        h.disks[0].faults.capacity = h.disks[0].used
    h.disks[disk].faults.rows.append(Fault(error=errno.EIO, skip=call))
    with suppress(StorageError):
        driven(move.swap(NOW))
    h.disks[disk].faults.rows.clear()
    h.disks[0].faults.capacity = None
    h.dirs.handle_failures()
    found = h.dirs.get(part(0))
    expected = 3
    if found is not None:
        fill(found, "d")
        FlushJob(found, NOW).run()
        expected = 4
    h.come_back("exit")
    assert end(h) == expected


def test_a_copy_of_another_history_with_the_same_end_has_not_caught_up() -> None:
    """The current log was cut, and has got as many records in another leader epoch."""
    h = Host(2)
    move = moving(h)
    truncate_to(move.current, Offset(2), NOW)
    written_in(move.current, 1, "other")
    assert move.future.log_end_offset == move.current.log_end_offset
    assert not move.is_caught_up
    driven(move.swap(NOW))
    assert where(h) == "disk-1"
    home = h.dirs.get(part(0))
    assert home is not None
    assert written(home) == written(move.current)


def test_a_swap_that_fails_at_its_rename_notes_which_log_is_true() -> None:
    """The target may have the name: the current one says so before it takes another append."""
    h = Host(2)
    move = moving(h)
    h.disks[1].faults.rows.append(Fault(calls=frozenset({"rename"}), path="*-future"))
    with pytest.raises(StorageError):
        driven(move.swap(NOW))
    assert where(h) == "disk-0"
    assert h.disks[0].exists(f"{part(0)}/{KEPT_HERE}")
