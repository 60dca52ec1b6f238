"""The driver's questions: where partitions begin and end, and whether positions still hold.

Whatever is asked, no topic is made by asking. Positions carry what is needed to notice later that
they mean another topic, or another history of the same one.
"""

import re
from collections.abc import Iterable, Mapping
from time import time_ns
from typing import Final

from odradek.client.blocking.client import BlockingClient
from odradek.client.cluster_metadata import ClusterMetadata, TopicMetadata
from odradek.client.errors import DataLost, LogTruncated, OffsetExpired, TopicRecreated
from odradek.client.records.offsets import EARLIEST, LATEST, FoundOffset, Position
from odradek.model.errors import ErrorCode
from odradek.model.ids import (
    NO_TOPIC_ID,
    TopicId,
    TopicPartition,
    topic_id_from_text,
    topic_id_text,
)
from odradek.model.moments import moment_text
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Timestamp
from odradek.pipelines.connections import client_of, sentences
from odradek.pipelines.errors import SKIP_OPTION, DataLoss, InvalidOption, PipelineError
from odradek.pipelines.positions import NO_EPOCH, Positions, TopicPositions
from odradek.pipelines.source.options import Mode, SourceOptions
from odradek.pipelines.source.points import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    Earliest,
    Latest,
    Offsets,
    OneTime,
    Point,
    Time,
    Times,
)

HINT: Final = f"to go on without them, set {SKIP_OPTION}"
NANOS: Final = 1_000_000  # of a millisecond


