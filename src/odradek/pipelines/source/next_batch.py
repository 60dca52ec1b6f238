"""Where the next batch of a stream ends: where the topics end, or earlier if limits say so."""

from time import monotonic_ns
from typing import Final

from odradek.model.units import Millis
from odradek.pipelines.positions import Positions
from odradek.pipelines.source.limits import TriggerDelay, limited, limited_by_bytes
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.sizes import offset_bytes

NANOS: Final = 1_000_000  # of a millisecond


class NextBatch:
    """The limits of one stream; remembers when it last let a batch go."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._delay = TriggerDelay(options.limits)

    def end(self, begin: Positions, end: Positions, *, hurry: bool) -> Positions:
        """The end of a batch; `begin` if it is to wait, which it is not in a hurry."""
        limits = self._options.limits
        starts = {it: begin.offset(it) or 0 for it in end}
        ends = {it: end.offset(it) or 0 for it in end}
        waiting = sum(max(0, ends[it] - starts[it]) for it in ends)
        if not hurry and self._delay.holds(waiting, Millis(monotonic_ns() // NANOS)):
            return begin
        if limits.offsets_max is not None:
            ends = limited(starts, ends, limits.offsets_max)
        if limits.bytes_max is not None:
            sizes = offset_bytes(self._options, end.moved(starts), end.moved(ends))
            ends = limited_by_bytes(starts, ends, limits.bytes_max, sizes)
        return end.moved(ends)
