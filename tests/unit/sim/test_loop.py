"""Virtual time: the order of things is the order of their arrival, in every process."""

import asyncio

import pytest

from odradek.sim.doors import loop as loop_module
from odradek.sim.doors.loop import Deadlock, Forbidden, Livelock, SimulatedLoop


def test_a_day_passes_in_no_time() -> None:
    """Sleeping costs nothing, and time is exactly where it should be afterwards."""
    loop = SimulatedLoop()
    loop.run_until_complete(asyncio.sleep(86_400.000001))
    assert loop.now == 86_400_000_001
    loop.close()


def test_equal_deadlines_fire_in_the_order_they_were_set() -> None:
    """Ties go to the first come."""
    loop = SimulatedLoop()
    order: list[object] = []
    for number in range(10):
        loop.call_at(5.0, order.append, number)
    loop.call_at(1.0, order.append, "first")
    loop.run_until(5_000_000)
    assert order == ["first", *range(10)]


def test_a_task_group_cancels_in_the_order_of_birth() -> None:
    """Where asyncio would go by the addresses of the tasks."""
    order: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append(number)

    async def fail_with_children() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                _ = group.create_task(wait(number))
            await asyncio.sleep(1)
            raise KeyError

    loop = SimulatedLoop()
    with pytest.raises(ExceptionGroup):
        loop.run_until_complete(fail_with_children())
    assert order == list(range(20))
    loop.close()


def test_what_asyncio_offers_works() -> None:
    """Groups, timeouts, events, queues, locks, gather, shield, async generators."""

    async def count(until: int) -> "asyncio.Queue[int]":
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        async with asyncio.TaskGroup() as group, asyncio.timeout(5):

            async def put() -> None:
                for number in range(until):
                    await queue.put(number)

            _ = group.create_task(put())
            assert [await queue.get() for _ in range(until)] == list(range(until))
        return queue

    async def everything() -> str:
        assert (await count(5)).empty()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.Event().wait()
        lock = asyncio.Lock()
        async with lock:
            assert (
                "".join(await asyncio.gather(asyncio.sleep(1, "a"), asyncio.sleep(0, "b"))) == "ab"
            )
        return await asyncio.shield(asyncio.sleep(1, "done"))

    loop = SimulatedLoop()
    assert loop.run_until_complete(everything()) == "done"
    assert loop.now == 5_000_000
    loop.close()


def test_nothing_to_wait_for_is_an_error_with_names() -> None:
    """A deadlock ends the run at once, and says who waits and where."""

    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    loop = SimulatedLoop()
    loop.create_task(wait_for_ever(), name="the patient one").get_name()
    with pytest.raises(Deadlock, match=r"the patient one waits at .*test_loop\.py:\d+"):
        loop.run_until_complete(asyncio.Event().wait())
    loop.close()


def test_time_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever spins would never let the next timer fire."""
    monkeypatch.setattr(loop_module, "EVENTS_AT_ONE_MOMENT_MAX", 1_000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the mistake itself
            await asyncio.sleep(0)

    loop = SimulatedLoop()
    with pytest.raises(Livelock, match="spinner"):
        loop.run_until_complete(loop.create_task(spin(), name="spinner"))
    loop.close()


def test_an_error_in_a_callback_ends_the_run() -> None:
    """Nobody else would hear of it."""
    loop = SimulatedLoop()
    loop.call_later(1, int, "not a number")
    with pytest.raises(ValueError, match="not a number"):
        loop.run_until(2_000_000)
    loop.close()


def test_the_real_world_is_refused() -> None:
    """Threads, sockets, names and signals are asked for by name, and refused by name."""
    loop = SimulatedLoop()
    with pytest.raises(Forbidden, match="run_in_executor"):
        loop.run_until_complete(asyncio.to_thread(print))
    with pytest.raises(Forbidden, match="getaddrinfo"):
        loop.run_until_complete(loop.getaddrinfo("localhost", 0))
    with pytest.raises(Forbidden, match="add_reader"):
        loop.add_reader(0, print)
    loop.close()


def test_a_cancelled_timer_does_not_hold_time_up() -> None:
    """Time jumps over what will not happen."""
    loop = SimulatedLoop()
    loop.call_later(10, print).cancel()
    loop.call_later(20, int)
    loop.run_forever()
    assert loop.now == 20_000_000


def test_closing_ends_what_waits() -> None:
    """Coroutines are closed although some of them wait in their `finally`."""
    ended: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("once")
            await asyncio.sleep(1)

    loop = SimulatedLoop()
    loop.create_task(stubborn()).get_name()
    loop.run_until(1)
    assert not ended
    loop.close()
    loop.close()
    assert ended == ["once"]
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)
