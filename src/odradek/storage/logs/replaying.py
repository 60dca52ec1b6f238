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
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import NO_COORDINATOR, ProducerEntry
from odradek.storage.logs.reading import CorruptAt
from odradek.storage.segments.leaping import walk_leaping
from odradek.storage.segments.segment import Segment


def replay_producers(
    log: PartitionLog, start: Offset, now: Timestamp, checked_from: Offset | None = None
) -> None:
    """Counts the batches of producers from an offset to the end, and notes who aborted what.

    Only batches that are as they were written: a bit that turned in a header would fence off a
    living producer for ever. The first that is passed over is noted: until it was fetched again
    and counted, no snapshot says what is known of the producers. Those from `checked_from` on were
    looked at before.
    """
    log.passed_over = None
    for segment in log.segments[log.segments.index(log.segment_of(start)) :]:
        segment.aborted.truncate(start)
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
                segment.aborted.entries.append(aborted)
        save_indexes(segment)


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
