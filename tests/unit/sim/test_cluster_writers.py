"""What the promise of the compacted topic allows, and what it does not."""

import pytest

from odradek.sim.history import History
from odradek.sim.invariants import Violation
from odradek.sim.worlds.cluster.clients.writers import TheLastOfEachKeyStays

Found = tuple[tuple[str, int], ...]


def history(
    *,
    is_tombstone: bool = False,
    is_everywhere: bool = True,
    given_up: tuple[int, bool] = (0, False),
) -> History:
    """Two records of one key, the second stored by the leader of epoch 5; then somebody reads."""
    told, promise = History(lambda: 0), TheLastOfEachKeyStays()

    def fails(violation: BaseException) -> None:
        raise violation

    told.watch(promise.guarded(fails), promise.watches)
    told.note("writer", "key.sends", "k", *given_up)
    for number, leader_epoch in ((1, 4), (2, 5)):
        told.note("writer", "key.sends", "k", number, is_tombstone)
        told.note("writer", "key.acked", "k", number, leader_epoch, is_everywhere)
    told.note("reader", "keys.asked")
    return told


@pytest.mark.parametrize(
    ("found", "leader_epoch"), [((("k", 1),), 5), ((("k", 1),), 6), ((), 5)], ids=str
)
def test_a_leader_has_what_was_acknowledged_until_its_epoch(
    found: Found, leader_epoch: int
) -> None:
    """By itself and by those before it."""
    with pytest.raises(Violation, match="acknowledged"):
        history().note("reader", "keys.found", found, leader_epoch)


def test_a_leader_that_does_not_know_the_next_one_has_less() -> None:
    """It could not hear that another was elected, and the reader asked it."""
    told = history()
    told.note("reader", "keys.found", (("k", 1),), 4)
    told.note("reader", "keys.asked")
    told.note("reader", "keys.found", (("k", 2),), 5)


def test_a_tombstone_goes_and_nothing_older_is_back() -> None:
    """It is back only where a replica did not have the tombstone when it was acknowledged."""
    history(is_tombstone=True).note("reader", "keys.found", (), 5)
    away = history(is_tombstone=True, is_everywhere=False)
    away.note("reader", "keys.found", (("k", 1),), 5)
    with pytest.raises(Violation, match="k has 1, 2 was acknowledged"):
        history(is_tombstone=True).note("reader", "keys.found", (("k", 1),), 5)


@pytest.mark.parametrize("found", [(("k", 0),), (("k", 1),), ()], ids=str)
def test_what_was_given_up_may_come_later(found: Found) -> None:
    """Its request was on its way; a tombstone among them may take all others away."""
    history(given_up=(0, True)).note("reader", "keys.found", found, 5)
    value = history(given_up=(0, False))
    if found == (("k", 0),):
        value.note("reader", "keys.found", found, 5)
    else:
        with pytest.raises(Violation, match="acknowledged"):
            value.note("reader", "keys.found", found, 5)
