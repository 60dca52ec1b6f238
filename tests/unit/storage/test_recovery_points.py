"""Up to where a log is durable: never noted above where it ends, so that a kill is seen through."""

from odradek.model.positions import Offset
from odradek.records.batch import place
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.storage.files.checkpoints import EpochStart
from odradek.storage.logs.closing import RestJob
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from tests.unit.storage.test_log_dirs import NEW, NOW, Host, part


def durable(h: Host, log: PartitionLog) -> None:
    """All of it, and the checkpoints say so."""
    job = FlushJob(log, NOW)
    job.run()
    job.publish()
    h.dirs.dirs[0].checkpoint().run()


def follow(log: PartitionLog, epoch: int, *values: str) -> None:
    """One batch of all these, as its leader of this epoch has sent it."""
    batch = build_batch([Record(n, NOW, None, it.encode()) for n, it in enumerate(values)])
    place(batch, 0, log.log_end_offset, epoch)
    log.append_replica(memoryview(batch), NOW)
    job = log.take_job()
    assert job is not None
    job.run()
    job.publish()


def epochs_after_a_kill(h: Host) -> tuple[EpochStart, ...]:
    """What the next life knows of a log of epoch 0 that goes on in epoch 1."""
    log = h.dirs.get(part(0))
    assert log is not None
    for value in "uvwxyz":
        follow(log, 1, value)
    resting = RestJob(log)
    resting.run()
    resting.publish()
    h.come_back("exit")
    found = h.dirs.get(part(0))
    assert found is not None
    assert found.log_end_offset == log.log_end_offset
    return tuple(found.epochs.entries)


def test_a_cut_within_a_batch_leaves_no_recovery_point_behind_it() -> None:
    """The batch goes whole; what comes in its place is not durable, nor noted which epoch it has.

    The next life would have taken that epoch for one that begins later, and told followers so.
    """
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    follow(log, 0, *"abcdef")
    durable(h, log)
    h.dirs.dirs[0].truncation({part(0): Offset(5)}, NOW).run()
    assert log.log_end_offset == 0
    assert epochs_after_a_kill(h) == ((1, 0),)


def test_a_log_that_ends_below_its_recovery_point_has_it_lowered_at_a_start() -> None:
    """Likewise; that it was short is known by the file for that."""
    h = Host(1)
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    for value in "abc":
        follow(log, 0, value)
    durable(h, log)
    found = log.active_segment.find(Offset(1))
    assert found is not None
    h.disks[0].open(log.active_segment.path(".log")).truncate(found[0])
    h.restart()
    assert epochs_after_a_kill(h) == ((0, 0), (1, 1))
