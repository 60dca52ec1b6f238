"""What the promise of the compacted topic allows, and what it does not."""

import pytest

from odradek.sim.history import History
from odradek.sim.invariants import Violation
from odradek.sim.worlds.cluster_writers import TheLastOfEachKeyStays


def history() -> History:
    """Two values of one key, the second stored by the leader of epoch 5; then somebody reads."""
    told, promise = History(lambda: 0), TheLastOfEachKeyStays()

    def fails(violation: BaseException) -> None:
        raise violation

    told.watch(promise.guarded(fails), promise.watches)
    is_tombstone = False
    for number, leader_epoch in ((1, 4), (2, 5)):
        told.note("writer", "key.sends", "k", number, is_tombstone)
        told.note("writer", "key.acked", "k", number, leader_epoch)
    told.note("reader", "keys.asked")
    return told


@pytest.mark.parametrize(
    ("found", "leader_epoch"), [((("k", 1),), 5), ((("k", 1),), 6), ((), 5)], ids=str
)
def test_a_leader_has_what_was_acknowledged_until_its_epoch(
    found: tuple[tuple[str, int], ...], leader_epoch: int
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
