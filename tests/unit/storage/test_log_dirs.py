"""Several log dirs: where logs go, how one fails alone, and how a log moves between two."""

import errno

import pytest

from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import place, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.storage.dirs.dir_new_logs import InDir, NewLog
from odradek.storage.dirs.log_dir import DirLocked, LogDir, Opened
from odradek.storage.dirs.log_dirs import LogDirs, WrongIdentity
from odradek.storage.errors import (
    LogDirNotFound,
    LogDirOffline,
    OutOfDescriptors,
    StorageError,
)
from odradek.storage.files.failures import Failures
from odradek.storage.files.names import RECOVERY_POINTS
from odradek.storage.lending import give_back, lend
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.retention import DeleteJob, deletable_up_to
from odradek.storage.settings import LogConfig

CONFIG = LogConfig(segment_bytes=Bytes(600), index_interval_bytes=Bytes(100))
TOPIC_ID = TopicId(bytes(range(16)))
NOW = Timestamp(1_000)
NEW = InDir(CONFIG, TOPIC_ID, is_new=True)
KNOWN = InDir(CONFIG, TOPIC_ID)


def part(number: int) -> TopicPartition:
    """One of a topic's partitions."""
    return TopicPartition("orders", number)


class Counting:
    """Chance that counts: directory names that can be told apart."""

    def __init__(self) -> None:
        self.calls = 0

    def below(self, bound: int) -> int:
        """Not asked here."""
        return 0

    def bytes(self, count: int) -> bytes:
        """The next number."""
        self.calls += 1
        return self.calls.to_bytes(count, "big")


class Host:
    """A broker's disks, over several lives of its process."""

    def __init__(self, count: int) -> None:
        self.disks = [SimulatedDisk(f"disk-{number}") for number in range(count)]
        self.start()

    def start(self) -> None:
        """A process begins: takes its directories, and opens what is in them."""
        self.failures = Failures()
        dirs = [LogDir(disk, self.failures) for disk in self.disks]
        self.dirs = LogDirs(dirs, self.failures, Counting())
        self.opened: list[Opened] = []
        for log_dir in dirs:
            try:
                log_dir.take()
                self.opened.append(log_dir.open(lambda _: CONFIG, NOW))
            except LogDirOffline:
                continue
        self.dirs.identify(BrokerId(1), "cluster")
        self.dirs.settle()

    def restart(self, *, clean: bool = False) -> None:
        """The process ends, in good order or not, and another one begins."""
        if clean:
            for log_dir in self.dirs.online:
                log_dir.closing(NOW, BrokerEpoch(77)).run()
        self.come_back("exit")

    def come_back(self, after: str) -> None:
        """The process is gone, or its machine, and another one begins."""
        chance = Counting()
        self.disks = [
            d.after_crash(chance) if after == "crash" else d.after_exit() for d in self.disks
        ]
        self.start()


def fill(log: PartitionLog, *values: str) -> None:
    """Appends a batch for each value."""
    for value in values:
        batch = build_batch([Record(0, NOW, None, value.encode())])
        log.append(batch, read_header(batch), LeaderEpoch(0), NOW)
        job = log.take_job()
        assert job is not None
        try:
            job.run()
        except StorageError:
            job.fail()
            raise
        job.publish()


def test_a_new_log_goes_where_the_fewest_are() -> None:
    """Equal ones in the order of the setting; a wish comes first."""
    h = Host(3)
    h.dirs.preferred[part(3)] = "disk-1"
    holders = []
    for number in range(6):
        h.dirs.get_or_create(part(number), NEW, NOW)
        home = h.dirs.dir_of(part(number))
        assert home is not None
        holders.append(home.name[-1])
    assert "".join(holders) == "012102"
    assert h.dirs.preferred == {}


