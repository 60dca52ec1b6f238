"""Cutting a log from its end: what a follower wrote, and its leader never committed.

These calls run on the disk's thread and have the log for themselves: nothing is on its way to it,
and nothing reads it. The later segments go first, so a crash in between leaves a log that was cut
less far, and never one with a hole. The caller lowers the recovery point in the log dir's
checkpoint before: what is written behind the cut must be checked after a crash.
"""

from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.storage.errors import CorruptFile
from odradek.storage.files.checkpoints import encode_epochs
from odradek.storage.files.dir_files import delete_if_there, read_small, write_small
from odradek.storage.files.names import (
    EPOCH_CHECKPOINT,
    INDEX,
    LOG,
    SNAPSHOT,
    TIME_INDEX,
    TXN_INDEX,
    parse_segment_file,
    segment_stem,
)
from odradek.storage.logs import producer_snapshot
from odradek.storage.logs.earlier_batches import find_earlier_batches
from odradek.storage.logs.epochs import EpochHistory
from odradek.storage.logs.flushing import FlushJob, sync_if_there
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import ProducerState
from odradek.storage.logs.replaying import (
    hides_an_end,
    keep_aborted,
    replay_producers,
    save_indexes,
)
from odradek.storage.segments.scan import walk_headers
from odradek.storage.segments.segment import Segment
from odradek.storage.segments.transaction_index import AbortedTransaction


def truncate_to(log: PartitionLog, offset: Offset, now: Timestamp) -> None:
    """Drops every batch that reaches to this offset or beyond; the log ends there.

    Batches are whole: if the offset lies within one, the log ends where that began. Where
    compaction left nothing right below, it ends there all the same: what was committed up to there
    stays so, and no offset is given twice.
    """
    assert log.is_idle, log.partition
    assert not log.being_cleaned, log.partition
    if offset < log.segments[0].base_offset:
        truncate_fully(log, offset, now)
        return
    log.cuts += 1
    with log.failures.touching(log.folder.disk.name):
        if offset < log.log_end_offset:
            _cut_segments(log, offset, now)
            log.recovery_point = min(log.recovery_point, log.log_end_offset)
            log.high_watermark = min(log.high_watermark, log.log_end_offset)
            log.log_start_offset = min(log.log_start_offset, log.log_end_offset)
            _reload_producers(log, log.log_end_offset, now)
        history = log.epochs.copy()
        if history.truncate_from_end(min(offset, log.log_end_offset)):
            log.epochs = history  # the file follows with the recovery point
        log.reset()


def end_of_cut(log: PartitionLog, offset: Offset) -> Offset:
    """Where it ends once it is cut to this offset: a batch that reaches beyond it goes whole."""
    if offset >= log.log_end_offset or offset < log.segments[0].base_offset:
        return offset
    with log.failures.touching(log.folder.disk.name):
        found = log.segment_of(offset).find(offset)
    return offset if found is None else min(offset, Offset(found[1].base_offset))


def settle_gap(log: PartitionLog, offset: Offset, now: Timestamp) -> bool:
    """Makes a log durable up to where it is to be cut, if compaction left nothing right below.

    Whether it did. A start takes a gap above the recovery point for records that a crash took, and
    ends the log before it: so the checkpoint of the dir has to say so before the cut.
    """
    if offset >= log.log_end_offset or not _lands_in_gap(log, offset):
        return False
    flush = FlushJob(log, now)
    flush.run()
    for save in flush.saves:
        save.note()
    log.recovery_point = offset  # not its end, which a note of the dir might say behind the cut
    return True


def _lands_in_gap(log: PartitionLog, offset: Offset) -> bool:
    segment = log.segment_of(offset)
    with log.failures.touching(log.folder.disk.name):
        found = segment.find(offset)
        position, end = segment.size, offset
        if found is not None:
            position, end = found[0], min(offset, Offset(found[1].base_offset))
        reached = segment.base_offset
        entry = segment.index.floor(max(end - 1 - reached, 0))
        start = entry[1] if entry is not None and entry[1] < position else 0
        for _, header in walk_headers(segment.file, segment.path(LOG), start, position):
            reached = Offset(header.next_offset)
    return reached < end


