"""Who waits for an offset is woken in order, once, and not after giving up."""

from odradek.model.positions import Offset
from odradek.replication.waiters import MARKS_MIN, Waiters


def test_the_lower_offset_is_woken_first_and_of_equals_the_first_to_come() -> None:
    """The order of answers is the order of commits; tickets are never compared."""
    waiters = Waiters()
    for end, ticket in ((7, "c"), (5, {"a": 1}), (7, "d"), (9, "e")):
        waiters.add(Offset(end), ticket)
    assert waiters.reached(Offset(4)) == ()
    assert waiters.reached(Offset(7)) == ({"a": 1}, "c", "d")
    assert waiters.reached(Offset(8)) == ()
    assert len(waiters) == 1
    assert waiters.everybody() == ("e",)
    assert waiters.everybody() == ()


def test_who_gave_up_is_not_woken() -> None:
    """A request whose time ran out was answered already."""
    waiters = Waiters()
    first = waiters.add(Offset(1), "a")
    waiters.add(Offset(1), "b")
    first.give_up()
    first.give_up()
    assert len(waiters) == 1
    assert waiters.reached(Offset(1)) == ("b",)
    first.give_up()
    assert len(waiters) == 0


def test_those_who_gave_up_do_not_pile_up() -> None:
    """Long polls on a silent partition end by their time, for ever: memory must not follow."""
    waiters = Waiters()
    waiters.add(Offset(1 << 40), "patient")
    for turn in range(10_000):
        waiters.add(Offset(turn), "hasty").give_up()
        assert len(waiters._heap) <= MARKS_MIN + 1
    assert waiters.everybody() == ("patient",)
