"""Offsets that a table was told to go on without: a property, so that it is not taken for whole.

A gap is noted by the commit that goes on behind it. One whose offsets are written anew is
forgotten, and so are all when the table is emptied.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from odradek.pipelines.positions import OffsetRange

GAPS: Final = "gaps"
GAPS_MAX: Final = 1_000
"""The newest are kept: each commit carries all of them."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets from `start` on, up to and without `end`, and why they are not in the table."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    why: str

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} offsets {self.start} to {self.end - 1}: {self.why}"


def gaps_of(properties: Mapping[str, str]) -> tuple[Gap, ...]:
    """Those of a table."""
    return tuple(Gap(**row) for row in json.loads(properties.get(GAPS, "[]")))


def with_gaps(properties: Mapping[str, str], gaps: Iterable[Gap]) -> dict[str, str] | None:
    """The properties that change; None: none does."""
    known = gaps_of(properties)
    found = tuple(_joined([*known, *gaps]))[-GAPS_MAX:]
    return None if found == known else said(found)


def said(gaps: Iterable[Gap]) -> dict[str, str]:
    """As a property."""
    return {GAPS: json.dumps([asdict(it) for it in gaps])}


def without(
    properties: Mapping[str, str], ranges: Sequence[OffsetRange], gaps: Iterable[Gap]
) -> dict[str, str] | None:
    """The properties that change when ranges were written anew, with gaps of their own."""
    rest = list(gaps_of(properties))
    for it in ranges:
        rest = [part for gap in rest for part in _outside(gap, it)]
    found = (*rest, *gaps)
    return None if found == gaps_of(properties) else said(found)


def _outside(gap: Gap, of: OffsetRange) -> Iterator[Gap]:
    if (gap.topic_id, gap.partition) != (of.topic_id, of.partition):
        yield gap
        return
    before, behind = min(gap.end, of.start), max(gap.start, of.end)
    if gap.start < before:
        yield replace(gap, end=before)
    if behind < gap.end:
        yield replace(gap, start=behind)


def _joined(gaps: Sequence[Gap]) -> list[Gap]:
    """Those of one partition that follow each other for one reason are one."""
    found: list[Gap] = []
    last: dict[tuple[str, int, str], int] = {}
    for it in gaps:
        key = it.topic_id, it.partition, it.why
        at = last.get(key)
        if at is not None and found[at].end == it.start:
            found[at] = replace(found[at], end=it.end)
        else:
            last[key] = len(found)
            found.append(it)
    return found
