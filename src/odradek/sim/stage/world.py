"""One simulated world: a loop, its machines and wires, its history, and one seed for all chance.

with World(seed=7) as world:
server = world.machine("server")
server.start(programme)
world.run(seconds=60)
print(world.history.digest())
"""

import gc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from odradek.sim.doors import lending
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.guard import Guard
from odradek.sim.doors.loop import SECOND, SimulatedLoop
from odradek.sim.doors.tasks import NOBODY
from odradek.sim.doors.wires import Wires
from odradek.sim.history import History
from odradek.sim.stage.logs import logs_in
from odradek.sim.stage.machine import Machine


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, nothing is finalised at a moment that the seed did not choose.

    A caller that lets go of a world inside as well has it collected in one go: while it is held,
    all that it is made of is looked at, and looked at again later.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class World:
    """All that happens in it follows from the seed; what is logged in it happens there, too."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.loop = SimulatedLoop()
        self.history = History(lambda: self.loop.now)
        self.chance = SeededRandom(seed, "world")
        self.wires = Wires(self.loop, self.chance.stream("network"), self.history)
        self.machines: dict[str, Machine] = {}
        self._guard = Guard()
        self._logs = logs_in(self.history, self.loop)
        self._uncollected = uncollected()

    def __enter__(self) -> Self:
        self._logs.__enter__()
        self._uncollected.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.history.end()
        for machine in self.machines.values():
            machine.stop_existing()
        self.loop.close()
        self._uncollected.__exit__(kind, error, trace)
        self._logs.__exit__(kind, error, trace)

    def machine(self, name: str) -> Machine:
        """The machine of this name; new where there was none."""
        if name not in self.machines:
            number = len(self.machines)
            self.machines[name] = Machine(self, name, number, self.chance.stream("machines"))
        return self.machines[name]

    def after(self, micros: int, callback: Callable[[], object]) -> None:
        """Calls back after so long, as nobody's."""
        self.loop.call_at_moment(self.loop.now + micros, callback, context=NOBODY)

    def run(self, *, seconds: float = 0, millis: int = 0) -> None:
        """Time passes, with all that happens meanwhile."""
        moment = self.loop.now + round(seconds * SECOND) + millis * SECOND // 1_000
        with self._guard, lending.watched():
            self.loop.run_until(moment)

    def ask(self, name: str, question: Coroutine[Any, Any, Any], *, seconds: float = 60) -> Any:
        """Runs a coroutine on a machine until it has an answer, which must come in time."""
        machine = self.machine(name)
        task = machine.spawn(question)
        alarm = self.loop.call_at_moment(self.loop.now + round(seconds * SECOND), task.cancel)
        with self._guard, lending.watched():
            answer = self.loop.run_until_complete(task)
        alarm.cancel()
        return answer
