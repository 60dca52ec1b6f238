"""Which offsets the next batch of an archive takes: from the table's ends, as far as limits allow.

A partition that the table does not know begins at 0, a topic that it does not know at its earliest
offset. The table holds what was archived, so a topic that is another one now, or that lost records
which are in the table, stops the archive whatever may be skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from odradek.pipelines.errors import DataLoss, TopicMadeAgain, TopicTruncated
from odradek.pipelines.positions import NO_EPOCH, OffsetRange, Positions, TopicPositions
from odradek.pipelines.source.continuity import Continuity
from odradek.pipelines.source.next_batch import NextBatch
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions, Splits
from odradek.pipelines.source.planning import plan
from odradek.pipelines.source.sizes import offset_bytes

WHOLE: Final = Splits()


@dataclass(frozen=True, slots=True)
class Step:
    """One batch: `ranges` is what it commits, `pieces` the same cut into tasks."""

    begin: Positions
    end: Positions
    latest: Positions
    ranges: tuple[OffsetRange, ...]
    pieces: tuple[OffsetRange, ...]


class Steps:
    """Plans the batches of one run."""

    def __init__(self, source: SourceOptions) -> None:
        self._source = source
        self._offsets = SourceOffsets(source)
        self._continuity = Continuity()
        self._next = NextBatch(source)
        self._target: Positions | None = None
        self._skipping = SourceOffsets(replace(source, fail_on_data_loss=False))

    def end_now(self) -> None:
        """From now on nothing later is read than what is there now."""
        self._target = self._offsets.latest()

    def next(self, table: Positions, dead: Positions | None = None) -> Step:
        """The next batch behind the table's ends; it has no ranges if there is nothing to read.

        Where the table of dead letters is ahead of the rows', the batch ends where it ends.
        """
        latest = self._offsets.latest()
        begin = self.begin(table, latest)
        self._check(begin, self._confirmed(begin, latest))
        end = self._next.end(begin, self._target or latest, hurry=self._target is not None)
        if dead is not None:
            end = _capped(begin, end, dead)
        whole = plan(replace(self._source, splits=WHOLE), begin, end)
        sizes = offset_bytes(self._source, begin, end) if self._source.splits.bytes_max else None
        pieces = plan(self._source, begin, end, sizes)
        ranges = tuple(
            replace(it, leader_epoch=latest.leader_epoch(it.topic_partition)) for it in whole
        )
        return Step(begin, end, latest, ranges, tuple(pieces))

    def begin(self, table: Positions, latest: Positions) -> Positions:
        """Where the next batch begins: the table's ends, in the topics as they are now."""
        topics = {}
        for name, topic in latest.topics.items():
            known = table.topics.get(name)
            if known is None:
                topics[name] = self._offsets.earliest().topics[name]
                continue
            topics[name] = TopicPositions(
                known.topic_id,
                {number: known.offsets.get(number, 0) for number in topic.offsets},
                {number: known.leader_epochs.get(number, NO_EPOCH) for number in topic.offsets},
            )
        return Positions(table.cluster_id or latest.cluster_id, topics)

    def _confirmed(self, begin: Positions, latest: Positions) -> Positions:
        """Where reading goes on; what may not be skipped is said before what may."""
        try:
            return self._continuity.check(self._offsets, begin, latest)
        except DataLoss:
            self._check(begin, self._skipping.confirmed(begin))
            raise

    def standstills(self, begin: Positions, latest: Positions) -> tuple[DataLoss, ...]:
        """Why the next batch would stop, an error for each topic or partition."""
        found = tuple(_faults(begin, self._skipping.confirmed(begin)))
        if found or not self._source.fail_on_data_loss:
            return found
        try:
            Continuity().check(self._offsets, begin, latest)
        except DataLoss as error:
            return (error,)
        return ()

    def _check(self, begin: Positions, found: Positions) -> None:
        """DataLoss where going on would mean other records than those behind the table's."""
        for fault in _faults(begin, found):
            raise fault


def _faults(begin: Positions, found: Positions) -> Iterator[DataLoss]:
    """Where other records are now than the table holds: `found` is where reading can go on."""
    for name in sorted(begin.topics):
        topic = found.topics.get(name)
        if topic is None or topic.topic_id != begin.topics[name].topic_id:
            yield TopicMadeAgain(
                f"topic {name!r} was deleted and created again; "
                "the table holds records of the one before"
            )
    for it in begin:
        same = it.topic in found.topics and (
            found.topics[it.topic].topic_id == begin.topics[it.topic].topic_id
        )
        if same and (found.offset(it) or 0) < (begin.offset(it) or 0):
            yield TopicTruncated(
                f"{it} was truncated at offset {found.offset(it)}; the table holds records "
                f"up to offset {begin.offset(it)} that the topic does not hold any more"
            )


def _capped(begin: Positions, end: Positions, dead: Positions) -> Positions:
    ends = {}
    for it in end:
        ahead, first, last = dead.offset(it), begin.offset(it) or 0, end.offset(it) or 0
        ends[it] = min(last, ahead) if ahead is not None and ahead > first else last
    return end.moved(ends)
