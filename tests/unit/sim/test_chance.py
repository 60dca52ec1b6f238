"""Chance comes from the seed alone."""

from odradek.sim.doors.chance import SeededRandom


def test_chance_is_the_same_everywhere() -> None:
    """The very numbers: a change here makes every kept seed worthless."""
    chance = SeededRandom(7, "world")
    assert [chance.below(1_000) for _ in range(5)] == [424, 275, 318, 807, 304]
    assert chance.stream("disk").bytes(4) == b"\xec\x92$\xd5"


def test_streams_do_not_disturb_each_other() -> None:
    """What one purpose draws does not depend on what another one drew."""
    one, other = SeededRandom(7, "world"), SeededRandom(7, "world")
    other.below(1_000)
    assert one.stream("disk").bytes(8) == other.stream("disk").bytes(8)
    assert one.stream("disk").bytes(8) != one.stream("wires").bytes(8)


def test_every_value_below_the_bound_is_drawn() -> None:
    """None is missing, none is outside."""
    chance = SeededRandom(7, "world")
    assert {chance.below(5) for _ in range(200)} == {0, 1, 2, 3, 4}
    assert {chance.between(3, 5) for _ in range(200)} == {3, 4, 5}
    assert chance.below(1) == 0
    assert chance.bytes(0) == b""
    assert any(chance.one_in(3) for _ in range(50))
    assert not any(chance.one_in(0) for _ in range(50))
