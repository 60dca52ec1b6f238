"""What a setting's value may be: how its text is read, printed, and what is allowed.

A kind knows Kafka's type of the setting, which DescribeConfigs names on the wire and which bounds
an integer to 16, 32 or 64 bits. Text is read as Java reads it where Kafka's users could tell the
difference, and refused where Python alone would be generous: no underscores, no digits of other
scripts, no infinities. A refusal is a clause that goes on after "name=value: ".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from math import inf, isfinite
from typing import Final, Generic, TypeVar

from odradek.model.units import HOUR, MINUTE, SECOND, Bytes, Millis

T = TypeVar("T")
N = TypeVar("N", bound=int)

MILLISECOND: Final = Millis(1)
PORT: Final = r"([0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
"""The pattern of a TCP port."""
JAVA_LONG_MAX: Final = (1 << 63) - 1
JAVA_DOUBLE_MAX: Final = 1.7976931348623157e308

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(
    r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,4})?", re.ASCII
)


class ConfigType(IntEnum):
    """Kafka's types, with their numbers in DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_UNITS: Final = {
    MILLISECOND: "milliseconds",
    SECOND: "seconds",
    MINUTE: "minutes",
    HOUR: "hours",
}
_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


class NotAllowed(ValueError):
    """A text that is no value; the sentence says what is allowed."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One sort of value: its type in Kafka, its reader and printer, and a clause for people."""

    type: ConfigType
    parse: Callable[[str], T]
    text: Callable[[T], str]
    allowed: str
    may_be_unset: bool = False


