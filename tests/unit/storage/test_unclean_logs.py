"""A log knows whether it may lack records that it held, until the broker says that it does not."""

from collections.abc import Callable

import pytest

from odradek.model.positions import FIRST_INCARNATION, BrokerEpoch, LeaderEpoch, Offset
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault, PowerLost
from odradek.storage.errors import CorruptFile
from odradek.storage.files.checkpoints import encode_offsets
from odradek.storage.files.dir_files import write_small
from odradek.storage.files.names import LOG_START_OFFSETS
from odradek.storage.files.unclean_logs import (
    UNCLEAN_LOGS,
    Reason,
    Unclean,
    UncleanLogs,
    decode_unclean_logs,
)
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from tests.unit.storage.test_log_dirs import KNOWN, NEW, NOW, Host, fill, part


def reason(h: Host, number: int = 0) -> Reason | None:
    """Why the log is not whole, if it is not."""
    log = h.dirs.get(part(number))
    assert log is not None
    return log.unclean.reason if log.unclean else None


def flush(log: PartitionLog) -> None:
    """Makes everything durable."""
    job = FlushJob(log, NOW)
    job.run()
    job.publish()


def test_a_log_is_whole_through_stops_of_every_kind() -> None:
    """A new one is, and so is one whose process was killed: the kernel has its records."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    for clean in (False, True, False):
        h.restart(clean=clean)
        assert reason(h) is None
    assert not h.disks[0].exists(UNCLEAN_LOGS)


def test_no_unflushed_log_is_whole_after_its_machine_went_down() -> None:
    """A batch may be gone without a trace; and the start after that knows it as well."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.come_back("crash")
    assert reason(h) is Reason.MACHINE_WENT_DOWN
    h.come_back("exit")
    assert reason(h) is Reason.MACHINE_WENT_DOWN
    h.dirs.dirs[0].clear_unclean([part(0)])
    h.come_back("exit")
    assert reason(h) is None


def test_a_machine_may_go_down_once_its_dirs_are_closed() -> None:
    """Then nothing was in the page cache alone."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.dirs.dirs[0].closing(NOW, BrokerEpoch(1)).run()
    h.come_back("crash")
    assert reason(h) is None


def test_a_log_made_anew_is_unclean_until_the_broker_clears_it() -> None:
    """A disk was replaced: what the log held is elsewhere, if anywhere."""
    h = Host(2)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.disks[0] = SimulatedDisk("disk-0")
    h.restart(clean=True)
    h.dirs.get_or_create(part(0), KNOWN, NOW)
    assert reason(h) is Reason.MADE_ANEW
    for clean in (False, True):
        h.restart(clean=clean)
        assert reason(h) is Reason.MADE_ANEW
    (log_dir,) = [it for it in h.dirs.dirs if part(0) in it.logs]
    log_dir.clear_unclean([part(0)])
    h.restart()
    assert reason(h) is None


def test_a_later_topic_of_the_name_has_a_whole_log() -> None:
    """What is known of a log goes with it."""
    h = Host(1)
    h.dirs.get_or_create(part(0), KNOWN, NOW)
    h.dirs.delete(part(0))
    h.dirs.get_or_create(part(0), NEW, NOW)
    assert reason(h) is None
    h.restart()
    assert reason(h) is None


def test_a_log_that_recovery_cut_is_unclean() -> None:
    """Only that one: its neighbours in the dir had nothing to lose."""
    h = Host(1)
    logs = [h.dirs.get_or_create(part(number), NEW, NOW) for number in range(2)]
    for log in logs:
        fill(log, "a", "b")
    segment = logs[0].active_segment
    h.disks[0].flip(segment.path(".log"), segment.size - 1, 0)
    h.restart()
    assert [reason(h, number) for number in range(2)] == [Reason.CUT, None]
    h.restart(clean=True)
    assert [reason(h, number) for number in range(2)] == [Reason.CUT, None]


@pytest.mark.parametrize("change", range(1, 30))
def test_a_recovery_that_is_interrupted_forgets_no_cut(change: int) -> None:
    """The note is durable before the cut: the next start finds nothing bad any more."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a", "b")
    flush(log)
    segment = log.active_segment
    h.disks[0].flip(segment.path(".log"), segment.size - 1, 0)
    h.disks[0] = h.disks[0].after_exit()
    h.disks[0].faults.crash_at_change = change
    try:
        h.start()
    except PowerLost:
        h.come_back("crash")
    assert reason(h) in {Reason.CUT, Reason.UNKNOWN, Reason.MACHINE_WENT_DOWN}
    found = h.dirs.get(part(0))
    assert found is not None
    assert found.log_end_offset == 1


def lose_all(h: Host, log: PartitionLog) -> None:
    """The file of the last segment is gone, with its companions."""
    for name in h.disks[0].names("orders-0"):
        if name.startswith(log.active_segment.path("").rpartition("/")[2]):
            h.disks[0].unlink(f"orders-0/{name}")


def empty_it(h: Host, log: PartitionLog) -> None:
    """The file of the last segment has no bytes any more."""
    h.disks[0].open(log.active_segment.path(".log")).truncate(0)


