"""A log as it was when a job was planned: what the disk's thread looks at while appends go on.

The loop changes a log whenever it likes, and a thread that walks through it would meet half of a
change. So a job that only looks is planned on the loop with a view, and looks at that. Jobs of one
worker run in their order: whatever is planned later, a truncation too, comes behind the look.

Segments at rest are shared. Of the active one, and of those that wait for a flush, the view has
copies: their indexes grow.
"""

from odradek.model.positions import Offset
from odradek.storage.lending import ANYBODY
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import ReadableLog


class LogView(ReadableLog):
    """For one job. Made on the loop, which then leaves it alone."""

    __slots__ = ("_last_stable_offset",)

    def __init__(self, log: PartitionLog) -> None:
        super().__init__(log.partition, log.folder, log.config, log.failures)
        self.lent_to = ANYBODY
        self.segments = [each if each.is_at_rest else each.copy() for each in log.segments[:-1]]
        self.segments.append(log.active_segment.copy())
        self._size_before = log.size
        self.log_start_offset = log.log_start_offset
        self.log_end_offset = log.log_end_offset
        self.high_watermark = log.high_watermark
        self.recovery_point = log.recovery_point
        self.corrupt = log.corrupt
        self.being_cleaned = log.being_cleaned
        self._last_stable_offset = log.last_stable_offset

    @property
    def last_stable_offset(self) -> Offset:
        """What it was: a view has no producers."""
        return self._last_stable_offset