class SourceOffsets:
    """The partitions that the options choose, as the cluster has them when it is asked."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._client: BlockingClient = client_of(options.client)

    def starting(self) -> Positions:
        """Where the options say that a reader begins."""
        default = Latest() if self._options.mode is Mode.STREAM else Earliest()
        return self._at(self._options.starting, default, "startingOffsets")

    def ending(self) -> Positions:
        """Where the options say that a batch ends."""
        return self._at(self._options.ending, Latest(), "endingOffsets")

    def earliest(self) -> Positions:
        """The first offset of each partition."""
        return self._at(Earliest(), Earliest(), "")

    def latest(self) -> Positions:
        """The end of each partition."""
        return self._at(Latest(), Latest(), "")

    def at_time(self, millis: int) -> Positions:
        """The first record of that time or later in each partition; its end if there is none."""
        return self._at(OneTime(Time(millis), or_latest=True), Latest(), "")

    def _at(self, point: Point, default: Point, option: str) -> Positions:
        with sentences(self._options.client):
            metadata = self._metadata()
            partitions = self._partitions(metadata)
            found = self._find(point, default, partitions, option)
        return _positions(metadata, found)

    # Which partitions

    def _metadata(self) -> ClusterMetadata:
        """The cluster with the topics that are chosen; PipelineError for one that is not there."""
        chosen = self._options.selection
        if chosen.pattern is not None:
            pattern = re.compile(chosen.pattern)
            metadata = self._client.cluster(None)
            names = (it for it, row in metadata.topics.items() if not row.is_internal)
            return metadata.of_topics(frozenset(it for it in names if pattern.fullmatch(it)))
        wanted = sorted({*chosen.topics, *(it.topic for it in chosen.partitions)})
        metadata = self._client.cluster(wanted)
        for name in wanted:
            self._check_topic(name, metadata.topics.get(name))
        return metadata

    def _check_topic(self, name: str, topic: TopicMetadata | None) -> None:
        if topic is None or topic.error in {
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_ID,
        }:
            raise PipelineError(f"topic {name!r} does not exist")
        if topic.error and not topic.error.retriable:
            raise PipelineError(f"topic {name!r}: {topic.error.sentence}")

    def _partitions(self, metadata: ClusterMetadata) -> list[TopicPartition]:
        there = [
            TopicPartition(name, number)
            for name, topic in sorted(metadata.topics.items())
            for number in sorted(topic.partitions)
        ]
        assigned = self._options.selection.partitions
        if not assigned:
            return there
        for partition in sorted(assigned):
            if partition not in there:
                raise PipelineError(f"option 'assign': partition {partition} does not exist")
        return sorted(assigned)

    # Where in them

    def _find(
        self, point: Point, default: Point, partitions: list[TopicPartition], option: str
    ) -> dict[TopicPartition, FoundOffset]:
        match point:
            case Earliest():
                return self._ask(dict.fromkeys(partitions, EARLIEST))
            case Latest():
                return self._ask(dict.fromkeys(partitions, LATEST))
            case OneTime(time=time, or_latest=or_latest):
                return self._at_times(dict.fromkeys(partitions, time), or_latest=or_latest)
            case Times(by_partition=times, or_latest=or_latest):
                self._check_names(times, partitions, f"{option}ByTimestamp")
                found = self._at_times(times, or_latest=or_latest)
            case Offsets(by_partition=offsets):
                self._check_names(offsets, partitions, option)
                found = self._at_offsets(offsets, option)
        rest = [it for it in partitions if it not in found]
        return {**self._find(default, default, rest, option), **found} if rest else found

    def _ask(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, FoundOffset]:
        committed = self._options.client.committed_only
        return self._client.offsets(wanted, committed=committed) if wanted else {}

    def _check_names(
        self, named: Iterable[TopicPartition], partitions: list[TopicPartition], option: str
    ) -> None:
        for it in sorted(named):
            if it not in partitions:
                raise InvalidOption(f"option {option!r} names {it}, which is not read from")

    def _at_times(
        self, times: Mapping[TopicPartition, Time], *, or_latest: bool
    ) -> dict[TopicPartition, FoundOffset]:
        now = Timestamp(time_ns() // NANOS)
        found = self._ask({it: time.at(now) for it, time in times.items()})
        none = [it for it, row in found.items() if row.offset < 0]
        if none and not or_latest:
            moment = moment_text(times[none[0]].at(now), "milliseconds")
            raise PipelineError(
                f"no record of {none[0]} is as late as {moment}; "
                "with option startingOffsetsByTimestampStrategy=latest reading begins at its end"
            )
        return {**found, **self._ask(dict.fromkeys(none, LATEST))}

    def _at_offsets(
        self, offsets: Mapping[TopicPartition, int], option: str
    ) -> dict[TopicPartition, FoundOffset]:
        """Offsets that are named must be there, unless what is missing may be skipped."""
        first = self._ask(dict.fromkeys(offsets, EARLIEST))
        last = self._ask(dict.fromkeys(offsets, LATEST))
        found = {}
        for it, offset in offsets.items():
            if offset == LATEST_OFFSET:
                found[it] = last[it]
            elif offset == EARLIEST_OFFSET:
                found[it] = first[it]
            elif first[it].offset <= offset <= last[it].offset:
                found[it] = last[it]._replace(offset=Offset(offset))
            elif self._options.fail_on_data_loss:
                raise DataLoss(
                    f"option {option!r}: {it} has offsets from {first[it].offset} up to "
                    f"{last[it].offset}, not {offset}; {HINT}"
                )
            else:
                found[it] = first[it] if offset < first[it].offset else last[it]
        return found

    # Whether positions hold

    def confirmed(self, positions: Positions) -> Positions:
        """The same positions, if reading can go on from them.

        DataLoss names the topic that is another one or is gone, the partition that was truncated
        below the position, or whose records before it are gone. With `fail_on_data_loss` false the
        answer is the next position from which it can go on. A position of another cluster is
        refused always.
        """
        with sentences(self._options.client):
            metadata = self._client.cluster(sorted(positions.topics))
            _check_cluster(positions, metadata)
            kept = {
                name: topic
                for name, topic in positions.topics.items()
                if not self._is_gone(name, topic, metadata)
            }
            held = Positions(positions.cluster_id, kept)
            lost = self._client.lost(
                {
                    it: Position(Offset(held.offset(it) or 0), LeaderEpoch(held.leader_epoch(it)))
                    for it in held
                },
                {name: _topic_id(topic) for name, topic in kept.items()},
            )
        if not lost:
            return held
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{lost[min(lost)]}; {HINT}")
        return self._without_lost(held, lost, metadata)

    def _is_gone(self, name: str, topic: TopicPositions, metadata: ClusterMetadata) -> bool:
        """Whether a topic is no more; DataLoss unless that may be skipped."""
        now = metadata.topics.get(name)
        unknown = now is None or now.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if unknown and self._options.fail_on_data_loss:
            raise DataLoss(f"topic {name!r} has been deleted since the last batch; {HINT}")
        if not unknown and now is not None:
            fewer = sorted(set(topic.offsets) - set(now.partitions))
            if fewer and _topic_id(topic) in (NO_TOPIC_ID, now.topic_id):
                raise DataLoss(f"partition {fewer[0]} of topic {name!r} is not there any more")
        return unknown

    def _without_lost(
        self,
        positions: Positions,
        lost: Mapping[TopicPartition, DataLost],
        metadata: ClusterMetadata,
    ) -> Positions:
        """Where to go on: at the first offset of what is there now."""
        topics = dict(positions.topics)
        for name in sorted({it.topic for it, why in lost.items() if _is_recreated(why)}):
            earliest = self._ask(
                {TopicPartition(name, n): EARLIEST for n in metadata.topics[name].partitions}
            )
            topics[name] = _positions(metadata, earliest).topics[name]
        offsets = {}
        for partition, why in lost.items():
            match why:
                case OffsetExpired(log_start_offset=offset) | LogTruncated(diverges_at=offset):
                    offsets[partition] = offset
        return Positions(positions.cluster_id, topics).moved(offsets)


def _is_recreated(why: DataLost) -> bool:
    return isinstance(why, TopicRecreated)


def _check_cluster(positions: Positions, metadata: ClusterMetadata) -> None:
    before, now = positions.cluster_id, metadata.cluster_id
    if before and now and before != now:
        raise DataLoss(f"the checkpoint is of cluster {before!r}, the brokers are of {now!r}")


def _topic_id(topic: TopicPositions) -> TopicId:
    return topic_id_from_text(topic.topic_id) if topic.topic_id else NO_TOPIC_ID


def _positions(metadata: ClusterMetadata, found: Mapping[TopicPartition, FoundOffset]) -> Positions:
    topics = {}
    for name in sorted({it.topic for it in found}):
        rows = {it.partition: row for it, row in found.items() if it.topic == name}
        topic_id = metadata.topic_id(name)
        topics[name] = TopicPositions(
            "" if topic_id == NO_TOPIC_ID else topic_id_text(topic_id),
            {number: row.offset for number, row in rows.items()},
            {number: _epoch(metadata, name, number) for number in rows},
        )
    return Positions(metadata.cluster_id, topics)


def _epoch(metadata: ClusterMetadata, topic: str, partition: int) -> int:
    known = metadata.partition(TopicPartition(topic, partition))
    return known.leader_epoch if known is not None else NO_EPOCH
