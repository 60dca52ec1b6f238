"""Following the producers through batches that lie in a log already.

Their state is built from batches at a start, behind the newest snapshot, and after a truncation.
"""

from collections.abc import Mapping

from odradek.model.errors import CorruptBatch
from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.records.batch import check_crc
from odradek.records.control import end_marker_in
from odradek.storage.errors import CorruptFile
from odradek.storage.files.dir_files import delete_if_there, put_small, read_small
from odradek.storage.files.names import TXN_INDEX
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import NO_COORDINATOR, ProducerEntry
from odradek.storage.logs.reading import CorruptAt
from odradek.storage.segments import transaction_index as txn_index
from odradek.storage.segments.leaping import walk_leaping
from odradek.storage.segments.segment import Segment
from odradek.storage.segments.transaction_index import AbortedTransaction


def replay_producers(
    log: PartitionLog, start: Offset, now: Timestamp, checked_from: Offset | None = None
) -> list[AbortedTransaction]:
    """Counts the batches of producers from an offset to the end; who aborted what there.

    Only batches that are as they were written: a bit that turned in a header would fence off a
    living producer for ever. The first that is passed over is noted: until it was fetched again
    and counted, no snapshot says what is known of the producers. Those from `checked_from` on were
    looked at before.
    """
    log.passed_over = None
    found: list[AbortedTransaction] = []
    for segment in log.segments[log.segments.index(log.segment_of(start)) :]:
        for position, header in walk_leaping(segment, start):
            is_counted = header.producer_id >= 0 or header.is_transactional or header.is_control
            if not is_counted or header.base_offset < start:
                continue
            is_checked = checked_from is not None and header.base_offset >= checked_from
            marker = None
            try:
                if header.is_control or not is_checked:
                    batch = segment.file.read(header.size, position)
                    check_crc(batch, header)
                    marker = end_marker_in(batch, header)
            except CorruptBatch:
                if log.passed_over is None:
                    at = Offset(max(header.base_offset, segment.base_offset))
                    log.passed_over = CorruptAt(segment.base_offset, position, at)
                continue
            aborted = log.producers.replay(header, marker, now)
            if aborted is not None:
                found.append(aborted)
    return found


def keep_aborted(
    log: PartitionLog, found: list[AbortedTransaction], start: Offset, upto: Offset
) -> None:
    """Has the transaction indexes say what was found from an offset on, durably.

    A start believes them below its snapshot, and replays nothing for them: so recovery takes
    nothing from such a file, and replaces it whole, if at all. What stands there of a marker below
    `upto` was durable when that was noted, and stays: of the batches rot or compaction may have
    taken what tells of it.
    """
    by_base: dict[Offset, list[AbortedTransaction]] = {}
    for entry in found:
        by_base.setdefault(log.segment_of(entry.last_offset).base_offset, []).append(entry)
    is_changed = False
    for segment in log.segments[log.segments.index(log.segment_of(start)) :]:
        data, known = _aborted_in_file(segment, start)
        entries = {it.last_offset: it for it in by_base.get(segment.base_offset, ())}
        entries |= {it.last_offset: it for it in known if it.last_offset < upto}
        rising = [entries[at] for at in sorted(entries)]
        if (after := txn_index.encode(rising)) != data:
            is_changed = True
            if after:
                put_small(log.folder.disk, segment.path(TXN_INDEX), after)
            else:
                delete_if_there(log.folder.disk, segment.path(TXN_INDEX))
        segment.adopt_aborted(rising)
    if is_changed:
        log.folder.disk.sync_directory(log.folder.name)


def _aborted_in_file(segment: Segment, start: Offset) -> tuple[bytes, list[AbortedTransaction]]:
    """The segment's transaction index, as it is and what it says; nothing where all is replayed."""
    path = segment.path(TXN_INDEX)
    try:
        data = read_small(segment.folder.disk, path)
    except FileNotFoundError:
        return b"", []
    try:
        return data, txn_index.decode(data, path)
    except CorruptFile:
        if segment.base_offset < start:
            raise
        return data, []


def hides_an_end(
    log: PartitionLog, entries: Mapping[ProducerId, ProducerEntry], upto: Offset
) -> bool:
    """Whether a transaction ended above the high watermark and below this snapshot's offset.

    The snapshot has it as ended, yet its outcome may still be cut off: readers of committed records
    must not pass its beginning, which only the batches tell.
    """
    start = max(log.high_watermark, log.log_start_offset)
    if start >= upto or all(it.coordinator_epoch == NO_COORDINATOR for it in entries.values()):
        return False
    first = log.segments.index(log.segment_of(start))
    return any(
        header.is_control and start <= header.base_offset < upto
        for segment in log.segments[first:]
        if segment.base_offset < upto
        for _, header in walk_leaping(segment, start)
    )


def save_indexes(segment: Segment) -> None:
    """Writes what the indexes have in memory only. On the disk's thread, alone with the log."""
    for save in segment.saves():
        save.write(segment.folder.disk)
        save.note()
