"""The Workers of one simulated log dir: jobs run on the loop, each in a turn of its own.

Or in several: where a job of this disk is to pause, it is run as a strand, and stops at that call.
As a thread does not wait for the loop, every other job runs before the loop has heard of the end of
the one before it.
"""

import asyncio
from collections import deque
from contextvars import copy_context
from functools import partial

from odradek.model.errors import BrokerError
from odradek.ports import Job
from odradek.sim.doors.disk_faults import DiskFaults
from odradek.sim.doors.lending import Turn
from odradek.sim.doors.loop import SimulatedLoop
from odradek.sim.doors.strand import Strand


class SimulatedWorker:
    """For one life of a machine: its context is that of the task that made it."""

    ends_world = True  # an error of a job that no code of ours has foreseen

    def __init__(
        self, first: "SimulatedWorker | None" = None, faults: DiskFaults | None = None
    ) -> None:
        """A second one of a dir hangs when the first does: it is the same disk."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop), loop
        self._loop = loop
        self._faults = faults or DiskFaults()
        self._faults.jobs_only = True
        self._strand: Strand | None = None  # the job that runs, if it may pause
        self._pause = 0  # microseconds for which it does
        self._context = copy_context()
        self._jobs: deque[Job] = deque()  # that have not begun
        self._open: deque[Job] = deque()  # that have not ended, as far as the loop knows
        self._is_running = False  # the thread would be at work
        self._count = 0  # of jobs that have run
        self.disk: _Hang = _Hang() if first is None else first.disk
        self._waits = False  # a job would run if the worker did not hang
        self._abandoned: Exception | None = None
        self._ended = 0
        self.disk.workers.append(self)

    @property
    def progress(self) -> int:
        """Of jobs; one that pauses does nothing meanwhile."""
        return self._ended

    @property
    def idle(self) -> bool:
        """Whether every job has ended."""
        return not self._open

    @property
    def is_paused(self) -> bool:
        """Whether a job of the disk stands in its middle: it goes on, even if it was given up."""
        return any(it._strand is not None for it in self.disk.workers)  # noqa: SLF001 - its own kind

    def submit(self, job: Job) -> None:
        """Behind those before it."""
        if self._abandoned is not None:
            self._loop.call_soon(job.done, self._abandoned)
            return
        self._open.append(job)
        self._jobs.append(job)
        if not self._is_running:
            self._is_running = True
            self._loop.call_soon(self._run)

    def abandon(self, error: Exception) -> None:
        """What waits is never run."""
        self._abandoned = error
        given_up, self._open = self._open, deque()
        self._jobs.clear()
        self._is_running = self._waits = False
        for job in given_up:
            self._loop.call_soon(job.done, error)

    def close(self) -> None:
        """There is no thread to end."""

    def revive(self) -> bool:
        """Unless it hangs still."""
        if self.disk.left is None and self._strand is None:
            self._abandoned = None
        return self._abandoned is None

    def hang(self, after: int = 0) -> None:
        """Begins no job any more after so many, as a thread that the disk does not let go."""
        self.disk.left = after

    def go_on(self) -> None:
        """The disk has let go."""
        self.disk.left = None
        for worker in self.disk.workers:
            worker._try_again()  # noqa: SLF001 - its own kind

    def _try_again(self) -> None:
        if self._waits:
            self._waits = False
            self._loop.call_soon(self._run, context=self._context)

    def _run(self) -> None:
        if self._abandoned is not None or self._strand is not None or not self._jobs:
            return
        if self.disk.left is not None:
            if not self.disk.left:
                self._waits = True
                return
            self.disk.left -= 1
        turn = Turn(self._jobs.popleft())
        if self._faults.may_pause:
            self._strand = Strand(turn.job.run)
            self._loop.on_close(self._strand.give_up)
            self._go_through(turn, self._strand)
            return
        error: Exception | None = None
        try:
            with turn:
                turn.job.run()
        except (BrokerError, OSError) as raised:
            error = raised
        except Exception as raised:  # noqa: BLE001 - a world ends with it
            error = self._unforeseen(raised)
        self._has_run(turn, error)

    def _unforeseen(self, error: Exception) -> Exception:
        """A broker lives on without that log; a world ends."""
        if self.ends_world:
            raise error
        return error

    def _go_through(self, turn: Turn, strand: Strand) -> None:
        """Up to the next pause, or to the end of the job."""
        error: Exception | None = None
        faults, self._pause = self._faults, 0
        faults.pausing = partial(self._stop, strand)
        try:
            with turn:
                has_ended = strand.go_on()
        except (BrokerError, OSError) as raised:
            has_ended, error = True, raised
        except Exception as raised:  # noqa: BLE001 - a world ends with it
            has_ended, error = True, self._unforeseen(raised)
        finally:
            faults.pausing = None
        if has_ended:
            self._strand = None
            self._has_run(turn, error)
        else:
            moment = self._loop.now + self._pause
            self._loop.call_at_moment(moment, self._go_through, turn, strand)

    def _stop(self, strand: Strand, micros: int) -> None:
        """Within the strand."""
        self._pause = micros
        strand.pause()

    def _has_run(self, turn: Turn, error: Exception | None) -> None:
        self._count += 1
        calls = (self._go_on, partial(self._end, turn, error))
        for call in calls if self._count % 2 else reversed(calls):
            self._loop.call_soon(call)

    def _go_on(self) -> None:
        """With the next job, if there is one by now."""
        if self._jobs:
            self._run()
        else:
            self._is_running = False

    def _end(self, turn: Turn, error: Exception | None) -> None:
        if not self._open or self._open[0] is not turn.job:
            return  # it was given up
        self._open.popleft()
        self._ended += 1
        turn.end()
        turn.job.done(error)


class _Hang:
    """Whether a disk holds those that go to it."""

    def __init__(self) -> None:
        self.left: int | None = None  # so many jobs before it hangs; None: it does not
        self.workers: list[SimulatedWorker] = []
