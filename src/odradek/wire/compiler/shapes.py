"""Runs of fixed fields with arrays of numbers among them, packed in one go.

Replicas of a partition are such a run: four numbers, three lists. How long the lists are decides
the layout, and few lengths occur: so there is one small function per combination of lengths, which
takes the lists apart and packs everything at once. That is a quarter quicker than to pass them on
with `*`, and twice as quick as to write each for itself.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from odradek.wire.compiler.primitives import varint

UNROLLED_MAX: Final = 8  # elements of one array
SHAPES_MAX: Final = 256  # of one run: what comes after is written the plain way

Shape = Callable[..., bytes]


class Slot(NamedTuple):
    """One field of a run: its code, and whether there is an array of it."""

    code: str
    array: bool


class Shapes(dict[Any, Shape]):
    """By the lengths of the arrays: a function of the fields' values. `make` adds a missing one."""

    def __init__(self, slots: list[Slot], *, flexible: bool) -> None:
        self.slots = slots
        self.flexible = flexible

    def make(self, key: int | tuple[int, ...]) -> Shape:
        """The function for arrays of these lengths; kept if they are short and not too many."""
        counts = (key,) if isinstance(key, int) else key
        if max(counts) > UNROLLED_MAX or len(self) >= SHAPES_MAX:
            return self._plain
        self[key] = self._unrolled(counts)
        return self[key]

    def _prefix(self, count: int) -> bytes:
        return varint(count + 1) if self.flexible else struct.pack(">i", count)

    def _unrolled(self, counts: tuple[int, ...]) -> Shape:
        layout, parameters, lines, values = ">", [], [], []
        lengths = iter(counts)
        for number, slot in enumerate(self.slots):
            name = f"f{number}"
            parameters.append(name)
            if not slot.array:
                layout += slot.code
                values.append(name)
                continue
            count = next(lengths)
            prefix = self._prefix(count)
            layout += f"{len(prefix)}s{count}{slot.code}"
            items = [f"{name}_{item}" for item in range(count)]
            values += [repr(prefix), *items]
            lines += [f"    {', '.join(items)}, = {name}"] if items else []
        body = [*lines, f"    return pack({', '.join(values)})"]
        text = "\n".join([f"def shape({', '.join(parameters)}):", *body, ""])
        namespace: dict[str, Any] = {"pack": struct.Struct(layout).pack}
        exec(compile(text, "<wire shape>", "exec"), namespace)  # noqa: S102 - part of the compiler
        shape: Shape = namespace["shape"]
        return shape

    def _plain(self, *values: Any) -> bytes:
        out = []
        for slot, value in zip(self.slots, values, strict=True):
            if slot.array:
                out.append(self._prefix(len(value)))
                out.append(struct.pack(f">{len(value)}{slot.code}", *value))
            else:
                out.append(struct.pack(">" + slot.code, value))
        return b"".join(out)
