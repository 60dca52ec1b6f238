"""What the checkpoints say of a log that is cut: no compaction or late note takes it back."""

import pytest

from odradek.model.positions import Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import headers, place
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.chance import SeededRandom
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.files.names import LOG_START_OFFSETS
from odradek.storage.lending import give_back, lend
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig
from tests.unit.storage.test_log_dirs import NOW, TOPIC_ID, Host, part

COMPACTED = InDir(
    LogConfig(
        segment_bytes=Bytes(500), index_interval_bytes=Bytes(100), delete=False, compact=True
    ),
    TOPIC_ID,
    is_new=True,
)


def write(log: PartitionLog) -> None:
    """What was appended."""
    job = log.take_job()
    assert job is not None
    job.run()
    job.publish()


def replica(log: PartitionLog, offset: int, value: str, epoch: int = 0) -> None:
    """What a follower fetches: there may be gaps, where its leader has compacted."""
    batch = build_batch([Record(0, Timestamp(NOW), b"k%d" % offset, value.encode())])
    place(batch, 0, offset, epoch)
    log.append_replica(memoryview(batch), NOW)
    write(log)


def flush(log: PartitionLog) -> None:
    """All of it is committed, durable, and in closed segments."""
    log.on_high_watermark(log.log_end_offset)
    log.roll(NOW)
    write(log)
    job = FlushJob(log, NOW)
    job.run()
    job.publish()


def compacting(log_dir: LogDir, log: PartitionLog) -> Compaction:
    """From its beginning."""
    return Compaction(log_dir, log, cleanable(log, Offset(0), NOW), NOW)


def offsets(log: PartitionLog) -> list[int]:
    """Of all batches that a reader gets."""
    part = log.read(log.log_start_offset, log.log_end_offset, 100_000)
    found = []
    while part.chunk is not None:
        data = part.chunk.file.read(part.chunk.length, part.chunk.position)
        found += [header.base_offset for _, header in headers(data)]
        part = log.read(Offset(found[-1] + 1), log.log_end_offset, 100_000)
    return found


def test_a_compaction_leaves_the_recovery_point_of_a_log_that_is_cut_meanwhile() -> None:
    """A cut into a gap has raised it: else a crash would end the log before that gap."""
    h = Host(1)
    cut, state = (h.dirs.get_or_create(part(number), COMPACTED, NOW) for number in (0, 1))
    (log_dir,) = h.dirs.online
    for at in (0, 1, 2, 3, 20, 21):
        replica(cut, at, "a")
    cut.on_high_watermark(Offset(10))
    for at in range(8):
        replica(state, at, "x" * 100)
    flush(state)
    job = log_dir.truncation({cut.partition: Offset(10)}, NOW)
    lend([cut], job)
    work = compacting(log_dir, state)
    job.run()
    give_back([cut], job)
    for _ in work.steps():
        pass
    work.publish()
    for at in (10, 11):
        replica(cut, at, "acknowledged", epoch=1)
    h.restart()
    found = h.dirs.get(part(0))
    assert found is not None
    assert (found.log_end_offset, found.unclean) == (12, None)


def test_what_was_compacted_is_not_where_a_log_was_cut() -> None:
    """What is written there anew was not: it is dirty, also after a restart."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), COMPACTED, NOW)
    (log_dir,) = h.dirs.online
    log_dir.note_cleaned(part(0), Offset(3))
    log_dir.note_cleaned(part(1), Offset(9))
    for at in range(6):
        replica(log, at, "a")
    for offset, left in ((4, 3), (2, 2)):
        log_dir.truncation({part(0): Offset(offset)}, NOW).run()
        assert log_dir.cleaner_offsets == {part(0): left, part(1): 9}
    h.restart()
    assert h.dirs.online[0].cleaner_offsets == {part(0): 2, part(1): 9}


@pytest.mark.parametrize("seed", range(8))
def test_a_hole_of_a_power_cut_is_none_of_a_compaction_before_the_log_was_cut(seed: int) -> None:
    """Another leads that ends earlier; what comes from there has no gaps, and none is believed."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), COMPACTED, NOW)
    (log_dir,) = h.dirs.online
    for at in range(60):
        replica(log, at, "old")
    flush(log)
    work = compacting(log_dir, log)
    for _ in work.steps():
        pass
    work.publish()
    assert work.cleaned_upto is not None
    log_dir.note_cleaned(log.partition, work.cleaned_upto)
    log_dir.truncation({log.partition: Offset(10)}, NOW).run()
    log_dir.is_cut({log.partition: Offset(10)})
    for at in range(10, 50):
        replica(log, at, "new", epoch=1)
    before = offsets(log)
    chance = SeededRandom(seed, "crash")
    h.disks = [disk.after_crash(chance) for disk in h.disks]
    h.start()
    found = h.dirs.get(part(0))
    assert found is not None
    after = offsets(found)
    assert after == before[: len(after)]


def test_a_start_that_is_noted_again_makes_older_notes_void() -> None:
    """The file says it already, of one who did not go on; and a note from before is on its way."""
    h = Host(1)
    h.dirs.get_or_create(part(0), COMPACTED, NOW)
    (log_dir,) = h.dirs.dirs
    promised = {part(0): Offset(2)}
    log_dir.note_log_starts(promised)
    (note,) = log_dir.notes(LOG_START_OFFSETS)
    note.write()
    log_dir.note_log_starts(promised)
    note.take_place()
    assert log_dir.saved(LOG_START_OFFSETS) == promised
