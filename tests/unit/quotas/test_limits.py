"""Whose limit counts: the most specific of Kafka's eight levels."""

from itertools import product
from typing import Final

from odradek.model.names import DEFAULT_ENTITY
from odradek.quotas.limits import REMEMBERED_MAX, Kind, Limit, Limits, Owner, Share

LEVELS: Final = (
    (Owner("alice", "app"), Share("alice", "app")),
    (Owner("alice", DEFAULT_ENTITY), Share("alice", "app")),
    (Owner("alice", None), Share("alice", "")),
    (Owner(DEFAULT_ENTITY, "app"), Share("alice", "app")),
    (Owner(DEFAULT_ENTITY, DEFAULT_ENTITY), Share("alice", "app")),
    (Owner(DEFAULT_ENTITY, None), Share("alice", "")),
    (Owner(None, "app"), Share("", "app")),
    (Owner(None, DEFAULT_ENTITY), Share("", "app")),
)
"""From the most specific on, and by which its use is counted."""


def test_the_most_specific_one_counts() -> None:
    """Of any set of them."""
    for present in product((False, True), repeat=len(LEVELS)):
        limits, expected = Limits(), None
        for number, ((owner, share), is_there) in enumerate(zip(LEVELS, present, strict=True)):
            if is_there:
                limits.put(owner, {Kind.PRODUCED: number + 1})
                expected = expected or Limit(number + 1, share)
        assert limits.find(Kind.PRODUCED, "alice", "app") == expected
        assert limits.find(Kind.FETCHED, "alice", "app") is None


def test_a_limit_that_is_changed_or_taken_away_counts_at_once() -> None:
    """Though its answer was remembered."""
    limits, alice = Limits(), Owner("alice", None)
    limits.put(Owner(DEFAULT_ENTITY, None), {Kind.TIME: 50})
    limits.put(alice, {Kind.TIME: 10, Kind.PRODUCED: 1})
    assert limits.find(Kind.TIME, "alice", "app") == Limit(10, Share("alice", ""))
    limits.put(alice, {Kind.TIME: 20})
    assert limits.find(Kind.TIME, "alice", "app") == Limit(20, Share("alice", ""))
    assert limits.find(Kind.PRODUCED, "alice", "app") is None
    limits.put(alice, {})
    assert limits.find(Kind.TIME, "alice", "app") == Limit(50, Share("alice", ""))
    assert not limits.is_empty
    limits.put(Owner(DEFAULT_ENTITY, None), {})
    assert limits.is_empty


def test_clients_that_call_themselves_anew_each_time_fill_no_memory() -> None:
    """Answers are remembered for so many."""
    limits = Limits()
    limits.put(Owner(None, DEFAULT_ENTITY), {Kind.TIME: 1})
    for number in range(REMEMBERED_MAX + 1):
        limits.find(Kind.TIME, "ANONYMOUS", f"client-{number}")
    assert len(limits._found) <= REMEMBERED_MAX
