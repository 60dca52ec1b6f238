"""The worker of a log dir, the real one and the simulated: one contract for both."""

import asyncio
import contextlib
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs

from odradek.broker.jobs import drained, off_loop
from odradek.broker.partitions.logs.lanes import Lane
from odradek.ports import Worker
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.worker import ThreadWorker
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.storage.errors import JobFailed, StorageError

Talk = Callable[[Worker], Coroutine[Any, Any, None]]
Run = Callable[[Talk], None]


def _really(talk: Talk) -> None:
    async def main() -> None:
        worker = ThreadWorker("disk")
        with contextlib.closing(worker):
            await talk(worker)

    asyncio.run(main())


def _simulated(talk: Talk) -> None:
    ended: list[bool] = []

    async def main(machine: Machine) -> None:
        del machine
        await talk(SimulatedWorker())
        ended.append(True)

    with World(seed=1) as world:
        world.machine("broker").start(main)
        world.run(seconds=1)
    assert ended


@pytest.fixture(params=[_really, _simulated])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a conversation with one of the two."""
    chosen: Run = request.param
    return chosen


class Noted:
    """A job that notes when it runs and when it ends."""

    def __init__(self, name: str, notes: list[str], error: Exception | None = None) -> None:
        self.name, self.notes, self.error = name, notes, error

    def run(self) -> None:
        """Raises what it was given."""
        self.notes.append(f"{self.name} runs")
        if self.error is not None:
            raise self.error

    def done(self, error: Exception | None) -> None:
        """With what was raised."""
        assert error is self.error
        self.notes.append(f"{self.name} ends")


def test_jobs_run_and_end_in_their_order(run: Run) -> None:
    """Whoever appends to a log twice finds it in the order in which it was said."""
    notes: list[str] = []

    async def talk(worker: Worker) -> None:
        for name in ("first", "second", "third"):
            worker.submit(Noted(name, notes))
        notes.append("busy" if not worker.idle else "idle")
        await drained(worker)
        assert worker.idle

    run(talk)
    assert "busy" in notes
    assert [note for note in notes if note.endswith("runs")] == [
        "first runs",
        "second runs",
        "third runs",
    ]
    assert [note for note in notes if note.endswith("ends")] == [
        "first ends",
        "second ends",
        "third ends",
    ]


def test_a_job_that_fails_does_not_stop_the_next(run: Run) -> None:
    """It hears of its own error when it ends."""
    notes: list[str] = []

    async def talk(worker: Worker) -> None:
        worker.submit(Noted("bad", notes, OSError("gone")))
        worker.submit(Noted("good", notes))
        await drained(worker)

    run(talk)
    assert notes.index("bad ends") < notes.index("good ends")


def test_a_call_returns_or_raises_to_its_caller(run: Run) -> None:
    """As if it had been made in place."""

    async def talk(worker: Worker) -> None:
        assert await off_loop(worker, lambda: 6 * 7) == 42
        with pytest.raises(FileNotFoundError):
            await off_loop(worker, partial(raise_it, FileNotFoundError("gone")))

    run(talk)


def test_an_error_that_nobody_foresees_is_one_of_storage_to_the_caller(run: Run) -> None:
    """It is told, and ends no broker; but a world."""

    async def talk(worker: Worker) -> None:
        if isinstance(worker, SimulatedWorker):
            worker.ends_world = False
        with capture_logs() as events, pytest.raises(JobFailed):
            await off_loop(worker, lambda: 1 // 0)
        assert [it["event"] for it in events] == ["job.failed"]

    run(talk)

    async def careless(worker: Worker) -> None:
        await off_loop(worker, lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        _simulated(careless)


def raise_it(error: Exception) -> None:
    """On the worker."""
    raise error


class Opened:
    """What a call is about: a file, for instance."""

    def raises(self) -> None:
        """On the worker."""
        raise FileNotFoundError("gone")


@pytest.mark.usefixtures("no_collector")
def test_a_call_that_raised_is_let_go_of() -> None:
    """With the files that it had: with one open nobody can unmount the disk."""

    async def talk(worker: Worker) -> None:
        opened = Opened()
        kept = weakref.ref(opened)
        with suppress(FileNotFoundError):
            await off_loop(worker, opened.raises)
        del opened
        await drained(worker)
        assert kept() is None

    _really(talk)


@pytest.mark.usefixtures("no_collector")
def test_work_of_a_lane_that_raised_is_let_go_of() -> None:
    """Its error has all frames that it came through, and is in none of them."""

    async def talk(worker: Worker) -> None:
        async with asyncio.TaskGroup() as tasks:
            lane = Lane(tasks, SystemClock())
            opened = Opened()
            kept = weakref.ref(opened)

            async def work(opened: Opened = opened) -> None:
                raise StorageError(f"it cannot be done with {opened}")

            with suppress(StorageError):
                await lane.result(work)
            del opened, work
            await drained(worker)
            await asyncio.sleep(0)
            assert kept() is None

    _really(talk)


def test_who_gives_up_does_not_disturb_the_job(run: Run) -> None:
    """It is done all the same, and its result is nobody's."""
    done: list[int] = []

    async def talk(worker: Worker) -> None:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(off_loop(worker, lambda: done.append(1)))
            await asyncio.sleep(0)
            task.cancel()
        await drained(worker)

    run(talk)
    assert done == [1]


def test_a_worker_that_is_given_up_ends_every_job(run: Run) -> None:
    """With the error, in their order, those that wait and those that come; each ends once."""
    lost, notes = OSError("it hangs"), list[str]()

    class Lost(Noted):
        def done(self, error: Exception | None) -> None:
            assert error is lost
            self.notes.append(f"{self.name} ends")

    async def talk(worker: Worker) -> None:
        for name in ("first", "second"):
            worker.submit(Lost(name, notes))
        worker.abandon(lost)
        worker.submit(Lost("third", notes))
        with pytest.raises(OSError, match="it hangs"):
            await drained(worker)

    run(talk)
    assert [note for note in notes if note.endswith("ends")] == [
        "first ends",
        "second ends",
        "third ends",
    ]
