"""Where a reader begins and ends, as options say it: offsets, a time, the beginning or the end.

Values are those of Spark's "kafka" source. Beyond it a map may leave partitions out, which then
take what the option is without a map, and a time may count back from now: `-10m`.
"""

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from odradek.model.ids import TopicPartition
from odradek.model.units import DAY, HOUR, MINUTE, SECOND, Millis, Timestamp
from odradek.pipelines.errors import InvalidOption

LATEST_OFFSET: Final = -1
EARLIEST_OFFSET: Final = -2
UNITS: Final[Mapping[str, Millis]] = MappingProxyType(
    {"ms": Millis(1), "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
)
OFFSETS_EXAMPLE: Final = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
TIMES_EXAMPLE: Final = '{"topicA":{"0":1700000000000,"1":"-10m"}}'
ASSIGN_EXAMPLE: Final = '{"topicA":[0,1],"topicB":[0,1]}'

_DURATION = re.compile(r"(?P<count>\d{1,12})\s*(?P<unit>ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first offset that a partition still has."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The end of a partition, as it is when it is asked for."""


@dataclass(frozen=True, slots=True)
class Time:
    """A moment: milliseconds since 1970, or so many before now."""

    millis: int
    before_now: bool = False

    def at(self, now: Timestamp) -> Timestamp:
        """The timestamp that is meant."""
        return Timestamp(now - self.millis if self.before_now else self.millis)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets by partition, -1 for the end and -2 for the beginning."""

    by_partition: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Times:
    """Times by partition: the first record of that time or a later one."""

    by_partition: Mapping[TopicPartition, Time]
    or_latest: bool = False  # where no record is that late; otherwise it is an error


@dataclass(frozen=True, slots=True)
class OneTime:
    """The same time for every partition."""

    time: Time
    or_latest: bool = False


Point = Earliest | Latest | Offsets | Times | OneTime


def point_options(what: str, text: str, prefix: str) -> dict[str, str]:
    """A point such as `earliest`, `-10m` or a time, as an option of the source; `what` names it."""
    if text in {"earliest", "latest"} or text.startswith("{"):
        return {f"{prefix}Offsets": text}
    if text.startswith("-") or text.isdigit():
        return {f"{prefix}Timestamp": text}
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidOption(
            f"{what} must be earliest, latest, -10m or a time such as 2026-01-31T00:00:00Z, "
            f"not {text!r}"
        ) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return {f"{prefix}Timestamp": str(int(moment.timestamp() * 1_000))}


def parse_time(option: str, text: object) -> Time:
    """Milliseconds since 1970, or a duration before now: `-500ms`, `-30s`, `-10m`, `-2h`, `-1d`."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return Time(text)
    if isinstance(text, str):
        plain = text.strip()
        if plain.isascii() and plain.isdigit() and len(plain) <= 19:
            return Time(int(plain))
        found = _DURATION.fullmatch(plain[1:]) if plain.startswith("-") else None
        if found is not None:
            return Time(int(found["count"]) * UNITS[found["unit"]], before_now=True)
    raise InvalidOption(
        f"option {option!r} must be milliseconds since 1970 or a duration such as -10m, "
        f"not {text!r}"
    )


def parse_offsets(option: str, text: str) -> Earliest | Latest | Offsets:
    """`earliest`, `latest`, or offsets in JSON."""
    match text.strip().lower():
        case "earliest":
            return Earliest()
        case "latest":
            return Latest()
    found = {}
    for partition, value in _by_partition(option, text, OFFSETS_EXAMPLE).items():
        if not isinstance(value, int) or isinstance(value, bool) or value < EARLIEST_OFFSET:
            raise InvalidOption(
                f"option {option!r}: the offset of {partition} must be a number from 0 on, "
                f"-1 for latest or -2 for earliest, not {value!r}"
            )
        found[partition] = value
    return Offsets(found)


def parse_times(option: str, text: str, *, or_latest: bool) -> Times:
    """Times by partition in JSON."""
    rows = _by_partition(option, text, TIMES_EXAMPLE)
    return Times({it: parse_time(option, value) for it, value in rows.items()}, or_latest)


def parse_assignment(text: str) -> frozenset[TopicPartition]:
    """Partitions by topic in JSON."""
    found = set()
    for topic, numbers in _json_object("assign", text, ASSIGN_EXAMPLE).items():
        if not isinstance(numbers, list) or not all(
            isinstance(it, int) and not isinstance(it, bool) and it >= 0 for it in numbers
        ):
            raise _not_like("assign", ASSIGN_EXAMPLE, text)
        found |= {TopicPartition(topic, number) for number in numbers}
    return frozenset(found)


def _by_partition(option: str, text: str, example: str) -> dict[TopicPartition, Any]:
    found = {}
    for topic, rows in _json_object(option, text, example).items():
        if not isinstance(rows, dict):
            raise _not_like(option, example, text)
        for number, value in rows.items():
            if not (number.isascii() and number.isdigit()):
                raise _not_like(option, example, text)
            found[TopicPartition(topic, int(number))] = value
    return found


def _json_object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise _not_like(option, example, text)
    return value


def _not_like(option: str, example: str, text: str) -> InvalidOption:
    return InvalidOption(f"option {option!r} must be like {example}, not {text[:200]!r}")
