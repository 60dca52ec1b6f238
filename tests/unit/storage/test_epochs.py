"""The leader-epoch history: where an epoch ended, and what truncation leaves of it."""

import pytest

from odradek.model.positions import LeaderEpoch, Offset
from odradek.storage.files.checkpoints import EpochStart
from odradek.storage.logs.epochs import EpochHistory


def history(*entries: tuple[int, int]) -> EpochHistory:
    """A history of these epochs and start offsets."""
    return EpochHistory(EpochStart(LeaderEpoch(e), Offset(s)) for e, s in entries)


def pairs(epochs: EpochHistory) -> list[tuple[int, int]]:
    """As plain numbers."""
    return [(e, s) for e, s in epochs.entries]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),  # no epoch was asked for
        (0, (0, 10)),  # older than all: the first offset that can differ
        (2, (2, 30)),
        (3, (2, 30)),  # never led here: the largest below it (KIP-279)
        (5, (5, 100)),  # the latest ends with the log
        (6, (-1, -1)),  # newer than anything known here
    ],
)
def test_the_end_of_an_epoch(asked: int, answer: tuple[int, int]) -> None:
    """An epoch ends where the next one starts: the answer on which a follower truncates."""
    epochs = history((2, 10), (5, 30))
    assert epochs.end_offset_for(LeaderEpoch(asked), Offset(100)) == answer


def test_an_empty_history_knows_nothing() -> None:
    """A follower that asks is told so, and falls back to its high watermark."""
    assert EpochHistory().end_offset_for(LeaderEpoch(0), Offset(5)) == (-1, -1)
    assert EpochHistory().latest == -1
    assert EpochHistory().epoch_at(Offset(3)) == -1


def test_assigning_an_epoch_replaces_what_contradicts_it() -> None:
    """Entries at the tail that are not older in both columns belong to a history that is gone."""
    epochs = history((1, 0), (3, 10), (4, 20))
    assert not epochs.assign(LeaderEpoch(4), Offset(25))
    assert epochs.assign(LeaderEpoch(5), Offset(20))
    assert pairs(epochs) == [(1, 0), (3, 10), (5, 20)]
    assert epochs.assign(LeaderEpoch(2), Offset(15))
    assert pairs(epochs) == [(1, 0), (2, 15)]
    assert epochs.latest == 2


def test_truncation_from_both_ends() -> None:
    """From the end whole epochs go; from the start the one that holds the offset is moved up."""
    epochs = history((1, 0), (3, 10), (4, 20))
    assert not epochs.truncate_from_start(Offset(0))
    assert epochs.truncate_from_start(Offset(15))
    assert pairs(epochs) == [(3, 15), (4, 20)]
    assert epochs.truncate_from_end(Offset(20))
    assert pairs(epochs) == [(3, 15)]
    assert not epochs.truncate_from_end(Offset(16))
    assert epochs.clear()
    assert pairs(epochs) == []


def test_who_wrote_an_offset() -> None:
    """A leader answers fetches with the epoch that stands at an offset."""
    epochs = history((1, 5), (3, 10))
    assert [epochs.epoch_at(Offset(o)) for o in (0, 5, 9, 10, 99)] == [-1, 1, 1, 3, 3]
    assert epochs.start_of(LeaderEpoch(3)) == 10
    assert epochs.start_of(LeaderEpoch(2)) is None


def test_a_copy_goes_its_own_way() -> None:
    """What is planned for a history does not show before it is done."""
    epochs = history((1, 5))
    plan = epochs.copy()
    plan.assign(LeaderEpoch(2), Offset(9))
    assert epochs.latest == 1
