"""The Worker of one simulated log dir: jobs run on the loop, each in a turn of its own."""

import asyncio
from collections import deque
from contextvars import copy_context

from odradek.ports import Job


class SimulatedWorker:
    """For one life of a machine: its context is that of the task that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._jobs: deque[Job] = deque()
        self._left: int | None = None  # so many jobs before it hangs; None: it does not
        self._waits = False  # a job would run if the worker did not hang
        self._abandoned: Exception | None = None
        self.ended = 0

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
        if self._left is None:
            self._abandoned = None
        return self._abandoned is None

    def hang(self, after: int = 0) -> None:
        """Begins no job any more after so many, as a thread that the disk does not let go."""
        self._left = after

    def go_on(self) -> None:
        """The disk has let go."""
        self._left = None
        if self._waits:
            self._waits = False
            self._loop.call_soon(self._run, context=self._context)

    def _run(self) -> None:
        if self._abandoned is not None:
            return
        if self._left is not None:
            if not self._left:
                self._waits = True
                return
            self._left -= 1
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
