"""The real clock and the real chance keep to their doors."""

import asyncio

from odradek.model.units import Millis
from odradek.runtime.chance import SystemRandom
from odradek.runtime.clock import SystemClock


def test_a_sleep_never_ends_early() -> None:
    """After `sleep_until` the clock shows the deadline or more."""

    async def sleep() -> None:
        clock = SystemClock()
        for wait in (0, 1, 3):
            deadline = Millis(clock.monotonic() + wait)
            await clock.sleep_until(deadline)
            assert clock.monotonic() >= deadline

    asyncio.run(sleep())


def test_a_deadline_in_the_past_lets_others_run() -> None:
    """A loop of late sleepers does not starve the rest."""

    async def sleep() -> None:
        clock = SystemClock()
        ran: list[str] = []
        asyncio.get_running_loop().call_soon(ran.append, "the other")
        await clock.sleep_until(Millis(0))
        assert ran == ["the other"]

    asyncio.run(sleep())


def test_the_wall_clock_is_in_milliseconds() -> None:
    """Of a magnitude that is after 2020 and before 2300."""
    assert 1_577_836_800_000 < SystemClock().wall() < 10_413_792_000_000


def test_chance_stays_below_its_bound() -> None:
    """Every value is possible, none is outside."""
    chance = SystemRandom()
    assert {chance.below(3) for _ in range(200)} == {0, 1, 2}
    assert len(chance.bytes(16)) == 16
    assert chance.bytes(16) != chance.bytes(16)
