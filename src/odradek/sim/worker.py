"""The Worker of one simulated log dir: jobs run on the loop, each in a turn of its own."""

import asyncio
from collections import deque

from odradek.ports import Job


class SimulatedWorker:
    """For one life of a machine: its context is that of the task that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: deque[Job] = deque()

    @property
    def idle(self) -> bool:
        """Whether every job has ended."""
        return not self._jobs

    def submit(self, job: Job) -> None:
        """Behind those before it."""
        self._jobs.append(job)
        if len(self._jobs) == 1:
            self._loop.call_soon(self._run)

    def close(self) -> None:
        """There is no thread to end."""

    def _run(self) -> None:
        error: Exception | None = None
        try:
            self._jobs[0].run()
        except Exception as raised:  # noqa: BLE001 - it is handed on whole
            error = raised
        self._loop.call_soon(self._end, error)

    def _end(self, error: Exception | None) -> None:
        job = self._jobs.popleft()
        if self._jobs:
            self._loop.call_soon(self._run)
        job.done(error)
