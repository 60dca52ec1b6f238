"""A machine of the simulated world: its clock, its disks, its place in the network, its lives.

A life is what runs from one start to the next end. While it runs it may be paused (nothing of it
happens, its kernel goes on taking bytes) or busy (the same, for a known time). It ends in one of
two ways. A process that is killed leaves its kernel behind: connections are closed, everything
that was written is there. A machine that loses power leaves nothing: its peers are not told, and
what was not synced is lost as `medium` has it.

Tasks of a life that has ended are not cancelled and not closed: no `except` and no `finally` of
theirs runs, as none would. They are kept until the world ends. Only the one call in which the
machine stopped (a disk that was told to crash at its n-th change) unwinds, through `PowerLost`,
and finds every door shut.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final, Protocol

from odradek.model.units import Micros, Millis, Timestamp
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.disk import CRASH_RULES, SimulatedDisk
from odradek.sim.doors.disk_faults import DiskFaults
from odradek.sim.doors.loop import SECOND, SimulatedLoop
from odradek.sim.doors.network import SimulatedNetwork
from odradek.sim.doors.tasks import LIFE, NOBODY, Handle, SimulatedTask
from odradek.sim.doors.wires import Wires
from odradek.sim.history import History

BEGINNING: Final = 1_700_000_000_000_000  # microseconds since 1970 when every world begins
BOOTED: Final = 100_000_000_000  # microseconds that one machine's clock is ahead of the last one's
MICROS: Final = 1_000  # in a millisecond
TASKS_KEPT_MIN: Final = 64

Main = Callable[["Machine"], Coroutine[Any, Any, None]]
OnExit = Callable[[BaseException | None], None]


class MachineDeps(Protocol):
    """What a machine needs of its world."""

    @property
    def loop(self) -> SimulatedLoop:
        """The loop of all machines."""
        ...

    @property
    def wires(self) -> Wires:
        """The network of all machines."""
        ...

    @property
    def history(self) -> History:
        """Where all machines are watched."""
        ...


class MachineClock:
    """The Clock door: drifts, is skewed, jumps. Clocks of two machines have nothing in common."""

    def __init__(self, loop: SimulatedLoop, number: int) -> None:
        self._loop = loop
        self._booted = (1 + number) * BOOTED
        self.drift = 0  # microseconds gained in each second
        self.skew = 0  # of the wall clock, in microseconds

    def local(self, moment: int) -> int:
        """What this clock shows at a moment of the loop."""
        return self._booted + moment + moment * self.drift // SECOND

    def moment(self, local: int) -> int:
        """The first moment of the loop at which this clock shows that."""
        since = local - self._booted
        if not self.drift:
            return since
        moment = since * SECOND // (SECOND + self.drift)
        while self.local(moment) < local:
            moment += 1
        return moment

    def monotonic(self) -> Millis:
        """Never jumps."""
        moment = self._loop.now
        if self.drift:
            moment += moment * self.drift // SECOND
        return Millis((self._booted + moment) // MICROS)

    def micros(self) -> Micros:
        """As `monotonic`, and as exact as the loop."""
        moment = self._loop.now
        if self.drift:
            moment += moment * self.drift // SECOND
        return Micros(self._booted + moment)

    def worked(self) -> Micros:
        """Work takes no time here."""
        return Micros(0)

    def wall(self) -> Timestamp:
        """Skewed, and jumping when told to."""
        moment = self._loop.now
        if self.drift:
            moment += moment * self.drift // SECOND
        return Timestamp((BEGINNING + moment + self.skew) // MICROS)

    async def sleep_until(self, deadline: Millis) -> None:
        """Wakes exactly then; lets others run once even when the deadline has passed."""
        if deadline <= self.monotonic():
            await asyncio.sleep(0)
            return
        awake = self._loop.create_future()
        moment = self.moment(deadline * MICROS)
        timer = self._loop.call_at_moment(moment, _wake, awake)
        try:
            await awake
        finally:
            timer.cancel()


class MachineLife:
    """What the loop knows of a machine, from one start to one end."""

    def __init__(self, name: str, loop: SimulatedLoop, clock: MachineClock) -> None:
        self.name = name
        self.awake = True
        self.over = False
        self.paused = False
        self.tasks: list[SimulatedTask] = []
        self.context = Context()
        self.context.run(LIFE.set, self)
        self.local, self.moment = clock.local, clock.moment
        self._loop = loop
        self._busy_until = 0
        self._kept: list[Handle] = []
        self._tasks_kept_max = TASKS_KEPT_MIN

    def keep(self, handle: Handle) -> None:
        """For later, if there is a later."""
        if self.over:
            _hear(handle)
        else:
            self._kept.append(handle)

    def adopt(self, task: SimulatedTask) -> None:
        """Holds on to it: what is not referred to any more would be closed."""
        if self.over:
            self._loop.inter([task])
            return
        self.tasks.append(task)
        if len(self.tasks) > self._tasks_kept_max:
            self.tasks = [task for task in self.tasks if not task.done()]
            self._tasks_kept_max = 2 * len(self.tasks) + TASKS_KEPT_MIN

    def busy(self, micros: int) -> None:
        """Nothing of it happens for so long."""
        self._busy_until = max(self._busy_until, self._loop.now + micros)
        self._loop.call_at_moment(self._busy_until, self.look, context=NOBODY)
        self.look()

    def look(self) -> None:
        """Whether it is awake; if it just woke, what was kept comes first."""
        was = self.awake
        self.awake = not (self.over or self.paused or self._busy_until > self._loop.now)
        if self.awake and not was:
            kept, self._kept = self._kept, []
            self._loop.make_ready_first(kept)

    def end(self) -> None:
        """Nothing of it ever happens again."""
        self.over, self.awake = True, False
        for handle in self._kept:
            _hear(handle)
        self._kept.clear()
        self._loop.inter(self.tasks)
        self.tasks = []


class Machine:
    """One machine, through all its lives."""

    def __init__(self, world: MachineDeps, name: str, number: int, chance: SeededRandom) -> None:
        self.name = name
        self.clock = MachineClock(world.loop, number)
        self.random = chance.stream(name)
        self.disks: dict[str, SimulatedDisk] = {}
        self.host = world.wires.host(name)
        self.lives = 0
        self._world = world
        self._crashes = chance.stream(f"{name}/crashes")
        self._life: MachineLife | None = None
        self._network: SimulatedNetwork | None = None
        self._main: Main | None = None
        self._on_exit: OnExit = self._exited
        self.crash_rules = CRASH_RULES
        self.reboots_after_failed_sync = False
        """Whether a process that met a failed sync is only started again on a fresh kernel.

        On the old one it would read from the cache what never reached the medium.
        """

    # -- what its code is given ----------------------------------------------------------------

    @property
    def network(self) -> SimulatedNetwork:
        """The door of this life."""
        assert self._network is not None, f"{self.name} is not running"
        return self._network

    def disk(self, name: str = "disk") -> SimulatedDisk:
        """One of its disks; an empty one where there was none."""
        if name not in self.disks:
            faults = DiskFaults(stall=self.stall, crash=self.cut_power)
            label = f"{self.name}/{name}"
            self.disks[name] = SimulatedDisk(label, faults=faults, now=self.clock.wall)
        return self.disks[name]

    # -- its life ------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether a life has begun and not ended."""
        return self._life is not None

    @property
    def paused(self) -> bool:
        """Whether nothing of it happens although it runs."""
        return self._life is not None and self._life.paused

    def start(self, main: Main | None = None, on_exit: OnExit | None = None) -> None:
        """A new life; without a new programme the one of the last life runs again.

        `on_exit` is told when the programme ends by itself, and with which error.
        """
        assert self._life is None, f"{self.name} is running"
        if main is not None:
            self._main, self._on_exit = main, on_exit or self._exited
        assert self._main is not None, f"{self.name} has nothing to run"
        world = self._world
        self.lives += 1
        self._note("starts", self.lives)
        self._life = life = MachineLife(self.name, world.loop, self.clock)
        self._network = SimulatedNetwork(world.wires, self.host, life.context)
        if not self.host.up:
            self.host.up = True
            world.wires.try_again()
        self.spawn(self._main(self)).add_done_callback(self._ended, context=life.context)

    def start_if_down(self) -> None:
        """Unless somebody else has started it."""
        if self._life is None:
            self.start()

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> SimulatedTask:
        """A task of this life."""
        assert self._life is not None, f"{self.name} is not running"
        context = self._life.context.copy()
        return self._world.loop.create_task(coroutine, context=context)

    def kill(self) -> None:
        """Its process is gone; what was written stays, connections are closed."""
        failed = any(disk.faults.failed_syncs for disk in self.disks.values())
        if failed and self.reboots_after_failed_sync:
            self.cut_power()
        elif self._end("killed"):
            self.network.process_died()
            self.disks = {name: disk.after_exit() for name, disk in self.disks.items()}

    def cut_power(self) -> None:
        """All of it is gone; what was not synced is lost, torn or reordered."""
        if self._end("loses power"):
            self.network.power_lost()
            self.disks = {
                name: disk.after_crash(self._crashes, self.crash_rules)
                for name, disk in self.disks.items()
            }

    def pause(self) -> None:
        """Nothing of it happens until `resume`."""
        if self._life is not None and not self._life.paused:
            self._note("pauses")
            self._life.paused = True
            self._life.look()

    def resume(self) -> None:
        """It goes on, late for everything."""
        if self._life is not None and self._life.paused:
            self._note("resumes")
            self._life.paused = False
            self._life.look()

    def stall(self, millis: Millis) -> None:
        """A call that takes long on its only thread: nothing else of it happens meanwhile."""
        if self._life is not None:
            self._life.busy(millis * MICROS)

    def stop_existing(self) -> None:
        """The world ends; that is no fact of its history."""
        if self._life is not None:
            self._life.end()

    def _end(self, how: str) -> bool:
        if self._life is None:
            return False
        self._note(how)
        life, self._life = self._life, None
        life.end()
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Its programme came to an end by itself: the process is gone."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        self.kill()
        self._on_exit(error)

    def _exited(self, error: BaseException | None) -> None:
        """Unless somebody expects it, an error that ends a programme is a finding."""
        if error is not None:
            self._world.loop.fail(error)

    def _note(self, what: str, *details: object) -> None:
        self._world.history.note(self.name, what, *details)


def _hear(handle: Handle) -> None:
    """What a call that never comes would have been told: no error is unheard with its process."""
    for told in handle._args:  # noqa: SLF001 - the loop's own
        if isinstance(told, asyncio.Future) and told.done() and not told.cancelled():
            told.exception()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
