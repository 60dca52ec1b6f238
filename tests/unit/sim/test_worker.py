"""The worker of a simulated log dir: jobs in their order, and none while it hangs."""

import asyncio

from odradek.sim.machine import Machine
from odradek.sim.worker import SimulatedWorker
from odradek.sim.world import World


class Line:
    """A job that writes a line."""

    def __init__(self, lines: list[str], text: str) -> None:
        self._lines, self._text = lines, text

    def run(self) -> None:
        """On the worker."""
        self._lines.append(self._text)

    def done(self, error: Exception | None) -> None:
        """On the loop."""
        assert error is None


def test_a_worker_that_hangs_does_nothing_until_it_goes_on() -> None:
    """Jobs wait in their order, and only those of the life that goes on are done."""
    lines: list[str] = []
    workers: list[SimulatedWorker] = []

    async def programme(machine: Machine) -> None:
        worker = SimulatedWorker()
        workers.append(worker)
        worker.hang()
        for number in (1, 2):
            worker.submit(Line(lines, f"life {machine.lives}, job {number}"))
        await asyncio.get_running_loop().create_future()

    with World(seed=1) as world:
        server = world.machine("server")
        server.start(programme)
        world.run(seconds=1)
        server.kill()
        server.start()
        world.run(seconds=1)
        assert lines == []
        assert not workers[1].idle
        for worker in workers:
            worker.go_on()
        world.run(seconds=1)
        assert lines == ["life 2, job 1", "life 2, job 2"]
        assert workers[1].idle
