"""Filters that narrow ranges of offsets before anything is read.

A filter on `offset`, `partition` or `topic` is fulfilled exactly by the ranges, and Spark need not
apply it again. One on `timestamp` only moves the start: times need not rise with offsets, so Spark
keeps it. It moves to the first record of that time or later, below which all are earlier, as far as
the broker's index of times says; where times go back and forth a bound by time is no bound by
offset, so an upper one does not move the end.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from odradek.model.units import SECOND
from odradek.pipelines.positions import Positions, TopicPositions

INT64_MAX: Final = (1 << 63) - 1


class TimeLookup(Protocol):
    """Who knows where a time is."""

    def at_time(self, millis: int) -> Positions:
        """The first record of that time or later in each partition; its end if there is none."""
        ...


@dataclass
class PushedFilters:
    """What was taken so far; all of it must hold."""

    offset_min: int = 0
    offset_end: int = INT64_MAX
    time_min: int | None = None
    partitions: frozenset[Any] | None = None
    topics: frozenset[Any] | None = None

    def take(self, one: Filter) -> bool:
        """Whether the ranges fulfil a filter wholly, so that Spark need not apply it."""
        match one:
            case GreaterThanOrEqual(attribute=("offset",), value=int(value)):
                self.offset_min = max(self.offset_min, value)
            case GreaterThan(attribute=("offset",), value=int(value)):
                self.offset_min = max(self.offset_min, value + 1)
            case LessThan(attribute=("offset",), value=int(value)):
                self.offset_end = min(self.offset_end, value)
            case LessThanOrEqual(attribute=("offset",), value=int(value)):
                self.offset_end = min(self.offset_end, value + 1)
            case EqualTo(attribute=("offset",), value=int(value)):
                self.offset_min = max(self.offset_min, value)
                self.offset_end = min(self.offset_end, value + 1)
            case EqualTo(attribute=("partition",), value=int(value)):
                self.partitions = _both(self.partitions, frozenset({value}))
            case In(attribute=("partition",), value=values):
                self.partitions = _both(self.partitions, frozenset(values))
            case EqualTo(attribute=("topic",), value=str(value)):
                self.topics = _both(self.topics, frozenset({value}))
            case In(attribute=("topic",), value=values):
                self.topics = _both(self.topics, frozenset(values))
            case (
                GreaterThan(attribute=("timestamp",), value=datetime() as value)
                | GreaterThanOrEqual(attribute=("timestamp",), value=datetime() as value)
                | EqualTo(attribute=("timestamp",), value=datetime() as value)
            ):
                self._from_time(value)
                return False
            case _:
                return False
        return True

    def _from_time(self, value: datetime) -> None:
        millis = int(value.timestamp() * SECOND)  # rounded down: rather a record too many
        self.time_min = millis if self.time_min is None else max(self.time_min, millis)

    def narrowed(
        self, lookup: TimeLookup, start: Positions, end: Positions
    ) -> tuple[Positions, Positions]:
        """Both ends of a batch with the filters applied."""
        end = _restricted(end, self)
        start = _restricted(start, self)
        lows = {it: max(start.offset(it) or 0, self.offset_min) for it in start}
        if self.time_min is not None and lows:
            # A millisecond less: an index of times may lead behind the first of several equal ones.
            at = lookup.at_time(max(0, self.time_min - 1))
            lows = {it: max(low, at.offset(it) or 0) for it, low in lows.items()}
        highs = {it: min(end.offset(it) or 0, self.offset_end) for it in end}
        return start.moved(lows), end.moved(highs)


def _both(one: frozenset[Any] | None, other: frozenset[Any]) -> frozenset[Any]:
    return other if one is None else one & other


def _restricted(positions: Positions, by: PushedFilters) -> Positions:
    topics = {
        name: TopicPositions(
            topic.topic_id,
            {
                number: offset
                for number, offset in topic.offsets.items()
                if by.partitions is None or number in by.partitions
            },
            topic.leader_epochs,
        )
        for name, topic in positions.topics.items()
        if by.topics is None or name in by.topics
    }
    return Positions(positions.cluster_id, topics)