@pytest.mark.parametrize("lose", [lose_all, empty_it])
@pytest.mark.parametrize("many", [1, 30])
def test_offsets_that_were_durable_are_not_given_again(
    lose: Callable[[Host, PartitionLog], None], many: int
) -> None:
    """The last segment vanished after a clean stop: consumers may have read what was in it."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, *[f"value-{number}" for number in range(many)])
    h.dirs.dirs[0].closing(NOW, BrokerEpoch(1)).run()
    lose(h, log)
    h.come_back("exit")
    found = h.dirs.get(part(0))
    assert found is not None
    assert found.log_end_offset < many
    assert found.unclean == Unclean(Reason.SHORT, Offset(many))
    assert any("below its recovery point" in str(it) for it in h.opened[0].repairs)
    h.restart(clean=True)
    found = h.dirs.get(part(0))
    assert found is not None
    assert found.unclean == Unclean(Reason.SHORT, Offset(many))
    found.begin_epoch(LeaderEpoch(0))
    fill(found, "new")
    assert found.log_end_offset == many + 1
    flush(found)
    h.restart()
    found = h.dirs.get(part(0))
    assert found is not None
    assert found.log_end_offset == many + 1


def test_a_cut_below_the_recovery_point_lowers_it_first() -> None:
    """A log that was truncated, or begun anew at a lower offset, has lost nothing."""
    h = Host(1)
    for number, fully in ((0, False), (1, True)):
        log = h.dirs.get_or_create(part(number), NEW, NOW)
        fill(log, "a", "b", "c")
        flush(log)
        h.dirs.dirs[0].checkpoint().run()
        cuts = {part(number): Offset(1)}
        h.dirs.dirs[0].truncation(cuts, NOW, fully=fully).run()
    h.come_back("crash")
    assert [reason(h, number) for number in range(2)] == [Reason.MACHINE_WENT_DOWN] * 2


def test_a_checkpoint_planned_beside_a_cut_says_no_more_than_is_left() -> None:
    """The cut is known to the loop when it is planned, before the disk has carried it out."""
    h = Host(1)
    (log_dir,) = h.dirs.dirs
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a", "b", "c")
    flushed = FlushJob(log, NOW)
    flushed.run()
    cut = log_dir.truncation({part(0): Offset(1)}, NOW)
    flushed.publish()
    checkpoint = log_dir.checkpoint()
    cut.run()
    checkpoint.run()
    assert log_dir.checkpointed(part(0)).recovery_point <= 1


def test_an_unreadable_note_leaves_no_log_known_as_whole() -> None:
    """It might have named any of them."""
    h = Host(1)
    for number in range(2):
        h.dirs.get_or_create(part(number), KNOWN if number else NEW, NOW)
    h.disks[0].open(UNCLEAN_LOGS).write([b"junk"], 0)
    h.restart(clean=True)
    assert [reason(h, number) for number in range(2)] == [Reason.UNKNOWN, Reason.UNKNOWN]
    assert "whole" in h.opened[0].notes[0]


@pytest.mark.parametrize("is_sure", [True, False])
def test_a_log_that_ends_below_its_start_may_lack_records(*, is_sure: bool) -> None:
    """Its records go only where a checksum covers the start; none covers what Kafka wrote."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.dirs.dirs[0].closing(NOW, BrokerEpoch(1)).run()
    starts = encode_offsets({part(0): Offset(90)})
    written = starts if is_sure else starts.rstrip() + b"\n"
    write_small(h.disks[0], LOG_START_OFFSETS, written)
    h.come_back("exit")
    found = h.dirs.get(part(0))
    assert found is not None
    assert (found.log_start_offset, found.log_end_offset) == ((90, 90) if is_sure else (0, 2))
    assert found.unclean == Unclean(Reason.SHORT, Offset(90))
    assert found.incarnation != FIRST_INCARNATION
    assert any("below its start 90" in str(it) for it in h.opened[0].repairs)


