"""How long copying rests, so that no more goes in a second than the operator wants."""

from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.replication.throttle import LOOK_AGAIN, ReplicationThrottle

ORDERS = TopicPartition("orders", 0)


def throttle(rate: int | None) -> ReplicationThrottle:
    """Of everything."""
    made = ReplicationThrottle(lambda partition: partition == ORDERS)
    made.rate = rate
    made.note(0, Millis(0))
    return made


def test_without_a_rate_nothing_is_bounded() -> None:
    """However much is copied, and whoever is named."""
    t = throttle(None)
    t.note(1 << 40, Millis(1))
    assert not t.applies_to(ORDERS)
    assert t.free_at(Millis(1)) is None


def test_only_what_was_named_is_bounded() -> None:
    """A rate alone bounds nothing."""
    t = throttle(10)
    assert t.applies_to(ORDERS)
    assert not t.applies_to(TopicPartition("payments", 0))


def test_what_was_too_much_is_waited_for_to_the_millisecond() -> None:
    """300 bytes at 1,000 in a second."""
    t = throttle(1_000)
    t.note(300, Millis(0))
    assert t.free_at(Millis(0)) == 300
    assert t.free_at(Millis(299)) == 300
    assert t.free_at(Millis(300)) is None


def test_a_second_that_was_not_used_may_be_used_later_but_no_more() -> None:
    """Looks are rare, and copies are large: the average is what counts."""
    t = throttle(1_000)
    assert t.free_at(Millis(60_000)) is None
    t.note(1_000, Millis(60_000))
    assert t.free_at(Millis(60_000)) is None
    t.note(1, Millis(60_000))
    assert t.free_at(Millis(60_000)) == 60_001


def test_a_new_rate_counts_within_a_second() -> None:
    """Nobody sleeps for an hour by the old one."""
    t = throttle(1)
    t.note(1 << 30, Millis(0))
    assert t.free_at(Millis(0)) == LOOK_AGAIN
    t.rate = 1 << 30
    assert t.free_at(LOOK_AGAIN) is None


def test_a_rate_of_zero_stops_it() -> None:
    """After what was copied before anybody looked."""
    t = throttle(0)
    t.note(1, Millis(0))
    assert t.free_at(Millis(60_000)) == 60_000 + LOOK_AGAIN
