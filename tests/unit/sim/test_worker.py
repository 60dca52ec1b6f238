"""The worker of a simulated log dir: jobs in their order, and none while it hangs."""

import asyncio
import threading

from odradek.model.units import Millis
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World


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


class Writer:
    """A job that writes three files; what it and its end say is noted."""

    def __init__(self, disk: SimulatedDisk, lines: list[str]) -> None:
        self._disk, self._lines = disk, lines

    def run(self) -> None:
        """On the worker."""
        for name in ("a", "b", "c"):
            self._disk.open(name, create=True).write([b"x"], 0)
            self._lines.append(name)

    def done(self, error: Exception | None) -> None:
        """On the loop."""
        self._lines.append(f"done {error}")


def paused(seed: int, *, kill: bool = False) -> tuple[list[str], str]:
    """What is seen of a job that stops at its fourth call for a second; and the history."""
    lines: list[str] = []

    async def programme(machine: Machine) -> None:
        disk = machine.disk()
        worker = SimulatedWorker(faults=disk.faults)
        disk.faults.rows.append(Fault(0, skip=4, times=1, pause=SECOND))
        worker.submit(Writer(disk, lines))
        await machine.clock.sleep_until(Millis(machine.clock.monotonic() + 500))
        lines.append("meanwhile")
        worker.submit(Line(lines, "behind it"))
        await asyncio.get_running_loop().create_future()

    with World(seed) as world:
        machine = world.machine("server")
        machine.start(programme)
        if kill:
            world.run(millis=700)
            machine.kill()
        world.run(seconds=3)
        return lines, world.history.digest()


def test_a_job_stops_in_its_middle_and_the_loop_goes_on() -> None:
    """What comes behind it waits, but not for the loop to hear; one seed has one history."""
    lines, digest = paused(seed=1)
    assert lines == ["a", "meanwhile", "b", "c", "behind it", "done None"]
    assert paused(seed=1) == (lines, digest)


def test_a_job_that_stands_still_ends_with_its_process() -> None:
    """It changes nothing any more, and no thread of it is left."""
    assert paused(seed=1, kill=True)[0] == ["a", "meanwhile"]
    assert not [it for it in threading.enumerate() if it.name == "strand"]
