"""The Workers of one simulated log dir: jobs run on the loop, each in a turn of its own."""

import asyncio
from collections import deque
from contextvars import copy_context

from odradek.ports import Job


class SimulatedWorker:
    """For one life of a machine: its context is that of the task that made it."""

    def __init__(self, first: "SimulatedWorker | None" = None) -> None:
        """A second one of a dir hangs when the first does: it is the same disk."""
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._jobs: deque[Job] = deque()
        self.disk: _Hang = _Hang() if first is None else first.disk
        self._waits = False  # a job would run if the worker did not hang
        self._abandoned: Exception | None = None
        self.ended = 0
        self.disk.workers.append(self)

    @property
    def idle(self) -> bool:
        """Whether every job has ended."""
        return not self._jobs

    def submit(self, job: Job) -> None:
        """Behind those before it."""
        if self._abandoned is not None:
            self._loop.call_soon(job.done, self._abandoned)
            return
        self._jobs.append(job)
        if len(self._jobs) == 1:
            self._loop.call_soon(self._run)

    def abandon(self, error: Exception) -> None:
        """What waits is never run."""
        self._abandoned = error
        given_up, self._jobs = self._jobs, deque()
        for job in given_up:
            self._loop.call_soon(job.done, error)

    def close(self) -> None:
        """There is no thread to end."""

    def revive(self) -> bool:
        """Unless it hangs still."""
        if self.disk.left is None:
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
        if self._abandoned is not None or not self._jobs:
            return
        if self.disk.left is not None:
            if not self.disk.left:
                self._waits = True
                return
            self.disk.left -= 1
        error: Exception | None = None
        try:
            self._jobs[0].run()
        except Exception as raised:  # noqa: BLE001 - it is handed on whole
            error = raised
        self._loop.call_soon(self._end, error)

    def _end(self, error: Exception | None) -> None:
        if self._abandoned is not None:
            return
        job = self._jobs.popleft()
        self.ended += 1
        if self._jobs:
            self._loop.call_soon(self._run)
        job.done(error)


class _Hang:
    """Whether a disk holds those that go to it."""

    def __init__(self) -> None:
        self.left: int | None = None  # so many jobs before it hangs; None: it does not
        self.workers: list[SimulatedWorker] = []