def truncate_fully(log: PartitionLog, start_offset: Offset, now: Timestamp) -> None:
    """Drops everything; the log begins anew at this offset."""
    assert log.is_idle, log.partition
    assert not log.being_cleaned, log.partition
    log.cuts += 1
    disk = log.folder.disk
    with log.failures.touching(disk.name):
        for segment in reversed(log.segments):
            segment.delete()
        _delete_snapshots(log, Offset(-1))
        _write_epochs(log, EpochHistory())
        log.segments = []
        _begin_at(log, start_offset, now)
        disk.sync_directory(log.folder.name)
    log.producers, log.passed_over = ProducerState(), None
    log.log_start_offset = log.log_end_offset = start_offset
    log.recovery_point = log.high_watermark = start_offset
    log.reset()


def _cut_segments(log: PartitionLog, offset: Offset, now: Timestamp) -> None:
    while log.active_segment.base_offset > offset:
        log.active_segment.delete()
        log.segments.pop()
    active, end = log.active_segment, offset
    found = active.find(offset)
    if found is not None:
        position, header = found
        end = min(offset, Offset(header.base_offset))
        active.truncate(position, Offset(header.base_offset))
        active.file.sync()  # or a crash behind the next roll brings the cut batches back
    if active.next_offset() < end:
        _leave(log, active)
        _begin_at(log, end, now)
    log.folder.disk.sync_directory(log.folder.name)
    log.log_end_offset = end


def _leave(log: PartitionLog, segment: Segment) -> None:
    """The log goes on behind a gap: in the file's name is where, and this one rests.

    A start after a crash does not look at it, so its indexes must not come back uncut. An empty one
    goes, unless the log begins there: nothing was deleted, and so its start stays.
    """
    if not segment.size and len(log.segments) > 1:
        segment.delete()
        log.segments.pop()
        return
    segment.complete_times()
    save_indexes(segment)
    for suffix in (INDEX, TIME_INDEX, TXN_INDEX):
        sync_if_there(log.folder.disk, segment.path(suffix))


def _begin_at(log: PartitionLog, offset: Offset, now: Timestamp) -> None:
    """A segment without records, behind all others."""
    segment = Segment(log.folder, offset)
    segment.index_interval = log.config.index_interval_bytes
    segment.created = now
    segment.create()
    log.segments.append(segment)


def count_producers_anew(log: PartitionLog, now: Timestamp) -> None:
    """A batch that was passed over can be read by now; what snapshots behind it lack is counted.

    Who aborted what is written anew, too.
    """
    assert log.is_idle, log.partition
    assert not log.being_cleaned, log.partition
    if log.passed_over is None:
        return
    upto = log.passed_over.offset
    with log.failures.touching(log.folder.disk.name):
        start, aborted = _reload_producers(log, upto, now)
        keep_aborted(log, aborted, start, upto)
    log.reset()


def _reload_producers(
    log: PartitionLog, upto: Offset, now: Timestamp
) -> tuple[Offset, list[AbortedTransaction]]:
    """As they were at the newest snapshot up to there, and on from there to the log's end.

    Where that begins, and who aborted what behind it.
    """
    log.producers, log.passed_over = ProducerState(), None
    start = log.segments[0].base_offset
    for offset in reversed(_delete_snapshots(log, upto)):
        path = log.folder.path(segment_stem(offset) + SNAPSHOT)
        try:
            entries = producer_snapshot.decode(read_small(log.folder.disk, path), path)
        except CorruptFile:
            delete_if_there(log.folder.disk, path)
            continue
        if hides_an_end(log, entries, offset):
            continue
        log.producers = ProducerState.of(entries)
        find_earlier_batches(log, offset, now)
        start = offset
        break
    aborted = replay_producers(log, start, now) if start < log.log_end_offset else []
    log.producers.on_high_watermark(log.high_watermark)
    return start, aborted


def _delete_snapshots(log: PartitionLog, upto: Offset) -> list[Offset]:
    """Removes the snapshots beyond an offset; the offsets of those that are left, rising."""
    kept = []
    for name in log.folder.disk.names(log.folder.name):
        file = parse_segment_file(name)
        if file is None or file.suffix != SNAPSHOT:
            continue
        if file.base_offset > upto:
            delete_if_there(log.folder.disk, log.folder.path(name))
        else:
            kept.append(file.base_offset)
    return kept


def _write_epochs(log: PartitionLog, history: EpochHistory) -> None:
    path = log.folder.path(EPOCH_CHECKPOINT)
    write_small(log.folder.disk, path, encode_epochs(history.entries))
    log.epochs = history
    log.saved_epochs = history.entries