def test_a_log_is_found_again() -> None:
    """With its records, its topic's id, and the marks that the checkpoints keep."""
    h = Host(2)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a", "b", "c")
    log.on_high_watermark(Offset(2))
    log.move_start(Offset(1))
    for clean in (True, False):
        if not clean:
            for log_dir in h.dirs.online:
                log_dir.checkpoint().run()
        h.restart(clean=clean)
        assert h.opened[0].clean is clean
        assert h.opened[0].broker_epoch == (77 if clean else -1)
        found = h.dirs.get(part(0))
        assert found is not None
        assert (found.log_start_offset, found.high_watermark, found.log_end_offset) == (1, 2, 3)
        assert found.topic_id == TOPIC_ID
        assert found.recovery_point == 3
    assert h.dirs.get_or_create(part(0), KNOWN, NOW) is found


def test_the_clean_marker_counts_once() -> None:
    """A start that trusts it and then dies must not be trusted again."""
    h = Host(1)
    h.restart(clean=True)
    assert h.opened[0].clean
    h.restart()
    assert not h.opened[0].clean


def test_the_clean_marker_does_not_come_back_after_a_loss_of_power() -> None:
    """Its removal is durable before a log is opened: what follows it would be trusted unseen."""
    h = Host(1)
    h.dirs.get_or_create(part(0), NEW, NOW)
    h.restart(clean=True)
    assert h.opened[0].clean
    h.come_back("crash")
    assert not h.opened[0].clean


def test_logs_that_were_left_alone_cost_nothing_to_close() -> None:
    """Thousands may be idle; a stop is only for those to which something has happened."""

    def calls_of_a_stop(*, idle: int) -> int:
        h = Host(1)
        for number in range(idle):
            fill(h.dirs.get_or_create(part(number), NEW, NOW), "a")
        h.restart(clean=True)
        fresh = h.dirs.get_or_create(part(99), NEW, NOW)
        fill(h.dirs.get_or_create(part(98), NEW, NOW), "a", "b")
        old = h.disks[0].faults
        before = old.calls
        h.restart(clean=True)
        found = h.dirs.get(part(98))
        assert found is not None
        assert found.log_end_offset == 2
        assert fresh.log_end_offset == 0
        return old.calls - before

    assert calls_of_a_stop(idle=30) == calls_of_a_stop(idle=3)


def test_what_the_loop_reads_of_the_cleaner_is_replaced_and_never_changed() -> None:
    """The disk's thread notes how far it came, while the loop walks over what was noted."""
    h = Host(1)
    (log_dir,) = h.dirs.online
    before = log_dir.cleaner_offsets
    log_dir.note_cleaned(part(0), Offset(3))
    assert part(0) not in before
    assert log_dir.cleaner_offsets == {part(0): 3}


def test_a_directory_fails_alone() -> None:
    """Its logs are gone from service, the others go on, and its failure is told once."""
    h = Host(2)
    first = h.dirs.get_or_create(part(0), NEW, NOW)
    second = h.dirs.get_or_create(part(1), NEW, NOW)
    h.disks[0].faults.fail_call(h.disks[0].faults.calls + 1, errno.EIO)
    with pytest.raises(LogDirOffline):
        fill(first, "a")
    (offline,) = h.dirs.handle_failures()
    assert (offline.log_dir, offline.current) == ("disk-0", (part(0),))
    assert h.dirs.handle_failures() == []
    assert h.dirs.get(part(0)) is None
    assert list(h.dirs) == [second]
    fill(second, "b")
    calls = h.disks[0].faults.calls
    first.reset()
    with pytest.raises(LogDirOffline):
        fill(first, "c")
    assert h.disks[0].faults.calls == calls
    assert not h.dirs.all_failed


def test_a_missing_log_may_be_on_the_lost_disk() -> None:
    """Only one that is known to be new is made while a directory is offline."""
    h = Host(2)
    h.failures.report("disk-0", OSError(errno.EIO, "gone"))
    h.dirs.handle_failures()
    with pytest.raises(LogDirOffline):
        h.dirs.get_or_create(part(0), KNOWN, NOW)
    h.dirs.get_or_create(part(0), NEW, NOW)
    home = h.dirs.dir_of(part(0))
    assert home is not None
    assert home.name == "disk-1"
    h.failures.report("disk-1", OSError(errno.EIO, "gone"))
    assert h.dirs.all_failed


