"""Timers as values in a heap, by their deadlines."""

from odradek.coordinator.deadlines import STALE_MAX, Deadlines
from odradek.model.units import Millis


def due(deadlines: Deadlines, now: int) -> list[object]:
    """What rings."""
    return list(deadlines.pop_due(Millis(now)))


def test_timers_ring_in_the_order_of_their_deadlines() -> None:
    """Those of one deadline in the order in which they were set; each once."""
    timers = Deadlines()
    for name, deadline in (("c", 30), ("a", 10), ("b1", 20), ("b2", 20)):
        timers.set(name, Millis(deadline))
    assert timers.next() == 10
    assert due(timers, 9) == []
    assert due(timers, 20) == ["a", "b1", "b2"]
    assert due(timers, 100) == ["c"]
    assert timers.next() is None


def test_a_timer_may_be_put_off_and_brought_forward() -> None:
    """Whatever was said before, the last word counts."""
    timers = Deadlines()
    timers.set("a", Millis(10))
    timers.set("a", Millis(30))
    assert due(timers, 29) == []
    timers.set("a", Millis(20))
    timers.set("a", Millis(5))
    assert due(timers, 5) == ["a"]
    assert due(timers, 100) == []


def test_a_cancelled_timer_is_silent_until_it_is_set_again() -> None:
    """Whatever the heap still holds of it."""
    timers = Deadlines()
    timers.set("a", Millis(10))
    timers.cancel("a")
    timers.cancel("never")
    assert due(timers, 10) == []
    timers.set("a", Millis(50))
    assert due(timers, 20) == []
    assert due(timers, 50) == ["a"]


def test_putting_off_a_thousand_times_costs_one_entry() -> None:
    """Heartbeats do nothing else all day long."""
    timers = Deadlines()
    for now in range(1000):
        timers.set("a", Millis(now + 10))
    assert len(timers._heap) == 1
    assert due(timers, 1008) == []
    assert due(timers, 1009) == ["a"]


def test_cancelled_timers_do_not_pile_up() -> None:
    """The heap is swept when most of it is stale, and rings as before."""
    timers = Deadlines()
    timers.set("kept", Millis(7))
    for number in range(10 * STALE_MAX):
        timers.set(number, Millis(5))
        timers.cancel(number)
    assert len(timers._heap) <= 2 + STALE_MAX
    assert due(timers, 10) == ["kept"]


def test_timers_set_while_others_ring_may_ring_too() -> None:
    """A rule may start a timer that is due at once."""
    timers = Deadlines()
    timers.set("a", Millis(1))
    rung = []
    for timer in timers.pop_due(Millis(5)):
        rung.append(timer)
        if timer == "a":
            timers.set("b", Millis(3))
    assert rung == ["a", "b"]
