"""A part of a broker to talk to, on a simulated machine."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World


def converse(
    said: Callable[[Machine, asyncio.TaskGroup], Coroutine[Any, Any, None]], *, seconds: int
) -> None:
    """One conversation, which comes to its end within so much time of that machine."""
    ended: list[bool] = []

    async def main(machine: Machine) -> None:
        async with asyncio.TaskGroup() as tasks:
            await said(machine, tasks)
        ended.append(True)

    with World(1) as world:
        world.machine("broker").start(main)
        world.run(seconds=seconds)
    assert ended