@pytest.mark.parametrize("call", range(1, 16))
def test_a_log_for_which_there_was_no_room_leaves_nothing(call: int) -> None:
    """It is made on the next disk, and what was begun here does not pass for a second one."""
    h = Host(2)
    h.disks[0].faults.fail_call(h.disks[0].faults.calls + call, errno.ENOSPC)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a")
    h.disks[0].faults.rows.clear()
    assert len(h.dirs.online) == 2
    h.restart()
    log = h.dirs.get(part(0))
    assert log is not None
    assert log.log_end_offset == 1


class OneName(SimulatedDisk):
    """A file system whose files have one name each."""

    def link(self, path: str, second: str) -> bool:
        """It cannot."""
        return False


@pytest.mark.parametrize("kind", [SimulatedDisk, OneName])
def test_logs_that_were_made_together_outlast_a_crash(kind: type[SimulatedDisk]) -> None:
    """With their topics' ids: without one a log would pass for that of a later topic."""
    h = Host(1)
    h.disks[0] = kind("disk-0")
    h.restart()
    wanted = [NewLog(part(number), str(part(number)), NEW) for number in range(20)]
    h.dirs.dirs[0].create_all(wanted, NOW)
    h.come_back("crash")
    assert {log.partition: log.topic_id for log in h.dirs} == {
        it.partition: TOPIC_ID for it in wanted
    }
    assert not h.opened[0].repairs


def test_a_log_that_learns_its_topic_anew_tells_no_other() -> None:
    """Those that were made together share the file that names the topic; it is never changed."""
    h = Host(1)
    log_dir = h.dirs.dirs[0]
    logs = log_dir.create_all([NewLog(part(it), str(part(it)), NEW) for it in range(2)], NOW)
    log_dir.logs |= {log.partition: log for log in logs}
    log_dir.adopt(logs[1], TopicId(bytes(16 * [7])))
    h.come_back("crash")
    assert {log.partition: log.topic_id for log in h.dirs} == {
        part(0): TOPIC_ID,
        part(1): bytes(16 * [7]),
    }


def test_a_log_may_begin_with_a_leadership() -> None:
    """Its history has that epoch; no file is written for it before there is a record."""
    h = Host(1)
    how = NEW._replace(leader_epoch=LeaderEpoch(3))
    log = h.dirs.get_or_create(part(0), how, NOW)
    assert log.epochs.entries == ((3, 0),)
    assert not h.disks[0].exists("orders-0/leader-epoch-checkpoint")
    log.begin_epoch(LeaderEpoch(3))
    assert log.take_job() is None


def test_a_replaced_disk_is_filled_again() -> None:
    """All directories serve, so a log that is missing is missing everywhere."""
    h = Host(2)
    h.dirs.get_or_create(part(0), NEW, NOW)
    h.disks[0] = SimulatedDisk("disk-0")
    h.restart()
    assert h.dirs.get(part(0)) is None
    assert h.dirs.get_or_create(part(0), KNOWN, NOW).log_end_offset == 0


@pytest.mark.parametrize("call", range(1, 40))
def test_a_directory_that_cannot_be_opened_is_offline_from_the_start(call: int) -> None:
    """Whichever call fails, nothing but this directory is lost; and nothing in it is."""
    h = Host(2)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a")
    fill(h.dirs.get_or_create(part(1), NEW, NOW), "b")
    h.disks = [disk.after_exit() for disk in h.disks]
    h.disks[0].faults.fail_call(call, errno.EIO)
    h.start()
    failed = [went.log_dir for went in h.dirs.handle_failures()]
    assert failed in (["disk-0"], [])
    assert (h.dirs.get(part(0)) is None) is bool(failed)
    assert h.dirs.get(part(1)) is not None
    h.disks[0].faults.rows.clear()
    h.restart()
    log = h.dirs.get(part(0))
    assert log is not None
    assert log.log_end_offset == 1


