"""Many deadlines, one timer of the loop."""

import asyncio

from odradek.broker.timers import Timers
from odradek.model.units import Millis
from odradek.runtime.doors.clock import SystemClock
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World


def test_deadlines_are_kept_in_their_order() -> None:
    """Equal ones in the order in which they were set; a cancelled one never rings."""
    rung: list[str] = []

    async def main(machine: Machine) -> None:
        timers, now = Timers(machine.clock), machine.clock.monotonic()
        timers.at(Millis(now + 30), lambda: rung.append("late"))
        timers.at(Millis(now + 10), lambda: rung.append("early"))
        timers.at(Millis(now + 10), lambda: rung.append("early, too"))
        timers.at(Millis(now + 20), lambda: rung.append("never")).cancel()
        await machine.clock.sleep_until(Millis(now + 20))
        assert rung == ["early", "early, too"]
        await machine.clock.sleep_until(Millis(now + 40))

    with World(seed=1) as world:
        world.machine("broker").start(main)
        world.run(seconds=1)
    assert rung == ["early", "early, too", "late"]


def test_a_deadline_may_be_set_while_another_rings() -> None:
    """Also one that has passed already: it comes in its own turn."""
    rung: list[int] = []

    async def main(machine: Machine) -> None:
        timers, now = Timers(machine.clock), machine.clock.monotonic()

        def again() -> None:
            rung.append(machine.clock.monotonic() - now)
            if len(rung) < 3:
                timers.at(Millis(now + 5 * len(rung)), again)

        timers.at(Millis(now + 2), again)
        await machine.clock.sleep_until(Millis(now + 50))

    with World(seed=1) as world:
        world.machine("broker").start(main)
        world.run(seconds=1)
    assert rung == [2, 5, 10]


def test_a_late_deadline_that_is_set_while_one_rings_keeps_no_other_waiting() -> None:
    """The next to ring is the earliest of all, whoever was set last."""
    rung: list[int] = []

    async def main(machine: Machine) -> None:
        timers, now = Timers(machine.clock), machine.clock.monotonic()

        def set_a_late_one() -> None:
            timers.at(Millis(now + 60_000), lambda: None)

        timers.at(Millis(now + 10), set_a_late_one)
        timers.at(Millis(now + 20), lambda: rung.append(machine.clock.monotonic() - now))
        await machine.clock.sleep_until(Millis(now + 50))

    with World(seed=1) as world:
        world.machine("broker").start(main)
        world.run(seconds=1)
    assert rung == [20]


def test_a_cancelled_deadline_wakes_nobody() -> None:
    """A reader that is woken a thousand times a second cancels a deadline each time."""

    async def main(machine: Machine) -> None:
        timers, now = Timers(machine.clock), machine.clock.monotonic()
        timers.at(Millis(now + 60_000), lambda: None)
        for millis in range(1, 1_000):
            timers.at(Millis(now + millis), lambda: None).cancel()
        before = world.loop.events
        await machine.clock.sleep_until(Millis(now + 2_000))
        assert world.loop.events - before < 10

    with World(seed=1) as world:
        world.machine("broker").start(main)
        world.run(seconds=3)


def test_cancelled_deadlines_do_not_pile_up() -> None:
    """Nearly all are cancelled: requests are answered before their time is up."""

    async def main(machine: Machine) -> None:
        timers, now = Timers(machine.clock), machine.clock.monotonic()
        for _ in range(10_000):
            timers.at(Millis(now + 60_000), lambda: None).cancel()
        assert len(timers._heap) < 3_000
        timers.close()

    with World(seed=1) as world:
        world.machine("broker").start(main)
        world.run(seconds=1)


def test_one_that_fails_keeps_no_other_from_its_turn() -> None:
    """The mistake is the loop's to tell; the rest is rung."""
    mistakes: list[object] = []

    def fail() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        loop, rung = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda _, context: mistakes.append(context["exception"]))
        clock = SystemClock()
        timers = Timers(clock)
        timers.at(clock.monotonic(), fail)
        timers.at(clock.monotonic(), rung.set)
        await asyncio.wait_for(rung.wait(), 10)

    asyncio.run(main())
    assert [type(mistake) for mistake in mistakes] == [ZeroDivisionError]
