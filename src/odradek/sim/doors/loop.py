"""An asyncio loop on virtual time, on which the same code has the same history every time.

Whatever runs is a handle, and handles run in the order of their arrival; a timer arrives when the
time that it names has come and nothing else is left to do. Time stands still while code runs. It
is counted in whole microseconds, so that no rounding depends on how far a run has come.

What asyncio leaves to memory addresses is decided by numbers here: a task hashes by the number of
its birth, so that sets of tasks (`TaskGroup` keeps one, and cancels in its order) are walked the
same way each time. There are no threads, sockets, signals or subprocesses: asking is an error.

A handle belongs to the life of a machine (`machine`), found in its context: whatever a task does,
and whatever wakes it, it belongs where it was born. A life that is not awake keeps or drops its
handles, which is how a machine is paused, is slow, or is gone.
"""

import asyncio
import sys
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextvars import Context
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple

from odradek.sim.doors.tasks import LIFE, Handle, Life, SimulatedTask

EVENTS_AT_ONE_MOMENT_MAX: Final = 200_000  # then something spins
SECOND: Final = 1_000_000  # in the loop's unit


Ts = TypeVarTuple("Ts")

if TYPE_CHECKING:
    WholeLoop = asyncio.SelectorEventLoop
else:
    WholeLoop = asyncio.AbstractEventLoop  # what is not written below refuses


class Deadlock(Exception):
    """Nothing is ready, no timer is set, and what was waited for is not done."""


class Livelock(Exception):
    """So much happens at one moment that time will never pass again."""


class Forbidden(Exception):
    """Simulated code asked for something of the real world."""


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Forbidden(f"the loop's {name}: the world comes through the doors of odradek.ports")

    return refuse