def test_directories_of_somebody_else_are_refused() -> None:
    """Two brokers on one directory would destroy it, and so would two clusters."""
    h = Host(2)
    with pytest.raises(DirLocked):
        LogDir(h.disks[0], Failures()).take()
    for broker, cluster in ((2, "cluster"), (1, "another")):
        with pytest.raises(WrongIdentity, match="disk-0 belongs to"):
            h.dirs.identify(BrokerId(broker), cluster)


def test_an_unknown_directory() -> None:
    """A move to nowhere is the client's mistake; to a failed one the disk's."""
    h = Host(2)
    with pytest.raises(LogDirNotFound):
        h.dirs.named("disk-9")
    h.failures.report("disk-1", OSError(errno.EIO, "gone"))
    with pytest.raises(LogDirOffline):
        h.dirs.named("disk-1")


def test_a_deleted_log_goes_in_two_steps() -> None:
    """It is renamed at once, so a new one of the name may come; its files go later."""
    h = Host(1)
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b", "c")
    (log_dir,) = h.dirs.dirs
    log_dir.checkpoint().run()
    h.dirs.delete(part(0))
    assert h.dirs.get(part(0)) is None
    fresh = h.dirs.get_or_create(part(0), NEW, NOW)
    assert fresh.log_end_offset == 0
    assert b"orders" not in h.disks[0].open("replication-offset-checkpoint").read(99, 0)
    h.restart()
    (log_dir,) = h.dirs.dirs
    assert log_dir.to_delete == [f"orders-0.{1:032x}-delete"]
    assert log_dir.delete_next()
    assert not log_dir.delete_next()
    assert [name for name in h.disks[0].names("") if "orders" in name] == ["orders-0"]


def test_who_comes_too_late_for_a_log_says_nothing_of_its_disk() -> None:
    """A job that was meant for it finds no files; only the job fails, and the directory serves."""
    h = Host(1)
    late = h.dirs.get_or_create(part(0), NEW, NOW)
    h.dirs.delete(part(0))
    (log_dir,) = h.dirs.dirs
    assert log_dir.delete_next()
    with pytest.raises(StorageError):
        deletable_up_to(late, NOW)
    assert not log_dir.is_offline


def test_a_stray_log_is_set_aside() -> None:
    """Kept, but not served; the next start names it."""
    h = Host(1)
    stray = h.dirs.get_or_create(part(0), NEW, NOW)
    for home, _ in h.dirs.forget(part(0)):
        h.dirs.set_aside(home, stray)
    assert h.dirs.get(part(0)) is None
    h.restart()
    assert h.opened[0].strays == [f"orders-0.{1:032x}-stray"]


def test_two_logs_of_one_partition_are_for_a_person() -> None:
    """A disk came back from elsewhere: no rule can tell which of them is true."""
    h = Host(2)
    h.dirs.get_or_create(part(0), NEW, NOW)
    h.disks[1].make_directory("orders-0")
    with pytest.raises(StorageError, match="more than one log: in disk-0, disk-1"):
        h.restart()


