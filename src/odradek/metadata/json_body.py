"""The JSON of a znode: written as Kafka's encoder writes it, and read with distrust.

Written: no blanks, the fields in the order in which they are handed in, characters beyond the
basic plane as two escapes. Read: whatever is missing, of another type or out of range is a
`MalformedZnode` that names the path and the field; nothing of Python's own gets out. The size
was bounded by the packet that brought it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from odradek.model.errors import BrokerError

INT32_MAX: Final = (1 << 31) - 1
INT64_MAX: Final = (1 << 63) - 1

Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]

_BEYOND_BASIC_PLANE: Final = re.compile("[\U00010000-\U0010ffff]")


class MalformedZnode(BrokerError):
    """Bytes in a znode that are not what its path promises."""


def encoded(fields: Mapping[str, Json]) -> bytes:
    """The object as Kafka writes it."""
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return _BEYOND_BASIC_PLANE.sub(_as_two_escapes, text).encode()


def _as_two_escapes(match: re.Match[str]) -> str:
    above = ord(match[0]) - 0x10000
    return f"\\u{0xD800 + (above >> 10):04X}\\u{0xDC00 + (above & 0x3FF):04X}"


class Body:
    """One JSON object, read field by field. `place` says where it stands, for messages."""

    __slots__ = ("_fields", "_place")

    def __init__(self, place: str, fields: dict[str, Any]) -> None:
        self._place = place
        self._fields = fields

    @classmethod
    def parse(cls, path: str, data: bytes | None) -> "Body":
        """The object in a znode's data."""
        try:
            text = (data or b"").decode(json.detect_encoding(data or b""), "surrogatepass")
            fields = _DECODER.decode(text)
            if data is not None and b"\\u" in data:
                json.dumps(fields, ensure_ascii=False).encode()  # half a pair is no character
        except (ValueError, RecursionError) as error:
            raise MalformedZnode(f"{path}: no JSON: {error}") from error
        if type(fields) is not dict:
            raise MalformedZnode(f"{path}: a JSON object is expected")
        return cls(path, fields)

    def names(self) -> list[str]:
        """Its fields, as they stand."""
        return list(self._fields)

    def has(self, name: str) -> bool:
        """Whether the field is there, and is not null."""
        return self._fields.get(name) is not None

    def integer(self, name: str, *, low: int, high: int = INT32_MAX) -> int:
        """A whole number within its range, both ends included."""
        return self._checked_integer(name, self._fields.get(name), low, high)

    def integer_text(self, name: str, *, low: int, high: int = INT64_MAX) -> int:
        """A whole number that is written as a text."""
        text = self.text(name)
        if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 20:
            self.refuse(name, text, "a number in a text")
        return self._checked_integer(name, int(text), low, high)

    def text(self, name: str) -> str:
        """A text."""
        value = self._fields.get(name)
        if type(value) is not str:
            self.refuse(name, value, "a text")
        return value

    def body(self, name: str) -> "Body":
        """An object within this one."""
        value = self._fields.get(name)
        if type(value) is not dict:
            self.refuse(name, value, "an object")
        return Body(f"{self._place}: {name}", value)

    def bodies(self, name: str) -> list["Body"]:
        """A list of objects."""
        items = self._list(name)
        if not all(type(item) is dict for item in items):
            self.refuse(name, items, "a list of objects")
        return [Body(f"{self._place}: {name}[{at}]", item) for at, item in enumerate(items)]

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        items = self._list(name)
        if not all(type(item) is str for item in items):
            self.refuse(name, items, "a list of texts")
        return tuple(items)

    def distinct_integers(self, name: str) -> tuple[int, ...]:
        """A list of numbers from 0 on, none of them twice."""
        items = self._list(name)
        if not all(type(item) is int and 0 <= item <= INT32_MAX for item in items):
            self.refuse(name, items, "a list of numbers from 0 on")
        if len(set(items)) != len(items):
            self.refuse(name, items, "a list without repetitions")
        return tuple(items)

    def refuse(self, name: str, value: object, expected: str) -> NoReturn:
        """Says which field is wrong, and what was expected of it."""
        shown = "missing" if value is None else repr(value)[:80]
        raise MalformedZnode(f"{self._place}: {name} is {shown}, but {expected} is expected")

    def _list(self, name: str) -> list[Any]:
        value = self._fields.get(name)
        if type(value) is not list:
            self.refuse(name, value, "a list")
        return value

    def _checked_integer(self, name: str, value: object, low: int, high: int) -> int:
        if type(value) is not int or not low <= value <= high:
            self.refuse(name, value, f"a number from {low} to {high}")
        return value


def whole_number(path: str, text: str | bytes | None) -> int:
    """A number from 0 on that stands alone: a znode's whole data, or a child's name."""
    raw = text.encode() if isinstance(text, str) else text or b""
    if not raw.isdigit() or len(raw) > 10 or int(raw) > INT32_MAX:
        raise MalformedZnode(f"{path}: {raw[:80]!r} is no number from 0 to {INT32_MAX}")
    return int(raw)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
"""Made once: `json.loads` makes one for each text that it reads with a hook."""
