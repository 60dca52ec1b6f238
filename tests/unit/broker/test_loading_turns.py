"""How a coordinator's log shares the loop with everybody else while it is read."""

import asyncio

import pytest

from odradek.broker.coordinators.record_topics import LOADING_MICROS_MAX, LoadingTurns
from odradek.model.units import Micros
from tests.unit.broker.test_dispatch import StillClock

PART_MICROS = 600


class WorkClock(StillClock):
    """Only work takes time."""

    done = 0

    def micros(self) -> Micros:
        """So much was done."""
        return Micros(self.done)


async def load(others: int, parts: int) -> list[int]:
    """After which parts others had a turn, which takes them so many microseconds each time."""
    clock = WorkClock()
    turns, given = LoadingTurns(clock), []
    for part in range(1, parts + 1):
        clock.done += PART_MICROS

        def work() -> None:
            clock.done += others
            given.append(part)  # noqa: B023 - it is called in this round, or never

        waiting = asyncio.get_running_loop().call_soon(work)
        await turns.give_way()
        waiting.cancel()
    return given


@pytest.mark.parametrize(
    ("others", "given"),
    [
        (0, [1, 2, 3, 4, 5, 6]),
        (PART_MICROS, [1, 2, 3, 4, 5, 6]),
        (2 * PART_MICROS, [1, 3, 5]),
        (100_000, [1, 5]),  # four parts take more than LOADING_MICROS_MAX
    ],
)
def test_it_has_as_much_of_the_loop_as_others_within_a_bound(others: int, given: list[int]) -> None:
    """A small part in each of their turns would take seconds where those are long."""
    assert 3 * PART_MICROS < LOADING_MICROS_MAX <= 4 * PART_MICROS
    assert asyncio.run(load(others, 6)) == given