@pytest.mark.parametrize("after", ["exit", "crash"])
@pytest.mark.parametrize("call", ["make_directory", "create", "write", "rename", "sync_directory"])
@pytest.mark.parametrize("stays", [False, True])
def test_a_log_that_a_disk_could_not_make_is_no_second_one(
    call: str, after: str, *, stays: bool
) -> None:
    """What is left of it goes at the next start; the log is the one that was made elsewhere."""
    for skip in range(4):
        h = Host(2)
        h.disks[0].faults.rows.append(Fault(calls=frozenset({call}), skip=skip, times=1))
        if stays:
            h.disks[0].faults.rows.append(Fault(calls=frozenset({"rename"}), path="orders-0"))
        log = h.dirs.get_or_create(part(0), NEW, NOW)
        h.disks[0].faults.rows.clear()
        holders = [disk for disk in h.disks if "orders-0" in disk.names("")]
        assert len(holders) == 1 or stays
        fill(log, "a", "b")
        FlushJob(log, NOW).run()
        h.come_back(after)
        found = h.dirs.get(part(0))
        assert found is not None
        assert found.log_end_offset == 2
        for log_dir in h.dirs.dirs:
            while log_dir.delete_next():
                pass
        names = [name for disk in h.disks for name in disk.names("") if name.startswith("orders")]
        assert names == ["orders-0"]


def test_many_cuts_cost_one_checkpoint() -> None:
    """Ten thousand followers that truncate at once must not write ten thousand times."""
    h = Host(1)
    logs = [h.dirs.get_or_create(part(number), NEW, NOW) for number in range(5)]
    for log in logs:
        fill(log, "a", "b")
        log.recovery_point = Offset(2)
    (log_dir,) = h.dirs.dirs
    log_dir.checkpoint().run()
    log_dir.truncation({log.partition: Offset(1) for log in logs[:3]}, NOW).run()
    assert [log.log_end_offset for log in logs] == [1, 1, 1, 2, 2]
    data = h.disks[0].open("recovery-point-offset-checkpoint").read(999, 0)
    assert [line.split()[-1] for line in data.splitlines()[2:]] == [b"1", b"1", b"1", b"2", b"2"]


@pytest.mark.parametrize("after", ["exit", "crash"])
def test_what_was_committed_behind_a_cut_in_a_gap_survives_a_kill(after: str) -> None:
    """Compaction at the leader had left the gap, and no flush had come yet.

    The start would take it for records that the crash took, and end the log before it: offsets
    that were given out once would have been given again.
    """
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a")
    batch = build_batch([Record(0, NOW, None, b"b")])
    place(batch, 0, 8, 0)
    log.append_replica(memoryview(batch), NOW)
    job = log.take_job()
    assert job is not None
    job.run()
    job.publish()
    h.disks[0].sync_directory("")
    h.dirs.dirs[0].truncation({part(0): Offset(5)}, NOW).run()
    if after == "exit":
        fill(log, "c")
    h.come_back(after)
    found = h.dirs.get(part(0))
    assert found is not None
    assert found.log_end_offset == (6 if after == "exit" else 5)
    assert found.log_start_offset == 0


@pytest.mark.parametrize("step", ["gathered", "written"])
@pytest.mark.parametrize("harm", ["cut", "made anew"])
def test_a_note_that_was_overtaken_says_nothing(step: str, harm: str) -> None:
    """What was durable when it was gathered is so no more when it is to get its place."""
    h = Host(1)
    (log_dir,) = h.dirs.dirs
    fill(h.dirs.get_or_create(part(0), NEW, NOW), "a", "b", "c")
    flush = FlushJob(log_dir.logs[part(0)], NOW)
    flush.run()
    flush.publish()
    (note,) = log_dir.notes(RECOVERY_POINTS)
    if step == "written":
        note.write()
    if harm == "cut":
        log_dir.truncation({part(0): Offset(1)}, NOW).run()
    else:
        h.dirs.delete(part(0))
        h.dirs.get_or_create(part(0), NEW, NOW)
    note.write()
    note.take_place()
    note.settle()
    assert not log_dir.disk.exists(RECOVERY_POINTS)
    (later,) = log_dir.notes(RECOVERY_POINTS)
    later.write()
    later.take_place()
    assert log_dir.saved(RECOVERY_POINTS) == log_dir.recovery_points()


