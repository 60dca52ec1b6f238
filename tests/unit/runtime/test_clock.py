"""The real clock and the real chance keep to their doors."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import thread_time_ns

import pytest

from odradek.model.units import Millis
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock


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


@contextmanager
def shared_processor() -> Iterator[None]:
    """This thread on one processor, beside a process that wants all of it."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(mine)})
    other = os.fork()
    if not other:
        while True:
            pass
    try:
        yield
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
        os.sched_setaffinity(0, mine)


def test_what_others_take_of_the_processor_is_not_idle() -> None:
    """A loop that is ready and is not let run has no time left, and does not look idle."""
    if not Path("/proc/thread-self/schedstat").exists():
        pytest.skip("this system does not count how long a thread waits for a processor")
    clock = SystemClock()
    with shared_processor():
        had, counted = thread_time_ns(), clock.worked()
        waited = 0
        while waited < 50_000 and thread_time_ns() - had < 5_000_000_000:
            waited = clock.worked() - counted - (thread_time_ns() - had) // 1_000
    assert waited >= 50_000