class Secret:
    """A password: it can be used, but printing it by mistake shows nothing."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "[hidden]"


def _integers(
    type: ConfigType,  # noqa: A002 - Kafka's word, as everywhere in the table
    low: int | None,
    high: int | None,
    rest: str = "",
) -> tuple[Callable[[str], int], str]:
    bits = _BITS[type]
    least = -(1 << (bits - 1)) if low is None else low
    most = (1 << (bits - 1)) - 1 if high is None else high
    if low is None and high is None:
        allowed = f"a {bits}-bit integer{rest}"
    elif high is None:
        allowed = f"a {bits}-bit integer of at least {least}{rest}"
    else:
        allowed = f"an integer from {least} to {most}{rest}"

    def parse(text: str) -> int:
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise NotAllowed(f"must be {allowed}")
        return value

    return parse, allowed


def number(
    low: int | None = None,
    high: int | None = None,
    *,
    type: ConfigType = ConfigType.INT,  # noqa: A002 - as above
    also: int | None = None,
) -> Kind[int]:
    """An integer within bounds, `also` being one value outside of them."""
    within, allowed = _integers(type, low, high, "" if also is None else f", or {also}")

    def parse(text: str) -> int:
        return also if also is not None and text == str(also) else within(text)

    return Kind(type, parse, str, allowed)


def size(
    low: int | None = None,
    high: int | None = None,
    *,
    type: ConfigType = ConfigType.INT,  # noqa: A002 - as above
) -> Kind[Bytes]:
    """A number of bytes."""
    parse, allowed = _integers(type, low, high, ", in bytes")
    return Kind(type, lambda text: Bytes(parse(text)), str, allowed)


def duration(
    low: int | None = None,
    high: int | None = None,
    *,
    type: ConfigType = ConfigType.LONG,  # noqa: A002 - as above
    unit: Millis = MILLISECOND,
) -> Kind[Millis]:
    """A time, written in whole units; the value is in milliseconds, whatever the unit."""
    parse, allowed = _integers(type, low, high, f", in {_UNITS[unit]}")
    return Kind(
        type, lambda text: Millis(parse(text) * unit), lambda value: str(value // unit), allowed
    )


def unlimited(kind: Kind[N], *, below: int | None = None) -> Kind[N | None]:
    """As `kind`, or -1 for "no limit", which is None here; for some, any number `below` is."""
    allowed = f"{kind.allowed}; or -1 for no limit"
    least, most = (-1, -1) if below is None else (-(1 << (_BITS[kind.type] - 1)), below - 1)

    def parse(text: str) -> N | None:
        if _INTEGER.fullmatch(text) and least <= int(text) <= most:
            return None
        try:
            return kind.parse(text)
        except NotAllowed:
            raise NotAllowed(f"must be {allowed}") from None

    return Kind(
        kind.type, parse, lambda value: "-1" if value is None else kind.text(value), allowed
    )


def optional(kind: Kind[T]) -> Kind[T | None]:
    """As `kind`, but nothing is said for it by default, which is None."""
    return Kind(
        kind.type,
        kind.parse,
        lambda value: "" if value is None else kind.text(value),
        kind.allowed,
        may_be_unset=True,
    )


def _parse_flag(text: str) -> bool:
    lowered = text.lower()
    if lowered not in {"true", "false"}:
        raise NotAllowed("must be true or false")
    return lowered == "true"


def flag() -> Kind[bool]:
    """True or false, in capitals or not."""
    return Kind(ConfigType.BOOLEAN, _parse_flag, lambda value: str(value).lower(), "true or false")


def never(reason: str) -> Kind[bool]:
    """False; true is refused, for it would promise what is not there."""
    allowed = f"false: {reason}"

    def parse(text: str) -> bool:
        if _parse_flag(text):
            raise NotAllowed(f"must be {allowed}")
        return False

    return Kind(ConfigType.BOOLEAN, parse, lambda value: str(value).lower(), allowed)


def decimal(low: float = -inf, high: float = inf) -> Kind[float]:
    """A number with a fraction."""
    bounded = isfinite(low) and isfinite(high)
    allowed = f"a number from {low:g} to {high:g}" if bounded else "a number"

    def parse(text: str) -> float:
        value = float(text) if _DECIMAL.fullmatch(text) else inf
        if not isfinite(value) or not low <= value <= high:
            raise NotAllowed(f"must be {allowed}")
        return value

    return Kind(ConfigType.DOUBLE, parse, java_double, allowed)


def string(pattern: str = "", allowed: str = "a text") -> Kind[str]:
    """Any text, or one that matches the whole pattern."""
    matches = re.compile(pattern, re.ASCII) if pattern else None

    def parse(text: str) -> str:
        if matches and not matches.fullmatch(text):
            raise NotAllowed(f"must be {allowed}")
        return text

    return Kind(ConfigType.STRING, parse, str, allowed)


def choice(
    *names: str,
    type: ConfigType = ConfigType.STRING,  # noqa: A002 - as above
) -> Kind[str]:
    """One of these words, in these letters."""
    allowed = f"one of {', '.join(names)}"

    def parse(text: str) -> str:
        if text not in names:
            raise NotAllowed(f"must be {allowed}")
        return text

    return Kind(type, parse, str, allowed)


def listing(
    *names: str,
    pattern: str = "",
    allowed: str = "a list, separated by commas",
    type: ConfigType = ConfigType.LIST,  # noqa: A002 - as above
) -> Kind[tuple[str, ...]]:
    """Texts separated by commas; if names or a pattern are given, each must be one of them."""
    matches = re.compile(pattern, re.ASCII) if pattern else None
    if names:
        allowed = f"a list of {', '.join(names)}, separated by commas"

    def parse(text: str) -> tuple[str, ...]:
        items = tuple(item.strip() for item in text.split(",")) if text else ()
        known = all(item in names for item in items) if names else True
        formed = all(matches.fullmatch(item) for item in items) if matches else True
        if not known or not formed:
            raise NotAllowed(f"must be {allowed}")
        return items

    return Kind(type, parse, ",".join, allowed)


def principals() -> Kind[tuple[str, ...]]:
    """Principals such as User:alice, separated by semicolons: a name can have commas."""
    allowed = "principals such as User:alice, separated by semicolons"

    def parse(text: str) -> tuple[str, ...]:
        items = tuple(item.strip() for item in text.strip("; ").split(";")) if text.strip() else ()
        if not all(":" in item.strip(":") for item in items):
            raise NotAllowed(f"must be {allowed}")
        return items

    return Kind(ConfigType.STRING, parse, ";".join, allowed)


def secret() -> Kind[Secret]:
    """A password; it is never printed."""
    return Kind(ConfigType.PASSWORD, Secret, lambda _: "[hidden]", "a secret")


def java_double(value: float) -> str:
    """As Java prints a double, because DescribeConfigs shows it to Kafka's tools."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits = f"{value:.17e}"
        power = int(digits.partition("e")[2])
        shortest = mantissa.replace(".", "").replace("-", "").strip("0")
        mantissa = f"{'-' if value < 0 else ''}{shortest[0]}.{shortest[1:] or '0'}"
        return f"{mantissa}E{power}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