def test_no_log_is_whole_where_none_says_any_more_where_it_starts() -> None:
    """What was deleted is back in it: others lead, who have deleted it."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    write_small(h.disks[0], LOG_START_OFFSETS, b"junk")
    h.come_back("exit")
    assert reason(h) is Reason.UNKNOWN
    assert any("where it starts" in note for note in h.opened[0].notes)


def test_the_file_says_what_was_written() -> None:
    """And anything else is refused."""
    logs = {part(0): Unclean(Reason.CUT), part(7): Unclean(Reason.SHORT, Offset(9))}
    for recovering in (False, True):
        unclean = UncleanLogs(logs, recovering)
        assert decode_unclean_logs(unclean.encode(), "path") == unclean
    for wrong in (b"0\n1\norders 0 0 nonsense\n", b"0\n1\norders x 0 cut\n", b"0\n2\n"):
        with pytest.raises(CorruptFile):
            decode_unclean_logs(wrong, "path")
    assert all(it.sentence for it in Reason)


def doubted() -> Host:
    """Of its two dirs the second could not be opened at a start: the first may have been away."""
    h = Host(2)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.disks[1].faults.rows.append(Fault())
    h.restart()
    (log_dir,) = h.dirs.online
    known = log_dir.doubt(h.dirs.offline, [*log_dir.logs])
    assert known
    log_dir.learn(known)
    log_dir.note_offline(h.dirs.offline)
    assert reason(h) is Reason.MAYBE_OLDER
    return h


def test_what_has_lost_its_successor_is_another_log_whatever_it_lacked_before() -> None:
    """The one that took its place had all again, and may have been in sync as what it was then."""
    h = Host(1)
    log, log_dir = h.dirs.get_or_create(part(0), KNOWN, NOW), h.dirs.dirs[0]
    assert reason(h) is Reason.MADE_ANEW
    before = log.incarnation
    log_dir.learn(log_dir.settle_leaving({part(0): "disk-1"}, (), NOW))
    assert reason(h) is Reason.MADE_ANEW
    assert log.incarnation > before
    h.restart()
    found = h.dirs.get(part(0))
    assert found is not None
    assert (found.incarnation, reason(h)) == (log.incarnation, Reason.MADE_ANEW)


def end_doubts(h: Host) -> None:
    """What a start does where no dir is offline."""
    were_open = [
        log_dir.name
        for log_dir, opened in zip(h.dirs.dirs, h.opened, strict=True)
        if not opened.is_new
    ]
    known = h.dirs.dirs[0].end_doubts(were_open, NOW)
    assert known
    h.dirs.dirs[0].learn(known)
    assert not h.dirs.dirs[0].end_doubts(were_open, NOW)


def test_a_doubted_log_is_whole_when_the_other_dir_is_there_again() -> None:
    """A newer one would have taken its place; and the next start knows it as well."""
    h = doubted()
    h.restart()
    assert reason(h) is Reason.MAYBE_OLDER
    h.disks[1].faults.rows.clear()
    h.restart()
    end_doubts(h)
    assert reason(h) is None
    h.restart()
    assert reason(h) is None


def test_of_a_doubted_log_nothing_is_known_once_the_other_dir_is_replaced() -> None:
    """Or dropped from the settings: what was in it is gone for good."""
    h = doubted()
    h.disks[1] = SimulatedDisk("disk-1")
    h.restart()
    end_doubts(h)
    assert reason(h) is Reason.UNKNOWN
    h.restart()
    assert reason(h) is Reason.UNKNOWN
    h = doubted()
    del h.disks[1]
    h.restart()
    end_doubts(h)
    assert reason(h) is Reason.UNKNOWN


def test_a_doubted_log_may_lack_records_for_another_reason() -> None:
    """The machine went down meanwhile: that the other dir is there again says nothing of that."""
    h = doubted()
    h.disks[1].faults.rows.clear()
    h.come_back("crash")
    assert reason(h) is Reason.MACHINE_WENT_DOWN
    assert not h.dirs.dirs[0].end_doubts(["disk-1"], NOW)
    assert reason(h) is Reason.MACHINE_WENT_DOWN


def test_a_log_is_in_another_incarnation_each_time_that_it_has_lost_something() -> None:
    """Which stays when it is whole again, and through stops that lose nothing."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    incarnations = [incarnation(h)]
    for _ in range(2):
        h.come_back("crash")
        incarnations.append(incarnation(h))
        h.dirs.dirs[0].clear_unclean([part(0)])
        for clean in (True, False):
            h.restart(clean=clean)
            assert incarnation(h) == incarnations[-1]
            assert reason(h) is None
    assert incarnations[0] == 0
    assert sorted(set(incarnations)) == incarnations
    h.dirs.delete(part(0))
    h.dirs.get_or_create(part(0), KNOWN, NOW)
    assert incarnation(h) > incarnations[-1]
    h.dirs.delete(part(0))
    h.dirs.get_or_create(part(0), NEW, NOW)
    h.restart()
    assert incarnation(h) == 0


def incarnation(h: Host) -> int:
    """That of the log."""
    log = h.dirs.get(part(0))
    assert log is not None
    return log.incarnation


def test_a_log_is_in_doubt_unless_all_offline_dirs_were_named() -> None:
    """A dir says that it served without one of them: of the other it says nothing."""
    h = Host(3)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.disks[1].faults.rows.append(Fault())
    h.restart()
    h.dirs.dirs[0].note_offline(h.dirs.offline)
    h.restart()
    (log_dir, _) = h.dirs.online
    assert log_dir.doubt(h.dirs.offline, [*log_dir.logs]) == {}
    h.disks[2].faults.rows.append(Fault())
    h.restart()
    (log_dir,) = h.dirs.online
    assert [*log_dir.doubt(h.dirs.offline, [*log_dir.logs])] == [part(0)]


def test_a_doubt_is_answered_only_if_it_is_known_which_dir_was_away() -> None:
    """The start that began to doubt ended before it could note which dirs were offline."""
    h = Host(2)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b")
    h.disks[1].faults.rows.append(Fault())
    h.restart()
    (log_dir,) = h.dirs.online
    assert log_dir.doubt(h.dirs.offline, [*log_dir.logs])
    h.disks[1].faults.rows.clear()
    h.restart()
    end_doubts(h)
    assert reason(h) is Reason.UNKNOWN
