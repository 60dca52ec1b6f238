"""One JSON object as it was written: every number exactly, every name, however often it stands."""

import json
from decimal import Decimal
from typing import Any, Final

from odradek.pipelines.formats.names import TwiceNamed

INT_DIGITS_MAX: Final = 4_000
"""Python turns longer texts into no whole number."""


class NoObject(ValueError):
    """A value that is no JSON object; the text says why."""


def read_object(value: bytes) -> dict[str, Any]:
    """Whole numbers as `int`, all others as `Decimal`; NoObject for what is none."""
    found = read_value(value)
    if not isinstance(found, dict):
        raise NoObject("the value is JSON, but no object")
    return found


def read_value(value: bytes) -> Any:
    """The same of JSON of any kind."""
    try:
        return _DECODER.decode(value.decode())
    except UnicodeDecodeError as error:
        raise NoObject(f"the value is no text in UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise NoObject("the value is nested too deep") from error
    except (ValueError, ArithmeticError) as error:
        raise NoObject(f"the value is no JSON: {error}") from error


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = frozenset(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    return TwiceNamed(found, twice)


def _whole(text: str) -> int | Decimal:
    return Decimal(text) if len(text) > INT_DIGITS_MAX or text == "-0" else int(text)


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_fields, parse_float=Decimal, parse_int=_whole, parse_constant=_refused
)
