"""How long the copy of a replica rests, so that what is appended meanwhile does not wait for it."""

import pytest

from odradek.broker.partitions.logs.copy_pace import IDLE, REST_MAX, WORK, CopyPace
from odradek.model.units import Millis


def test_it_rests_half_as_long_as_it_has_worked() -> None:
    """What is slow is left alone for longer, but not for ever."""
    t = CopyPace(0, Millis(0))
    assert t.rest_after(1, Millis(10)) == 5
    t.rested(Millis(15))
    assert t.rest_after(2, Millis(75)) == 30
    t.rested(Millis(105))
    assert t.rest_after(3, Millis(60_105)) == REST_MAX


def test_a_little_is_done_without_a_rest() -> None:
    """Pieces that take less than a rest is worth are counted together."""
    t = CopyPace(0, Millis(0))
    assert [t.rest_after(it, Millis(it)) for it in range(1, WORK)] == [0] * (WORK - 1)
    assert t.rest_after(WORK, WORK) == WORK // 2


def test_without_appends_there_are_no_rests() -> None:
    """From one second after the last, until the next."""
    t = CopyPace(7, Millis(0))
    assert t.rest_after(7, Millis(IDLE - 1)) > 0
    assert t.rest_after(7, IDLE) == 0
    assert t.rest_after(8, Millis(IDLE + 100)) > 0


@pytest.mark.parametrize("appends", [7, 8])
def test_idle_work_is_not_rested_from_later(appends: int) -> None:
    """What was done while nobody waited counts for nothing when an append comes."""
    t = CopyPace(7, Millis(0))
    assert t.rest_after(7, Millis(IDLE + 1_000)) == 0
    assert t.rest_after(appends, Millis(IDLE + 1_001)) == 0
