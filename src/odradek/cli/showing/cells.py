"""One value as it stands in a table: sizes and times as people read them, or as scripts do."""

from collections.abc import Mapping
from typing import Final

from odradek.model.moments import moment_text
from odradek.model.units import KIB

UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class Size(int):
    """Bytes; on a terminal in the unit that fits, elsewhere as they are."""


class Moment(int):
    """Milliseconds since 1970; on a terminal a date and a time in UTC, elsewhere as they are."""


def cell(value: object, *, for_people: bool = False) -> str:
    """One value as it stands in a table."""
    if value is None:
        return "-"
    if isinstance(value, Size) and for_people:
        return _in_unit(value)
    if isinstance(value, Moment) and for_people:
        return moment_text(value).replace("+00:00", "Z")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, Mapping):
        return ",".join(f"{name}={it}" for name, it in value.items())
    return str(value)


def _in_unit(size: int) -> str:
    number, unit = float(size), 0
    while abs(number) >= KIB and unit < len(UNITS) - 1:
        number, unit = number / KIB, unit + 1
    return f"{size} B" if not unit else f"{number:.1f} {UNITS[unit]}"
