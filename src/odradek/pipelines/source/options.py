"""The options of the source: those of Spark's "kafka" source, its precedence, its refusals; ours.

Names do not depend on case. What becomes of the options `kafka.*` is in `kafka_settings`. Any other
option that is not known is refused, with the nearest name that is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from odradek.model.ids import TopicPartition
from odradek.model.names import topic_name_fault
from odradek.model.units import MINUTE, Bytes, Millis
from odradek.pipelines.client_options import ClientOptions, read_client
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import GivenOptions
from odradek.pipelines.source.points import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    Earliest,
    Latest,
    Offsets,
    OneTime,
    Point,
    parse_assignment,
    parse_offsets,
    parse_time,
    parse_times,
)

DELAY_MS_MAX: Final = Millis(15 * MINUTE)


class Mode(Enum):
    """What the options are for; each refuses some that the other takes."""

    BATCH = "batch"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which partitions: exactly one of the three."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one micro-batch of a stream takes at most, or waits for."""

    offsets_max: int | None = None
    offsets_min: int | None = None
    delay_ms_max: Millis = DELAY_MS_MAX
    bytes_max: Bytes | None = None


@dataclass(frozen=True, slots=True)
class Splits:
    """Into how many tasks a partition's range is cut."""

    partitions_min: int | None = None
    records_max: int | None = None
    bytes_max: Bytes | None = None


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """All that a reader needs to know; it can be pickled and is the same in every task."""

    client: ClientOptions
    selection: Selection
    starting: Point
    ending: Point
    fail_on_data_loss: bool = True
    headers: bool = False
    limits: Limits = Limits()
    splits: Splits = Splits()
    mode: Mode = Mode.BATCH


OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "assign": "same",
        "subscribe": "same",
        "subscribePattern": "a regular expression of Python's, not of Java's",
        "startingOffsets": "same; partitions may be left out, which begin as without the option",
        "startingTimestamp": "same, and `-10m`",
        "startingOffsetsByTimestamp": "same",
        "startingOffsetsByTimestampStrategy": "same",
        "endingOffsets": "same",
        "endingTimestamp": "same, and `-10m`",
        "endingOffsetsByTimestamp": "same",
        "failOnDataLoss": "same; tells a topic that was made again from one that was cut",
        "includeHeaders": "same",
        "minPartitions": "same",
        "maxRecordsPerPartition": "same",
        "maxBytesPerPartition": "ours: into tasks of so many bytes",
        "maxOffsetsPerTrigger": "same",
        "minOffsetsPerTrigger": "same",
        "maxBytesPerTrigger": "ours: so many bytes in a batch",
        "maxTriggerDelay": "same",
        "groupIdPrefix": "no effect: readers are in no group",
        "kafkaConsumer.pollTimeoutMs": "no effect",
        "fetchOffset.numRetries": "no effect: see `kafka.default.api.timeout.ms`",
        "fetchOffset.retryIntervalMs": "no effect",
    }
)
"""As the documentation spells them, and how they are beside those of Spark's source."""

SELECTIONS: Final = ("assign", "subscribe", "subscribePattern")
ENDINGS: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
STRATEGIES: Final = ("error", "latest")


def parse(raw: Mapping[str, str], mode: Mode) -> SourceOptions:
    """The options as Spark hands them over; InvalidOption is the first that is wrong."""
    given = GivenOptions(raw, OPTIONS)
    given.refuse_unknown()
    if given.kafka("transactional.id") is not None:
        raise InvalidOption("option 'kafka.transactional.id': a source is in no transaction")
    strategy = given.text("startingOffsetsByTimestampStrategy")
    if strategy is not None and strategy.lower() not in STRATEGIES:
        raise InvalidOption(
            "option 'startingOffsetsByTimestampStrategy' must be 'error' or 'latest', "
            f"not {strategy!r}"
        )
    return SourceOptions(
        read_client(given),
        _selection(given),
        _starting(given, mode, strategy),
        _ending(given, mode),
        fail_on_data_loss=given.boolean("failOnDataLoss", default=True),
        headers=given.boolean("includeHeaders", default=False),
        limits=_limits(given),
        splits=Splits(
            given.positive("minPartitions"),
            given.positive("maxRecordsPerPartition"),
            given.size("maxBytesPerPartition"),
        ),
        mode=mode,
    )


