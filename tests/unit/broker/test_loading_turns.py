"""How a coordinator's log shares the loop with everybody else while it is read."""

import asyncio

import pytest

from odradek.broker.coordinators.record_topics import LOADING_MS_MAX, LoadingTurns, parts_of
from odradek.model.units import Millis
from odradek.records.batch import headers
from odradek.records.build import build_batch
from odradek.records.record import Record
from tests.unit.broker.test_dispatch import StillClock

PART_MS = 3


class WorkClock(StillClock):
    """Only work takes time."""

    millis = 0

    def monotonic(self) -> Millis:
        """So much was done."""
        return Millis(self.millis)


async def load(others: int, parts: int) -> list[int]:
    """After which parts others had a turn, which takes them so many milliseconds each time."""
    clock = WorkClock()
    turns, given = LoadingTurns(clock), []
    for part in range(1, parts + 1):
        clock.millis += PART_MS

        def work() -> None:
            clock.millis += others
            given.append(part)  # noqa: B023 - it is called in this round, or never

        waiting = asyncio.get_running_loop().call_soon(work)
        await turns.give_way()
        waiting.cancel()
    return given


@pytest.mark.parametrize(
    ("others", "given"),
    [
        (0, [1, 2, 3, 4, 5, 6]),
        (PART_MS, [1, 2, 3, 4, 5, 6]),
        (2 * PART_MS, [1, 3, 5]),
        (500, [1, 5]),  # four parts take more than LOADING_MS_MAX
    ],
)
def test_it_has_as_much_of_the_loop_as_others_within_a_bound(others: int, given: list[int]) -> None:
    """A small part in each of their turns would take seconds where those are long."""
    assert 3 * PART_MS < LOADING_MS_MAX <= 4 * PART_MS
    assert asyncio.run(load(others, 6)) == given


def test_a_turn_believes_few_records() -> None:
    """Ten microseconds for each: what is sent to a broker waits for some turns, and each waits."""
    batch = bytes(build_batch([Record(0, 0, b"a transactional id", bytes(40))]))
    piece = batch * 1_000
    parts = [*parts_of(piece)]
    assert b"".join(parts) == piece
    assert all(0 < sum(1 for _ in headers(part)) <= 80 for part in parts)