class SimulatedLoop(WholeLoop):
    """Runs handles one after the other until told otherwise."""

    def __init__(self) -> None:
        self.now = 0  # microseconds since the world began
        self.events = 0  # handles that ran
        self.current: Life | None = None  # whose handle is running
        self.failure: BaseException | None = None  # not caught: it ends the run
        self._ready: deque[Handle] = deque()
        self._timers: list[tuple[int, int, Handle]] = []  # moment, arrival, handle
        self._arrivals = 0
        self._births = 0
        self._orphans: list[SimulatedTask] = []  # tasks outside any machine
        self._graveyard: list[SimulatedTask] = []
        self._closers: list[Callable[[], None]] = []
        self._deadline = sys.maxsize  # time does not pass beyond it
        self._burst = 0  # handles that ran at this moment
        self._stopping = False
        self._closed = False
        self._running = False

    # -- what asyncio asks ---------------------------------------------------------------------

    get_debug = bool
    """False, for debugging looks at the clock. Every future and every task asks."""

    def time(self) -> float:
        """In seconds; on the clock of the machine whose code asks."""
        life = self.current
        return (self.now if life is None else life.local(self.now)) / SECOND

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Handle:
        """Behind all that is ready now."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle = Handle(callback, args, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Handle:
        """There is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        """After so many seconds on the clock of the machine whose code asks."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        """At a moment that `time` tells."""
        moment = round(when * SECOND)
        if self.current is not None:
            moment = self.current.moment(moment)
        handle = self.call_at_moment(moment, callback, *args, context=context)
        handle._when = when  # noqa: SLF001 - what `when()` answers
        return handle

    def call_at_moment(
        self,
        moment: int,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        """At a moment of the loop itself; ties go to the first come."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle = Handle(callback, args, context)
        self.ready_at(moment, handle)
        return handle

    def ready_at(self, moment: int, handle: Handle) -> None:
        """The same for a handle that is there; it may be so several times."""
        self._arrivals += 1
        now = self.now
        heappush(self._timers, (max(now, moment), self._arrivals, handle))

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None, **_: Any
    ) -> SimulatedTask:
        """Numbered by birth, named by number where no name is given, owned by its machine."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        self._births += 1
        name = f"task {self._births}" if name is None else name
        task = SimulatedTask(coro, self._births, loop=self, name=name, context=context)
        life = LIFE.get() if context is None else context.get(LIFE)
        if life is not None:
            life.adopt(task)
        else:
            self._orphans.append(task)
            if len(self._orphans) > 1_000:
                self._orphans = [orphan for orphan in self._orphans if not orphan.done()]
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What was not caught ends the run: in production it would end the process."""
        self.fail(context.get("exception") or RuntimeError(context["message"]))

    def fail(self, error: BaseException) -> None:
        """Ends the run behind the handle that is running; the first reason is the one."""
        self.failure = self.failure or error

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """The same."""
        self.call_exception_handler(context)

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001 - asyncio's signature
        """Ignored."""

    def get_task_factory(self) -> None:
        """Tasks are made here."""

    def is_running(self) -> bool:
        """Whether handles are being run."""
        return self._running

    def is_closed(self) -> bool:
        """Whether it will never run again."""
        return self._closed

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: they end with their tasks."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncio's
        """There is none."""

    # -- running -------------------------------------------------------------------------------

    def run_until_complete(self, future: Any) -> Any:
        """Runs until the coroutine or future is done; its result, or its exception."""
        task = future if asyncio.isfuture(future) else self.create_task(future)
        task.add_done_callback(self._stop_running)
        try:
            self._run()
        finally:
            task.remove_done_callback(self._stop_running)
        if not task.done():
            raise Deadlock(self._who_waits())
        return task.result()

    def run_until(self, moment: int) -> None:
        """Lets time pass up to and with a moment, with all that happens meanwhile."""
        self._deadline = moment
        try:
            self._run()
        finally:
            self._deadline = sys.maxsize

    def run_forever(self) -> None:
        """Until `stop`, or until nothing can happen any more."""
        self._run()

    def stop(self) -> None:
        """After the handle that is running."""
        self._stopping = True

    def _stop_running(self, _: object) -> None:
        self._stopping = True

    def _run(self) -> None:
        """Runs handles, and lets time pass between them."""
        assert not self._running, "the loop runs already"
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._close_generator)
        events._set_running_loop(self)  # noqa: SLF001 - how every loop says that it runs
        self._running, self._stopping = True, False
        try:
            self._run_handles()
        finally:
            self.current = None
            self._running = False
            events._set_running_loop(None)  # noqa: SLF001
            sys.set_asyncgen_hooks(*hooks)

    def _run_handles(self) -> None:
        """The heart. A failure that was not caught ends it."""
        ready = self._ready
        while not self._stopping:
            if not ready and not self._advance():
                return
            handle = ready.popleft()
            if handle._cancelled:  # noqa: SLF001 - our own
                continue
            life = handle.life
            if life is not None and not life.awake:
                life.keep(handle)
                continue
            self.current = life
            self.events += 1
            self._burst += 1
            try:
                handle._context.run(handle._callback, *handle._args)  # type: ignore[arg-type] # noqa: SLF001
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised again
                if life is None or life.awake:
                    self.failure = self.failure or error
            if self.failure is not None:
                failure, self.failure = self.failure, None
                raise failure
            if self._burst > EVENTS_AT_ONE_MOMENT_MAX:
                raise Livelock(self._who_waits())

    def run_as(self, life: Life | None, context: Context, callback: Callable[[], object]) -> None:
        """Runs a callback of a life that is awake inside a handle of somebody else's."""
        before, self.current = self.current, life
        try:
            context.run(callback)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - as for a handle
            if life is None or life.awake:
                self.fail(error)
        finally:
            self.current = before

    def _advance(self) -> bool:
        """Jumps to the next timer, and makes ready all that are due then; False if none is."""
        timers, ready = self._timers, self._ready
        while timers and timers[0][2]._cancelled:  # noqa: SLF001
            heappop(timers)
        moment = timers[0][0] if timers else sys.maxsize
        if moment > self._deadline:
            self.now = max(self.now, self._deadline)
            return False
        if not timers:
            return False
        if moment != self.now:
            self.now = moment
            self._burst = 0
        while timers and timers[0][0] == moment:
            ready.append(heappop(timers)[2])
        return True

    def make_ready_first(self, handles: Sequence[Handle]) -> None:
        """Handles that a life kept come before what arrived later."""
        self._ready.extendleft(reversed(handles))

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An abandoned async generator is closed by a task of the life that abandoned it."""
        if not self._closed:
            _ = self.create_task(generator.aclose())

    def _who_waits(self) -> str:
        """The tasks that are not done, with the line at which each one waits."""
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: getattr(task, "number", 0))
        return "\n".join(f"{task.get_name()} waits {_where(task)}" for task in tasks) or "nobody"

    # -- the end -------------------------------------------------------------------------------

    def inter(self, tasks: Sequence[SimulatedTask]) -> None:
        """Tasks of a dead machine: kept, so that no `finally` of theirs runs while time goes on."""
        for task in tasks:
            task.forget()
        self._graveyard.extend(tasks)

    def on_close(self, call: Callable[[], None]) -> None:
        """Something that must be ended with the world."""
        self._closers.append(call)

    def close(self) -> None:
        """Ends whatever still waits; it runs on into a world that does not answer any more."""
        if self._closed:
            return
        self._closed = True
        for call in self._closers:
            call()
        self._closers.clear()
        self.inter(self._orphans)
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            for task in self._graveyard:
                task.end()
            self._graveyard.clear()
            self._orphans.clear()
            self._ready.clear()
            self._timers.clear()
        finally:
            sys.unraisablehook = hook


for _name in sorted(vars(asyncio.AbstractEventLoop)):
    if not _name.startswith("_") and _name not in vars(SimulatedLoop):
        setattr(SimulatedLoop, _name, _refuse(_name))


def _where(task: asyncio.Task[Any]) -> str:
    stack = task.get_stack(limit=1)
    if not stack:
        return "to begin"
    return f"at {stack[0].f_code.co_filename}:{stack[0].f_lineno}"
