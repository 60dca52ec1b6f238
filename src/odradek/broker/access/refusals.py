"""A refusal with very many rows, made in slices: a stranger may ask for a million of them.

Each API makes its refusal from a request. A large one is cut into parts with a few hundred rows,
each is refused by itself, and the answers are put together. A row whose own rows are cut stands in
both parts, and its two answers are one. A name that stands in two parts is answered twice.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, arrays
from odradek.wire.schema import Request, Response, Struct

ANEW: Final = 0  # a part of nothing that the part before it has, too


def refused_in_slices(
    refuse: Callable[[Any], Response | None], request: Request
) -> Steps[Response | None]:
    """What `refuse` answers to a request, and for rows of it."""
    answer: Response | None = None
    for part, _, shared in _parts(request):
        found = refuse(part)
        if answer is None:
            answer = found
        elif found is not None:
            _join(answer, found, shared)
        if answer is None:
            return None
        yield
    return answer


def _parts(whole: Struct) -> Iterator[tuple[Any, int, int]]:
    """Each with its rows, and how many levels it shares with the part before it: itself, its row.

    They are made as they are asked for: to count the rows of all first would take too long.
    """
    kept: dict[str, list[Any]] = {}
    count, shared, is_first = 1, ANEW, True
    for name in arrays(type(whole)):
        for row in getattr(whole, name) or ():
            has_rows = isinstance(row, Struct) and arrays(type(row))
            pieces = _parts(row) if has_rows else ((row, 1, ANEW),)
            for piece, size, inner in pieces:
                if kept and count + size > ROWS_IN_A_SLICE:
                    yield _part(whole, kept), count, shared
                    kept, count, is_first = {}, 1, False
                if not kept:
                    shared = ANEW if is_first else inner + 1
                kept.setdefault(name, []).append(piece)
                count += size
    if kept or is_first:
        yield _part(whole, kept), count, shared


def _part(whole: Struct, kept: dict[str, list[Any]]) -> Struct:
    """The same with these rows alone; what was null stays so."""
    part, lists = whole.BLANK(), arrays(type(whole))
    for field in whole.FIELDS:
        value = getattr(whole, field.name)
        if field.name in lists and value is not None:
            value = kept.get(field.name, [])
        setattr(part, field.name, value)
    return part


def _join(answer: Struct, more: Struct, shared: int) -> None:
    """Adds the rows of an answer to those of the one before it."""
    for name in arrays(type(answer)):
        rows, further = getattr(answer, name), getattr(more, name)
        if not further:
            continue
        if not rows:
            setattr(answer, name, further)
            continue
        at = 0
        if shared > 1 and _are_one(rows[-1], further[0]):
            _join(rows[-1], further[0], shared - 1)
            at = 1
        rows.extend(further[at:])


def _are_one(row: object, other: object) -> bool:
    """Whether they differ in their rows alone."""
    if not isinstance(row, Struct) or not isinstance(other, Struct):
        return False
    lists = arrays(type(row))
    return bool(lists) and all(
        getattr(row, field.name) == getattr(other, field.name)
        for field in row.FIELDS
        if field.name not in lists
    )
