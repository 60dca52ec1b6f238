"""Simulated code that touches the real world is stopped, and its line is named."""

import asyncio
import datetime as dt
import os
import random
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from odradek.sim.doors.loop import Forbidden
from odradek.sim.stage.world import World

BEGINNING = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SEEDED = random.Random(1).random()


def temptations() -> dict[str, Callable[[], object]]:
    """Looked up when they are called, as a module that says `time.time()` does."""
    here = Path(__file__)
    return {
        "time": lambda: time.time(),  # noqa: PLW0108
        "time_ns": lambda: time.time_ns(),  # noqa: PLW0108
        "monotonic": lambda: time.monotonic(),  # noqa: PLW0108
        "perf_counter": lambda: time.perf_counter(),  # noqa: PLW0108
        "process_time": lambda: time.process_time(),  # noqa: PLW0108
        "clock_gettime": lambda: time.clock_gettime(time.CLOCK_MONOTONIC),
        "localtime": lambda: time.localtime(),  # noqa: PLW0108
        "sleep": lambda: time.sleep(0),
        "now": lambda: dt.datetime.now(tz=dt.UTC),
        "datetime's today": lambda: dt.datetime.today(),  # noqa: DTZ002, PLW0108
        "today": lambda: dt.date.today(),  # noqa: DTZ011, PLW0108
        "random": lambda: random.random(),  # noqa: PLW0108
        "gauss": lambda: random.gauss(),  # noqa: PLW0108
        "shuffle": lambda: random.shuffle([1, 2]),
        "no seed": lambda: random.Random(),  # noqa: PLW0108
        "the system's": lambda: random.SystemRandom().random(),
        "urandom": lambda: os.urandom(1),
        "secrets": lambda: secrets.token_bytes(1),
        "a secret choice": lambda: secrets.choice("ab"),
        "uuid": lambda: uuid.uuid4(),  # noqa: PLW0108
        "uuid1": lambda: uuid.uuid1(),  # noqa: PLW0108
        "open": lambda: here.open().close(),
        "os.open": lambda: os.close(os.open(here, os.O_RDONLY)),
        "exists": lambda: here.exists(),  # noqa: PLW0108
        "stat": lambda: here.lstat(),  # noqa: PLW0108
        "unlink": lambda: Path("no-such-file").unlink(missing_ok=True),
        "rename": lambda: Path("no-such-file").rename("neither"),
        "listdir": lambda: list(Path().iterdir()),
        "temporary": lambda: tempfile.TemporaryFile().close(),
        "database": lambda: sqlite3.connect(":memory:").close(),
        "socket": lambda: socket.socket().close(),
        "name": lambda: socket.getaddrinfo("127.0.0.1", 80),
        "my name": lambda: socket.gethostname(),  # noqa: PLW0108
        "thread": lambda: threading.Thread(target=int).start(),
        "pool": lambda: ThreadPoolExecutor().submit(int),
        "process": lambda: subprocess.run(["true"], check=False),
        "signal": lambda: os.kill(os.getpid(), 0),
        "another loop": lambda: asyncio.new_event_loop().close(),
    }


@pytest.mark.parametrize("temptation", temptations())
def test_touching_the_real_world_raises(temptation: str) -> None:
    """Clocks, randomness, files, sockets, threads, processes; the line is that of who asked."""
    world = World(seed=1)
    world.loop.call_soon(temptations()[temptation])
    with world, pytest.raises(Forbidden, match=r"at .*test_guard\.py:\d+: the world comes"):
        world.run(seconds=1)


def test_what_a_module_has_taken_by_name_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """`from time import monotonic` is no way around, nor is a class; both are put back."""
    module = ModuleType("odradek.tempted")
    module.__dict__.update(monotonic=time.monotonic, datetime=dt.datetime)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    world = World(seed=1)
    world.loop.call_soon(lambda: module.monotonic())  # noqa: PLW0108 - looked up when it is called
    world.loop.call_soon(lambda: module.datetime.now(dt.UTC))
    with world:
        for _ in range(2):
            with pytest.raises(Forbidden, match="test_guard"):
                world.run(seconds=1)
    assert module.monotonic is time.monotonic
    assert module.datetime is dt.datetime


def test_times_that_were_told_may_be_written() -> None:
    """Only the clock is refused, not the arithmetic; a date is still a date."""

    def calculate() -> None:
        moment = dt.datetime.fromtimestamp(0, tz=dt.UTC)
        assert isinstance(moment, dt.datetime)
        assert isinstance(BEGINNING, dt.datetime)
        assert isinstance(BEGINNING, dt.date)
        assert moment - BEGINNING == dt.timedelta()
        assert random.Random(1).random() == SEEDED

    with World(seed=1) as world:
        world.loop.call_soon(calculate)
        world.run(seconds=1)


def test_a_task_that_touches_the_real_world_fails() -> None:
    """The error surfaces where the task is awaited, with the line of the touch."""

    async def look_at_the_clock() -> float:
        await asyncio.sleep(1)
        return time.time()

    with World(seed=1) as world:
        machine = world.machine("server")
        machine.start(lambda _: asyncio.sleep(100))
        with pytest.raises(Forbidden, match=r"time\.time at .*test_guard\.py"):
            world.ask("server", look_at_the_clock())


def test_outside_a_run_everything_is_as_before() -> None:
    """The guard goes when the run ends, also by an error."""
    with World(seed=1) as world:
        world.run(seconds=1)
        world.loop.call_soon(int, "not a number")
        with pytest.raises(ValueError, match="not a number"):
            world.run(seconds=1)
    for temptation in temptations().values():
        try:
            temptation()
        except FileNotFoundError:
            continue


def test_imports_and_tracebacks_may_read_source() -> None:
    """What Python reads for itself is no fact of the world."""

    def import_and_print() -> None:
        import traceback
        import wave  # noqa: F401 - any module that nobody has read yet

        assert "import_and_print" in "".join(traceback.format_stack())

    with World(seed=1) as world:
        world.loop.call_soon(import_and_print)
        world.run(seconds=1)


def test_other_threads_are_let_alone() -> None:
    """Only the thread on which the world runs is watched."""
    asked, answered = threading.Event(), threading.Event()
    times: list[float] = []

    def elsewhere() -> None:
        asked.wait()
        times.append(time.time())
        answered.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()

    def let_it_look() -> None:
        asked.set()
        answered.wait()

    with World(seed=1) as world:
        world.loop.call_soon(let_it_look)
        world.run(seconds=1)
    thread.join()
    assert len(times) == 1
