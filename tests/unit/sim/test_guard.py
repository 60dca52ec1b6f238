"""Simulated code that touches the real world is stopped, and its line is named."""

import asyncio
import os
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.sim.loop import Forbidden
from odradek.sim.world import World


def temptations() -> dict[str, Callable[[], object]]:
    """Looked up when they are called, as a module that says `time.time()` does."""
    return {
        "time": lambda: time.time(),  # noqa: PLW0108
        "monotonic": lambda: time.monotonic(),  # noqa: PLW0108
        "sleep": lambda: time.sleep(0),
        "random": lambda: random.random(),  # noqa: PLW0108
        "urandom": lambda: os.urandom(1),
        "secrets": lambda: secrets.token_bytes(1),
        "uuid": lambda: uuid.uuid4(),  # noqa: PLW0108
        "open": lambda: Path(__file__).open().close(),
        "unlink": lambda: Path("no-such-file").unlink(missing_ok=True),
        "listdir": lambda: list(Path().iterdir()),
        "socket": lambda: socket.socket().close(),
        "thread": lambda: threading.Thread(target=int).start(),
        "process": lambda: subprocess.run(["true"], check=False),
    }


@pytest.mark.parametrize("temptation", temptations())
def test_touching_the_real_world_raises(temptation: str) -> None:
    """Clocks, randomness, files, sockets, threads, processes."""
    world = World(seed=1)
    world.loop.call_soon(temptations()[temptation])
    with world, pytest.raises(Forbidden, match=r"at .*\.py:\d+: the world comes through"):
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
