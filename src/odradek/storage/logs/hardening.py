"""What was found after an unclean stop is made durable, where a topic promises durability.

A batch whose sync failed was never acknowledged, but the kernel may still show it: it marks pages
clean that it could not write, and a later sync of them succeeds without doing anything. A start on
the same kernel finds that batch whole, and would answer its producer's next attempt as a duplicate.
So the tail is written once more, with the same bytes, and synced, before anybody is answered.

Only for topics that are synced before they are acknowledged: their tail is short, for the recovery
point follows closely. Of the others nothing is promised that replicas do not keep.
"""

from typing import Final

from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.segments.segment import Segment

PIECE_BYTES: Final = 1 << 20


def harden(log: PartitionLog) -> None:
    """Writes and syncs everything from the recovery point on. Alone with the log."""
    first = log.segments.index(log.segment_of(log.recovery_point))
    for segment in log.segments[first:]:
        found = segment.find(max(log.recovery_point, segment.base_offset))
        if found is not None:
            _write_again(segment, found[0])
    job = FlushJob(log, log.flushed_at)
    job.run()
    job.publish()


def _write_again(segment: Segment, start: int) -> None:
    file = segment.file
    for position in range(start, segment.size, PIECE_BYTES):
        file.write([file.read(min(PIECE_BYTES, segment.size - position), position)], position)