@pytest.mark.parametrize("harm", ["missing", "junk", "empty"])
def test_a_log_without_its_topics_id_keeps_its_records(harm: str) -> None:
    """Kafka wrote no `partition.metadata` before 2.8; a harmed one is that log's affair alone."""
    h = Host(1)
    for number in range(2):
        fill(h.dirs.get_or_create(part(number), NEW, NOW), "a", "b")
    path = "orders-0/partition.metadata"
    h.disks[0].unlink(path)
    if harm != "missing":
        h.disks[0].open(path, create=True).write([b"junk" if harm == "junk" else b""], 0)
    h.restart(clean=True)
    logs = [h.dirs.get(part(number)) for number in range(2)]
    assert [log.log_end_offset for log in logs if log] == [2, 2]
    assert [log.topic_id for log in logs if log] == [NO_TOPIC_ID, TOPIC_ID]
    assert bool(h.opened[0].repairs) == (harm != "missing")
    assert logs[0] is not None
    h.dirs.dirs[0].adopt(logs[0], TOPIC_ID)
    h.restart()
    adopted = h.dirs.get(part(0))
    assert adopted is not None
    assert (adopted.topic_id, adopted.log_end_offset) == (TOPIC_ID, 2)
    assert not h.opened[0].repairs


def test_a_process_without_descriptors_has_no_sick_disk() -> None:
    """What could not be opened is refused; the dir goes on, and so does the write after it."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a")
    log.active_segment.rest()
    for number in (errno.EMFILE, errno.ENFILE):
        h.disks[0].faults.rows.append(Fault(calls=frozenset({"open"}), error=number))
        with pytest.raises(OutOfDescriptors):
            fill(log, "b")
        with pytest.raises(OutOfDescriptors):
            FlushJob(log, NOW).run()
        h.disks[0].faults.rows.clear()
    assert not h.dirs.some_failed
    fill(log, "b")
    FlushJob(log, NOW).run()
    assert log.log_end_offset == 2


def test_who_listens_hears_of_a_failure_at_once() -> None:
    """Once for each dir: a failure is an event, nobody has to ask for it."""
    h = Host(2)
    heard: list[str] = []
    h.dirs.failures.on_failed += [lambda: heard.extend(name for name, _ in h.dirs.failures.take())]
    for name in ("disk-1", "disk-1", "disk-0"):
        h.dirs.failures.report(name, OSError("gone"))
    assert heard == ["disk-1", "disk-0"]


def test_what_the_disk_writes_of_all_logs_is_changed_by_nobody() -> None:
    """The loop forgets logs while the disk's thread encodes what it was given."""
    h = Host(1)
    (log_dir,) = h.dirs.dirs
    for number in range(3):
        h.dirs.get_or_create(part(number), NEW, NOW)
        log_dir.note_cleaned(part(number), Offset(0))
    given, job = log_dir.cleaner_offsets, log_dir.checkpoint()
    h.dirs.forget(part(1))
    assert sorted(given) == sorted(job.recovery_points) == [part(0), part(1), part(2)]


@pytest.mark.parametrize("noted_late", [False, True])
def test_a_log_that_was_cut_below_its_start_keeps_what_comes_then(*, noted_late: bool) -> None:
    """It starts where it was cut, durably: else a crash would begin it anew where it had started.

    A checkpoint that is written of other logs meanwhile does not know that yet.
    """
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a", "b", "c", "d", "e")
    log.on_high_watermark(Offset(5))
    (log_dir,) = h.dirs.dirs
    DeleteJob(log, Offset(4)).run()
    log_dir.checkpoint().run()
    cut = log_dir.truncation({part(0): Offset(2)}, NOW)
    lend([log], cut)
    late = log_dir.log_starts()
    cut.run()
    give_back([log], cut)
    if noted_late:
        log_dir.note_log_starts(late)
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    fill(log, "x")
    flush = FlushJob(log, NOW)
    flush.run()
    h.come_back("exit")
    (log,) = h.dirs.dirs[0].logs.values()
    assert (log.log_start_offset, log.log_end_offset) == (2, 3)
