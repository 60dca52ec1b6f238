"""Options as Spark hands them over: texts by name, whatever the case, and what they stand for."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from odradek.model.units import GIB, HOUR, KIB, MIB, MINUTE, SECOND, Bytes, Millis
from odradek.pipelines.errors import InvalidOption

INT64_MAX: Final = (1 << 63) - 1
SIZES: Final[Mapping[str, int]] = MappingProxyType({"": 1, "b": 1, "k": KIB, "m": MIB, "g": GIB})
DELAYS: Final[Mapping[str, Millis]] = MappingProxyType(
    {
        "": Millis(1),
        "ms": Millis(1),
        "s": SECOND,
        "m": MINUTE,
        "min": MINUTE,
        "h": HOUR,
    }
)
KAFKA: Final = "kafka."
SPARKS_OWN: Final = ("__", "spark.")
"""What options that Spark adds by itself begin with."""

_SIZE = re.compile(r"(?P<count>\d{1,15})\s*(?P<unit>[kmg]?)i?b?")
_DELAY = re.compile(r"(?P<count>\d{1,15})\s*(?P<unit>[a-z]*)")


class GivenOptions:
    """The options of one reader or writer; names are compared without case."""

    def __init__(self, raw: Mapping[str, str], known: Iterable[str]) -> None:
        self._known = {name.lower(): name for name in known}
        self._texts = {name.lower(): value for name, value in raw.items()}

    def refuse_unknown(self) -> None:
        """InvalidOption for a name that nothing reads, with the nearest one."""
        for name in sorted(self._texts):
            if name in self._known or name.startswith((KAFKA, *SPARKS_OWN)):
                continue
            raise InvalidOption(f"there is no option {name!r}{nearest(name, self._known.values())}")

    def text(self, name: str) -> str | None:
        """The text of an option; None: it was not given."""
        return self._texts.get(name.lower())

    def kafka_names(self) -> list[str]:
        """The settings of Kafka's clients that were given."""
        return sorted(it.removeprefix(KAFKA) for it in self._texts if it.startswith(KAFKA))

    def kafka(self, name: str) -> str | None:
        """The text of a setting of Kafka's clients."""
        return self._texts.get(KAFKA + name)

    def boolean(self, name: str, *, default: bool) -> bool:
        """`true` or `false`."""
        text = self.text(name)
        if text is None:
            return default
        if text.strip().lower() not in {"true", "false"}:
            raise InvalidOption(f"option {name!r} must be true or false, not {text!r}")
        return text.strip().lower() == "true"

    def positive(self, name: str) -> int | None:
        """A number from 1 on."""
        text = self.text(name)
        return None if text is None else _number(f"option {name!r}", text, least=1)

    def kafka_number(self, name: str, default: int, *, least: int = 0) -> int:
        """A number that a setting of Kafka's clients gives."""
        text = self.kafka(name)
        return default if text is None else _number(f"option '{KAFKA}{name}'", text, least=least)

    def size(self, name: str) -> Bytes | None:
        """Bytes, with a unit or without: `64m`, `1g`, `500000`."""
        text = self.text(name)
        if text is None:
            return None
        found = _SIZE.fullmatch(text.strip().lower())
        if found is None or not int(found["count"]):
            raise InvalidOption(f"option {name!r} must be a size such as 64m or 1g, not {text!r}")
        return Bytes(int(found["count"]) * SIZES[found["unit"]])

    def delay(self, name: str, default: Millis) -> Millis:
        """A duration, with a unit or in milliseconds: `15m`, `30s`, `500`."""
        text = self.text(name)
        if text is None:
            return default
        found = _DELAY.fullmatch(text.strip().lower())
        if found is None or found["unit"] not in DELAYS:
            raise InvalidOption(f"option {name!r} must be a duration such as 15m, not {text!r}")
        return Millis(int(found["count"]) * DELAYS[found["unit"]])


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` where a known name is near; otherwise nothing."""
    lowered = {it.lower(): it for it in known}
    near = get_close_matches(name.lower(), lowered, n=1)
    return f"; did you mean {lowered[near[0]]!r}?" if near else ""


def _number(what: str, text: str, *, least: int) -> int:
    plain = text.strip()
    if not (plain.isascii() and plain.isdigit() and least <= int(plain) <= INT64_MAX):
        raise InvalidOption(f"{what} must be a whole number from {least} on, not {text!r}")
    return int(plain)
