"""Which refusals are written within a minute."""

from odradek.broker.access.repeats import ALL_MAX, COUNTED_MAX, EACH_MAX, Refused, Repeats


def test_many_strangers_share_a_bound() -> None:
    """Whatever addresses they come from; the counts are bounded as well, and none is lost."""
    repeats = Repeats()
    count = ALL_MAX + COUNTED_MAX + 7
    admitted = [repeats.admit(Refused("login", None, f"host-{it}")) for it in range(count)]
    assert admitted == [True] * ALL_MAX + [False] * (count - ALL_MAX)
    left_out = dict(repeats.end())
    assert len(left_out) == COUNTED_MAX + 1
    assert left_out[Refused("login", None, None)] == 7
    assert sum(left_out.values()) == count - ALL_MAX


def test_strangers_hide_no_refused_request() -> None:
    """Each kind of event has a bound of its own."""
    repeats = Repeats()
    for number in range(2 * ALL_MAX):
        repeats.admit(Refused("login", None, f"host-{number}"))
    assert repeats.admit(Refused("request", "User:alice", "host"))


def test_a_minute_begins_anew() -> None:
    """Nothing of the one before counts."""
    repeats = Repeats()
    alice = Refused("request", "User:alice", "host")
    for _ in range(EACH_MAX + 3):
        repeats.admit(alice)
    assert repeats.end() == [(alice, 3)]
    assert repeats.admit(alice)
    assert repeats.end() == []
