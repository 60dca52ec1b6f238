"""A stream of the source: where each micro-batch begins and ends, and what its tasks read.

Spark keeps what `initialOffset` and `latestOffset` return in its checkpoint and hands it back, also
after a restart. One reader lives as long as the stream, in one process of the driver. A position is
confirmed when the reader begins and whenever a partition has another leader than it had: then a
topic may be another one, and a log may have been truncated.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import DataLoss
from odradek.pipelines.positions import Positions, TopicPositions
from odradek.pipelines.source.batch import RangePartition
from odradek.pipelines.source.continuity import Continuity
from odradek.pipelines.source.next_batch import NextBatch
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.planning import plan, together
from odradek.pipelines.source.sizes import offset_bytes
from odradek.pipelines.workers import SentToWorkers


class OdradekStreamReader(SentToWorkers, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches in the driver, reads in tasks."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._target: Positions | None = None  # where AvailableNow ends
        self._latest: Positions | None = None
        self._continuity = Continuity()
        self._next = NextBatch(options)

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get what they need to read; the rest is the driver's."""
        return {"_options": self._options, "_columns": self._columns}

    # Where

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a stream without checkpoint begins."""
        return SourceOffsets(self._options).starting().to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """From now on nothing later is read than what is there now."""
        self._target = SourceOffsets(self._options).latest()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Says that there are limits; which, `latestOffset` knows: Spark's do not combine."""
        limits = self._options.limits
        if limits.offsets_max is not None:
            return ReadMaxRows(limits.offsets_max)
        if limits.bytes_max is not None:
            return ReadMaxBytes(limits.bytes_max)
        if limits.offsets_min is not None:
            return ReadMinRows(limits.offsets_min)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next micro-batch ends."""
        offsets = SourceOffsets(self._options)
        begin = Positions.from_json(start)
        latest = self._latest = offsets.latest()
        self._continuity.check(offsets, begin, latest)
        end = self._target or latest
        if isinstance(limit, ReadAllAvailable):
            return end.to_json()
        return self._next.end(begin, end, hurry=self._target is not None).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """For Spark's progress: how far behind the stream is."""
        return None if self._latest is None else self._latest.to_json()

    # What

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of one micro-batch. After a failure Spark asks again for the same one."""
        begin, until = Positions.from_json(start), Positions.from_json(end)
        begin = self._going_on(begin, until)
        sizes = (
            offset_bytes(self._options, begin, until) if self._options.splits.bytes_max else None
        )
        ranges = plan(self._options, begin, until, sizes)
        return [RangePartition(*it) for it in together(self._options, ranges)]

    def _going_on(self, begin: Positions, until: Positions) -> Positions:
        """From 0 where the topic is another one, and from its earliest offset where it is new."""
        topics = {}
        for name, topic in until.topics.items():
            known = begin.topics.get(name)
            if known is None or known.topic_id != topic.topic_id:
                if known is not None and self._options.fail_on_data_loss:
                    raise DataLoss(f"topic {name!r} was deleted and created again")
                continue
            topics[name] = known
        begin = Positions(begin.cluster_id, topics)
        if any((until.offset(it) or 0) < (begin.offset(it) or 0) for it in until):
            begin = SourceOffsets(self._options).confirmed(begin)
        if all(begin.offset(it) is not None for it in until):
            return begin
        return _begins_with_new(begin, SourceOffsets(self._options).earliest(), until)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if isinstance(partition, RangePartition):
            yield from partition.read(self._options, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: the checkpoint is the truth."""

    def stop(self) -> None:
        """Nothing: connections end with the process."""


def _begins_with_new(begin: Positions, earliest: Positions, until: Positions) -> Positions:
    topics = {}
    for name, topic in until.topics.items():
        offsets, epochs = {}, {}
        for number in topic.offsets:
            it = TopicPartition(name, number)
            offset = begin.offset(it)
            offsets[number] = offset if offset is not None else earliest.offset(it) or 0
            epochs[number] = begin.leader_epoch(it)
        topics[name] = TopicPositions(topic.topic_id, offsets, epochs)
    return Positions(until.cluster_id, topics)
