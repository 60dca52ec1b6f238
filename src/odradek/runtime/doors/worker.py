"""The Worker of one log dir on a thread of its own.

What the thread has ended it lays down for the loop, and wakes the loop once for all that lies
there: on a busy disk many jobs end while the loop does something else.
"""

import asyncio
from collections import deque
from queue import SimpleQueue
from threading import Thread, local

from odradek.ports import Job


class _Mine(local):
    """Whose thread this is."""

    worker: "ThreadWorker | None" = None


_mine = _Mine()


def tick() -> None:
    """Before a call to the disk: the one before it has ended, so a long job gets on."""
    worker = _mine.worker
    if worker is not None:
        worker.progress += 1


class ThreadWorker:
    """One thread, which ends with `close`. A disk that hangs keeps it, but not the process."""

    def __init__(self, name: str) -> None:
        """On the loop that is told of the ends."""
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._ended: deque[tuple[Job, Exception | None]] = deque()
        self._told = False  # the loop is going to look
        self._open: deque[Job] = deque()  # in their order; on the loop
        self._abandoned: Exception | None = None
        self._submitted = self._left_behind = 0  # by the loop, and by the thread
        self.progress = 0  # of jobs, and of calls within them; changed by the thread
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether every job has ended."""
        return not self._open

    def submit(self, job: Job) -> None:
        """Behind those before it."""
        if self._abandoned is not None:
            self._loop.call_soon(job.done, self._abandoned)
            return
        self._open.append(job)
        self._submitted += 1
        self._jobs.put(job)

    def abandon(self, error: Exception) -> None:
        """The thread may be held by the disk for ever; what it still does counts no more."""
        self._abandoned = error
        given_up, self._open = self._open, deque()
        for job in given_up:
            self._loop.call_soon(job.done, error)

    def revive(self) -> bool:
        """Once the thread has come back from the disk, and has nothing left."""
        if self._left_behind == self._submitted:
            self._ended.clear()
            self._abandoned = None
        return self._abandoned is None

    def close(self) -> None:
        """The thread ends behind the last job."""
        self._jobs.put(None)

    def join(self, seconds: float) -> bool:
        """Waits for that end; whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        """The thread."""
        _mine.worker = self
        wake, end = self._loop.call_soon_threadsafe, self._end
        while (job := self._jobs.get()) is not None:
            if self._abandoned is not None:
                del job  # it has files of the disk, and the next job may never come
                self._left_behind += 1
                continue
            error: Exception | None = None
            try:
                job.run()
            except Exception as raised:  # noqa: BLE001 - it is handed on whole
                error = raised
            self.progress += 1
            self._ended.append((job, error))
            self._left_behind += 1
            del job, error
            if not self._told:
                self._told = True
                try:  # the last thing: the loop wakes, and needs the interpreter that we still have
                    wake(end)
                except RuntimeError:  # it was closed, although a disk was held
                    return

    def _end(self) -> None:
        """On the loop. What is laid down from now on wakes it again."""
        self._told = False
        while self._ended:
            job, error = self._ended.popleft()
            if self._abandoned is None:
                self._open.popleft()
                job.done(error)
