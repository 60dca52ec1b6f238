"""Names of fields that can be columns: all readers of a table take them for the same one."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

BYTES_MAX: Final = 255
REFUSED: Final = frozenset(' .,;{}()=`"')
"""Delta and Parquet take no column of such a name, or a query takes it for something else."""


class Unfit(ValueError):
    """A value that its column cannot hold; the text says why."""


class TwiceNamed(dict[str, Any]):
    """An object in which some names stand more than once: which value counts is not known."""

    def __init__(self, pairs: Mapping[str, Any], names: frozenset[str]) -> None:
        super().__init__(pairs)
        self.names = names


def once(fields: Mapping[str, Any], name: str) -> Any:
    """What a field holds; Unfit where it stands twice."""
    if isinstance(fields, TwiceNamed) and name in fields.names:
        raise Unfit(f"field {name!r} is there more than once")
    return fields.get(name)


def name_fault(name: str) -> str | None:
    """Why no column can be called so; None: one can."""
    if not name:
        return "it has no name"
    if any(it in REFUSED or not it.isprintable() for it in name):
        return "names have no spaces, no control characters and none of " + "".join(
            sorted(REFUSED - {" "})
        )
    if len(name.encode(errors="replace")) > BYTES_MAX:
        return f"names have at most {BYTES_MAX} bytes"
    return None


def same_but_case(name: str, names: Iterable[str]) -> str | None:
    """Another name among these that readers take for this one: to many of them case is nothing."""
    folded = name.casefold()
    return next((it for it in names if it != name and it.casefold() == folded), None)


def check_name(name: str, others: Iterable[str]) -> None:
    """Unfit for a name that no column can have beside these."""
    if fault := name_fault(name):
        raise Unfit(f"field {name[:60]!r}: {fault}")
    if other := same_but_case(name, others):
        raise Unfit(f"field {name!r} differs from {other!r} in case only")
