"""A log of which each append is synced is whole after a loss of power, once its dir says so."""

from dataclasses import replace

import pytest

from odradek.model.positions import BrokerEpoch, LeaderEpoch
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.storage.dirs.dir_synced_logs import (
    SYNCED_LOGS,
    decode_synced_logs,
    encode_synced_logs,
)
from odradek.storage.errors import CorruptFile, StorageError
from odradek.storage.logs.flushing import sync_group
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.writing import WriteJob
from tests.unit.storage.test_log_dirs import CONFIG, NEW, NOW, Host, fill, part
from tests.unit.storage.test_unclean_logs import flush

SYNCED = replace(CONFIG, flush_before_ack=True)


def made(h: Host) -> PartitionLog:
    """A log with a record that is in the page cache alone."""
    log = h.dirs.get_or_create(part(0), NEW, NOW)
    fill(log, "a")
    return log


def decided(log: PartitionLog) -> WriteJob:
    """A batch that is not written yet."""
    batch = build_batch([Record(0, NOW, None, b"b")])
    log.append(batch, read_header(batch), LeaderEpoch(0), NOW)
    job = log.take_job()
    assert job is not None
    return job


def name(h: Host, *, durably: bool = True) -> None:
    """What the broker does every second; not `durably`: the disk has no word yet."""
    (log_dir,) = h.dirs.dirs
    naming = log_dir.naming(log_dir.misnamed())
    if durably:
        naming.run()
        naming.publish()


def is_whole_after_a_power_cut(h: Host) -> bool:
    """Whether its next life believes the log."""
    h.come_back("crash")
    log = h.dirs.get(part(0))
    assert log is not None
    return log.unclean is None


def test_a_log_is_whole_once_all_of_it_is_durable_and_its_dir_says_so() -> None:
    """Neither the setting nor a sync of it all says so to the next life."""
    h = Host(1)
    made(h).config = SYNCED
    name(h)
    assert not is_whole_after_a_power_cut(h)
    for is_named in (False, True):
        h = Host(1)
        log = made(h)
        log.config = SYNCED
        flush(log)
        if is_named:
            name(h)
        assert is_whole_after_a_power_cut(h) is is_named


def test_what_is_on_its_way_without_a_sync_is_waited_for() -> None:
    """It was decided before the setting, and nobody syncs it."""
    h = Host(1)
    log = made(h)
    job = decided(log)
    log.config = SYNCED
    flush(log)
    assert not log.is_durable
    job.run()
    job.publish()
    flush(log)
    assert log.is_durable


def test_who_was_synced_is_synced_until_his_name_is_gone_durably() -> None:
    """The setting is taken back before the file: an append between them would be believed."""
    h = Host(1)
    log = made(h)
    log.config = SYNCED
    flush(log)
    name(h)
    log.config = CONFIG
    job = decided(log)
    assert job.wants_sync
    job.fail()
    name(h)
    job = decided(log)
    assert not job.wants_sync
    job.fail()
    assert not h.disks[0].exists(SYNCED_LOGS)


def test_a_setting_that_is_taken_back_while_the_name_is_written_changes_nothing_yet() -> None:
    """The file may name the log by now."""
    h = Host(1)
    log = made(h)
    log.config = SYNCED
    flush(log)
    name(h, durably=False)
    log.config = CONFIG
    job = decided(log)
    assert job.wants_sync
    job.fail()


def test_a_name_whose_removal_failed_is_removed_again() -> None:
    """It may be in the file, whatever is remembered of it."""
    h = Host(1)
    log = made(h)
    log.config = SYNCED
    flush(log)
    h.disks[0].faults.capacity = h.disks[0].used
    with pytest.raises(StorageError):
        name(h)
    assert log.is_synced
    h.disks[0].faults.capacity = None
    log.config = CONFIG
    name(h)
    assert not h.dirs.dirs[0].misnamed()
    assert not is_whole_after_a_power_cut(h)


def test_a_log_made_again_is_not_the_one_that_was_named() -> None:
    """Nor does what was decided for the first name the second."""
    h = Host(1)
    (log_dir,) = h.dirs.dirs
    log = made(h)
    log.config = SYNCED
    flush(log)
    name(h)
    naming = log_dir.naming([log])
    h.dirs.delete(part(0))
    made(h)
    with pytest.raises(StorageError):
        naming.run()
    assert not is_whole_after_a_power_cut(h)


def test_a_segment_that_was_begun_without_a_sync_has_its_name_with_the_first_record() -> None:
    """It was empty as everything was made durable, so nothing was left to do."""
    h = Host(1)
    log = made(h)
    flush(log)
    log.roll(NOW)
    job = log.take_job()
    assert job is not None
    job.run()
    job.publish()
    log.config = SYNCED
    name(h)
    job = decided(log)
    job.run()
    sync_group([job])
    job.publish()
    h.come_back("crash")
    found = h.dirs.get(part(0))
    assert found is not None
    assert (found.log_end_offset, found.unclean) == (2, None)


def test_no_name_outlives_a_clean_stop() -> None:
    """The next process may be a Kafka, which appends and knows nothing of the file."""
    h = Host(1)
    log = made(h)
    log.config = SYNCED
    flush(log)
    name(h)
    h.dirs.dirs[0].closing(NOW, BrokerEpoch(1)).run()
    assert not h.disks[0].exists(SYNCED_LOGS)


@pytest.mark.parametrize(
    "data", [b"", b"0\n2\norders 0\n", b"0\n1\norders -1\n", b"0\n1\n../x 0\n", b"1\n0\n"]
)
def test_a_file_that_cannot_be_true_names_nothing(data: bytes) -> None:
    """Then logs may lack records: that is always safe."""
    with pytest.raises(CorruptFile):
        decode_synced_logs(data, SYNCED_LOGS)
    names = frozenset({part(0), part(7)})
    assert decode_synced_logs(encode_synced_logs(names), SYNCED_LOGS) == names
