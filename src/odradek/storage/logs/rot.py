"""What no checksum covers of a batch, judged by its neighbours: its base offset and leader epoch.

One bit of them that rots would cut whole batches off in recovery, stop the followers, who take no
epoch that goes back, or end a history of epochs where it never ended. Where the neighbours leave
one value only, the batch gets it back. Where they leave several, at the end of a log, beside a gap,
or where an epoch begins, nothing is touched.

Recovery puts such a batch right. One that is met later, by a job that reads for somebody, is a
corrupt batch like any other, and is fetched again from another broker.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from odradek.model.positions import NO_LEADER_EPOCH
from odradek.ports import FileRange
from odradek.records.batch import LENGTH_END, BatchHeader
from odradek.storage.errors import CorruptFile
from odradek.storage.files.names import LOG
from odradek.storage.segments.scan import walk_batches, walk_headers
from odradek.storage.segments.segment import Segment


class Field(NamedTuple):
    """A part of a batch's header."""

    name: str
    at: int
    size: int


OFFSET: Final = Field("offset", 0, 8)
EPOCH: Final = Field("epoch", LENGTH_END, 4)
Epochs = tuple[int, int]  # of the last two batches; -1 where there is none


class Place(NamedTuple):
    """Where a batch lies, and where to look for what lies behind it."""

    segment: Segment
    position: int
    size: int  # of the segment's file
    following: Segment | None


def put_right(
    header: BatchHeader, place: Place, end: int, epochs: Epochs, *, gapless: bool
) -> list[str]:
    """Puts a batch with a true checksum right, in the file and in its header; a line for each.

    The batch before it ended at `end`; the two before it are of these epochs. CorruptFile if it
    contradicts what lies behind it, and nothing tells its place.
    """
    notes = []
    if header.base_offset != end:
        behind = _behind(place, header)
        if _is_misplaced(header, end, behind, gapless=gapless):
            notes.append(_overwrite(place, OFFSET, header.base_offset, end))
            header.base_offset = end
        elif behind and _is_followed(behind):
            _must_end(header, behind[0][0], place)
    epoch = epochs[1]
    found = header.leader_epoch
    if found != epoch and _is_astray(epochs, found, _epochs_behind(place, header)):
        notes.append(_overwrite(place, EPOCH, found, epoch))
        header.leader_epoch = epoch
    return notes


def check_range(chunk: FileRange, segment: Segment) -> int:
    """Reads whole batches for their checks alone; CorruptFile at the first that cannot be true.

    Looks at the headers on both sides, too: a batch that names too low an offset is not found where
    it lies, and one that names too high an offset is contradicted by the next.

    Returns the offset behind the last of them.
    """
    path, stop = segment.path(LOG), chunk.position + chunk.length
    run = _two_before(segment, chunk)
    for position, header, _ in walk_batches(chunk.file, path, chunk.position, stop):
        run.append((position, header))
    behind = run[-1][1].next_offset if run else 0
    with suppress(CorruptFile):
        run += islice(walk_headers(chunk.file, path, stop, segment.size), 3)
    at = _first_astray([header for _, header in run])
    if at is not None and run[at][0] <= stop:
        position, header = run[at]
        reason = f"no batch of offset {header.base_offset} and epoch {header.leader_epoch}"
        raise CorruptFile(path, position, f"{reason} can lie between its neighbours")
    return behind


def _two_before(segment: Segment, chunk: FileRange) -> list[tuple[int, BatchHeader]]:
    """The batches before a range; none where an index lies, or one of them cannot be read."""
    start = chunk.position
    try:
        for _ in range(2):  # so many batches before it, at least
            entry = segment.index.floor_position(start - 1)
            start = entry[1] if entry is not None else 0
        walk = walk_headers(chunk.file, segment.path(LOG), start, chunk.position)
        return list(deque(walk, maxlen=2))
    except CorruptFile:
        return []


def _first_astray(run: list[BatchHeader]) -> int | None:
    """Which of these batches contradicts its neighbours, and is the corrupt one of them."""
    epochs = [header.leader_epoch for header in run]
    for at, header in enumerate(run):
        if at and header.base_offset < run[at - 1].next_offset:
            return at - 1 if _is_too_high(run, at - 1) else at
        if epochs[at] != epochs[at - 1] and _is_astray(
            epochs[max(at - 2, 0) : at], epochs[at], epochs[at + 1 : at + 3]
        ):
            return at
    return None