def _selection(given: GivenOptions) -> Selection:
    chosen = [name for name in SELECTIONS if given.text(name) is not None]
    if len(chosen) != 1:
        verb = "only one" if chosen else "one"
        raise InvalidOption(f"{verb} of the options {', '.join(SELECTIONS)} must be given")
    (name,) = chosen
    text = given.text(name) or ""
    match name:
        case "assign":
            partitions = parse_assignment(text)
            if not partitions:
                raise InvalidOption(f"option 'assign' names no partition: {text!r}")
            selection = Selection(partitions=partitions)
        case "subscribe":
            topics = tuple(dict.fromkeys(filter(None, (it.strip() for it in text.split(",")))))
            if not topics:
                raise InvalidOption(f"option 'subscribe' names no topic: {text!r}")
            selection = Selection(topics=topics)
        case _:
            selection = Selection(pattern=_pattern(text))
    for topic in (*selection.topics, *sorted({it.topic for it in selection.partitions})):
        fault = topic_name_fault(topic)
        if fault is not None:
            raise InvalidOption(f"option {name!r}: {fault}: {topic[:80]!r}")
    return selection


def _pattern(text: str) -> str:
    if not text.strip():
        raise InvalidOption("option 'subscribePattern' is empty")
    try:
        re.compile(text)
    except re.error as error:
        raise InvalidOption(
            f"option 'subscribePattern' is no regular expression: {text!r}: {error}"
        ) from error
    return text


def _starting(given: GivenOptions, mode: Mode, strategy: str | None) -> Point:
    """A time for all comes before times by partition, and both before offsets."""
    or_latest = (strategy or "error").lower() == "latest"
    point: Point
    if (text := given.text("startingTimestamp")) is not None:
        time = parse_time("startingTimestamp", text)
        return OneTime(time, or_latest or (time.before_now and strategy is None))
    if (text := given.text("startingOffsetsByTimestamp")) is not None:
        return parse_times("startingOffsetsByTimestamp", text, or_latest=or_latest)
    if (text := given.text("startingOffsets")) is None:
        return Latest() if mode is Mode.STREAM else Earliest()
    point = parse_offsets("startingOffsets", text)
    if mode is Mode.BATCH:
        if point == Latest():
            raise InvalidOption("a batch cannot start at latest: option 'startingOffsets'")
        _refuse(point, LATEST_OFFSET, "a batch cannot start {} at latest: option 'startingOffsets'")
    return point


def _ending(given: GivenOptions, mode: Mode) -> Point:
    if mode is Mode.STREAM:
        for name in ENDINGS:
            if given.text(name) is not None:
                raise InvalidOption(f"a stream has no end: option {name!r} is for batches")
        return Latest()
    if (text := given.text("endingTimestamp")) is not None:
        return OneTime(parse_time("endingTimestamp", text), or_latest=True)
    if (text := given.text("endingOffsetsByTimestamp")) is not None:
        return parse_times("endingOffsetsByTimestamp", text, or_latest=True)
    point = parse_offsets("endingOffsets", given.text("endingOffsets") or "latest")
    if point == Earliest():
        raise InvalidOption("a batch cannot end at earliest: option 'endingOffsets'")
    _refuse(point, EARLIEST_OFFSET, "a batch cannot end {} at earliest: option 'endingOffsets'")
    return point


def _refuse(point: Point, offset: int, sentence: str) -> None:
    if isinstance(point, Offsets):
        for partition, value in sorted(point.by_partition.items()):
            if value == offset:
                raise InvalidOption(sentence.format(partition))


def _limits(given: GivenOptions) -> Limits:
    limits = Limits(
        given.positive("maxOffsetsPerTrigger"),
        given.positive("minOffsetsPerTrigger"),
        given.delay("maxTriggerDelay", DELAY_MS_MAX),
        given.size("maxBytesPerTrigger"),
    )
    if limits.offsets_max and limits.offsets_min and limits.offsets_min > limits.offsets_max:
        raise InvalidOption(
            f"option 'minOffsetsPerTrigger' ({limits.offsets_min}) must not be greater than "
            f"'maxOffsetsPerTrigger' ({limits.offsets_max})"
        )
    return limits
