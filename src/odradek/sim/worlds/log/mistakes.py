"""Rules of a log turned into wrong ones, each of which the promises must notice."""

from collections.abc import Mapping
from typing import Any, Final

from odradek.sim.simulation import Knob
from odradek.storage.compacting.key_map import KeyMap
from odradek.storage.dirs.dir_checkpoints import DirCheckpoints
from odradek.storage.logs import loading, log, truncation, writing
from odradek.storage.logs.producers import ProducerState
from odradek.storage.logs.reading import ReadableLog, Slice
from odradek.storage.segments import scan


def _nothing(*_: Any, **__: Any) -> None:
    """What a mistake does instead."""


def _not_at_all(*_: Any) -> bool:
    """No."""
    return False


def _as_looked_up_before(found: Any, segment: Any, end_offset: Any) -> Any:
    """Where an end was in a file is so in the one that compaction has put in its place."""
    if found.segment_of(end_offset - 1) is not segment:
        return segment.size
    if found._end_position[0] != end_offset:  # noqa: SLF001 - a mistake
        at = segment.find(end_offset)
        looked_up = (end_offset, segment, at[0] if at else segment.size)
        found._end_position = looked_up  # noqa: SLF001 - a mistake
    return found._end_position[-1]  # noqa: SLF001 - a mistake


_read = ReadableLog._read  # noqa: SLF001 - a mistake


def _whole_behind_a_gap(found: Any, offset: Any, end_offset: Any, *how: Any, **more: Any) -> Slice:
    """A segment that the end is not in lies before it, also behind a gap that compaction left."""
    for segment in found.segments:
        if segment.base_offset >= end_offset and segment.base_offset > offset:
            before = found.segments[max(found.segments.index(segment) - 1, 0)]
            if before.base_offset <= offset and before.find(offset) is None:
                return _read(found, offset, found.log_end_offset, *how, **more)
    return _read(found, offset, end_offset, *how, **more)


MISTAKES: Final[Mapping[str, Knob]] = {
    "unchecked-tail": Knob(scan, "check_crc", _nothing),
    "truncated-tail": Knob(loading._Loading, "_is_hole", _not_at_all),  # noqa: SLF001 - a mistake
    "answer-before-sync": Knob(writing.WriteJob, "sync", _nothing),
    "half-a-write-stays": Knob(writing.WriteJob, "_undo", _nothing),
    "ends-are-of-the-old-file": Knob(ReadableLog, "_stop", _as_looked_up_before),
    "readers-pass-a-gap": Knob(ReadableLog, "_read", _whole_behind_a_gap),
    "ends-above-the-high-watermark-count": Knob(loading, "hides_an_end", _not_at_all),
    "producers-outlive-a-cut": Knob(truncation, "_reload_producers", _nothing),
    "earlier-batches-are-forgotten": Knob(loading, "find_earlier_batches", _nothing),
    "retries-are-new": Knob(log, "duplicate_of", _nothing),
    "aborts-are-not-noted": Knob(ProducerState, "_ended", _nothing),
    "the-newest-of-a-key-goes": Knob(KeyMap, "is_newest", _not_at_all),
    "what-is-deleted-comes-back": Knob(DirCheckpoints, "note_log_starts", _nothing),
}
