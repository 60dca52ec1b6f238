"""The small functions that pack numbers with lists among them."""

import struct

import pytest

from odradek.wire.compiler.shapes import SHAPES_MAX, UNROLLED_MAX, Shapes, Slot

RUN = [Slot("h", False), Slot("i", True), Slot("q", False), Slot("b", True)]  # noqa: FBT003


@pytest.mark.parametrize("lengths", [(0, 0), (1, 3), (8, 8), (9, 0), (200, 1), (0, 20_000)])
@pytest.mark.parametrize("flexible", [False, True])
def test_a_shape_packs_as_one_would_by_hand(lengths: tuple[int, int], *, flexible: bool) -> None:
    """Taken apart or not, a list is its count and its numbers."""
    first, second = list(range(lengths[0])), (5,) * lengths[1]
    shapes = Shapes(RUN, flexible=flexible)
    packed = shapes.make(lengths)(-2, first, 7, second)

    def count(number: int) -> bytes:
        if not flexible:
            return struct.pack(">i", number)
        low, rest = (number + 1) & 127, (number + 1) >> 7
        if not rest:
            return bytes((low,))
        return bytes((low | 128, rest)) if rest < 128 else bytes((low | 128, rest & 127 | 128, 1))

    expected = struct.pack(">h", -2) + count(lengths[0])
    expected += struct.pack(f">{lengths[0]}i", *first) + struct.pack(">q", 7)
    assert packed == expected + count(lengths[1]) + bytes(second)


def test_functions_are_kept_for_short_lists_only() -> None:
    """What clients choose the length of must not fill our memory with functions."""
    shapes = Shapes([Slot("i", True), Slot("i", True)], flexible=True)  # noqa: FBT003
    shapes.make((UNROLLED_MAX + 1, 0))
    assert not shapes
    for lengths in ((one, other) for one in range(9) for other in range(9)):
        shapes.make(lengths)
    assert len(shapes) == 81
    many = Shapes([Slot("i", True)] * 3, flexible=True)  # noqa: FBT003
    for number in range(SHAPES_MAX * 2):
        many.make((number % 9, number // 9 % 9, number // 81))
    assert len(many) == SHAPES_MAX