def _is_too_high(run: list[BatchHeader], at: int) -> bool:
    """Which of two batches whose offsets overlap is the corrupt one: the first, or the other.

    It is the first where its own offsets are missing exactly; or where nothing tells, for what
    begins with it is fetched again.
    """
    first, second = run[at], run[at + 1]
    if at and second.base_offset < run[at - 1].next_offset:
        return False
    if at and second.base_offset == run[at - 1].next_offset + first.last_offset_delta + 1:
        return True
    after = first.next_offset + second.last_offset_delta + 1
    return not (len(run) > at + 2 and run[at + 2].base_offset == after)


def _overwrite(place: Place, field: Field, found: int, true: int) -> str:
    segment, position = place[:2]
    segment.file.write([true.to_bytes(field.size, "big")], position + field.at)
    segment.file.sync()
    path = segment.path(LOG)
    return f"the batch at byte {position} of {path} had the {field.name} {found} for {true}"


def _is_astray(before: Sequence[int], found: int, behind: Sequence[int]) -> bool:
    """Whether a batch lies between two of one epoch and is of it too, though it names another.

    Epochs never go back, so one of the three is corrupt. It is not this one for sure where the
    batch before it may be, which nothing confirms, or the batch behind it, where the one after
    that agrees with this. A batch without an epoch contradicts nothing.
    """
    if len(before) < 2 or len(behind) < 2 or NO_LEADER_EPOCH in {before[1], found}:
        return False
    if before[1] != behind[0] or found == behind[0]:
        return False
    return behind[1] < found if found > behind[0] else before[0] == before[1] or found < before[0]


def _is_misplaced(
    header: BatchHeader, end: int, behind: list[tuple[int, int]], *, gapless: bool
) -> bool:
    """Whether a batch whose checksum is right has one place only, and does not say so.

    No checksum covers a base offset, so the neighbours tell: what lies behind cannot follow this
    batch, and follows the one before it by exactly as many offsets as this one has. Gaps and leaps
    contradict nothing. Where there may be one before this batch, what lies behind may be the
    corrupt one: it is believed if the next one follows it.
    """
    if not behind or end <= header.base_offset < header.next_offset <= behind[0][0]:
        return False
    if behind[0][0] != end + header.last_offset_delta + 1:
        return False
    if header.base_offset < end:
        return True
    return _is_followed(behind) or (gapless and len(behind) == 1)


def _is_followed(behind: list[tuple[int, int]]) -> bool:
    return len(behind) == 2 and behind[0][1] == behind[1][0]


def _must_end(header: BatchHeader, following: int, place: Place) -> None:
    if header.next_offset > following:
        reason = f"offset {header.base_offset} is not before {following}"
        raise CorruptFile(place.segment.path(LOG), place.position, reason)


def _behind(place: Place, header: BatchHeader) -> list[tuple[int, int]]:
    """From which to which offset the next two batches reach; the next segment begins at its name.

    They are fewer where the log ends, and where one cannot be read.
    """
    segment, position, size, following = place
    position += header.size
    found = []
    with suppress(CorruptFile):
        for _, later in islice(walk_headers(segment.file, segment.path(LOG), position, size), 2):
            found.append((later.base_offset, later.next_offset))
            position += later.size
        if position == size and following is not None:
            found += [(following.base_offset, following.base_offset)] * 2
    return found[:2]


def _epochs_behind(place: Place, header: BatchHeader) -> list[int]:
    """Those of the next two batches, wherever they lie; fewer where one cannot be read."""
    segment, position, size, following = place
    found: list[int] = []
    with suppress(CorruptFile):
        walk = walk_headers(segment.file, segment.path(LOG), position + header.size, size)
        found += [later.leader_epoch for _, later in islice(walk, 2)]
        if following is not None:
            walk = walk_headers(following.file, following.path(LOG), 0, following.size)
            found += [later.leader_epoch for _, later in islice(walk, 2 - len(found))]
    return found
