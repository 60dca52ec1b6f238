"""Large requests, a slice at a time: no other client waits longer than one slice takes.

A request with a million rows is decoded, handled and answered by generators that pause after some
hundred rows. In each turn of the loop one of them goes on, the next one in the next turn, so many
large requests slow down one another and not those with few rows.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

from odradek.wire.schema import Array, Struct

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]

_ARRAYS: Final[dict[type[Struct], tuple[str, ...]]] = {}  # of a struct, by name

ROWS_IN_A_SLICE: Final = 250
"""For handlers: a millisecond or two."""


class Slices:
    """Those that are under way."""

    def __init__(self) -> None:
        self._under_way: deque[tuple[Steps[None], Callable[[], bool]]] = deque()

    def begin(self, steps: Steps[None], is_over: Callable[[], bool]) -> bool:
        """Does the first slice now; whether there are more, which come in later turns.

        Once `is_over` says that its client is gone, it is given up.
        """
        if not goes_on(steps):
            return False
        self._under_way.append((steps, is_over))
        if len(self._under_way) == 1:
            asyncio.get_running_loop().call_soon(self._go_on)
        return True

    def _go_on(self) -> None:
        steps, is_over = self._under_way[0]
        if is_over():
            steps.close()
            self._under_way.popleft()
        elif goes_on(steps):
            self._under_way.rotate(-1)
        else:
            self._under_way.remove((steps, is_over))
        if self._under_way:
            asyncio.get_running_loop().call_soon(self._go_on)


def goes_on(steps: Steps[None]) -> bool:
    """Does the next slice; False once all is done."""
    try:
        next(steps)
    except StopIteration:
        return False
    return True


def at_once(steps: Steps[T]) -> T:
    """Without a pause, for what is small."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def dropped(message: Struct) -> Steps[None]:
    """Empties its arrays: to free a million rows in one go takes long, too."""
    for name in arrays(type(message)):
        rows = getattr(message, name)
        if isinstance(rows, list):
            yield from dropped_rows(rows)


def dropped_rows(rows: list[Any]) -> Steps[None]:
    """Empties a list of rows, and theirs."""
    while rows:
        some = rows[-ROWS_IN_A_SLICE:]
        del rows[-ROWS_IN_A_SLICE:]
        if isinstance(some[0], Struct) and arrays(type(some[0])):
            for row in some:
                yield from dropped(row)
        yield


def arrays(kind: type[Struct]) -> tuple[str, ...]:
    """Fields with rows, by name."""
    names = _ARRAYS.get(kind)
    if names is None:
        fields = (field.name for field in kind.FIELDS if isinstance(field.type, Array))
        names = _ARRAYS[kind] = tuple(fields)
    return names


async def pause_after(seen: int) -> None:
    """In a task that has seen so many rows: the others have a turn of the loop at times."""
    if not seen % ROWS_IN_A_SLICE:
        await asyncio.sleep(0)


async def in_turns(steps: Steps[T]) -> T:
    """With a turn of the loop for the others at each pause, within a task."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        await asyncio.sleep(0)
