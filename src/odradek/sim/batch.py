"""Many runs, on every core."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import chain, islice
from types import FrameType
from typing import Final, NoReturn

from odradek.sim.doors.loop import Livelock
from odradek.sim.lines import LinesSeen
from odradek.sim.simulation import Outcome

RUNS_PER_PROCESS: Final = 50  # then a fresh one takes over, with fresh memory
RUNS_PER_TURN: Final = 2
TURNS_AHEAD: Final = 2
SECONDS_MAX: Final = 120
"""So much of a processor no run needs: one that takes it goes round without end."""

Run = Callable[[int], Outcome]
"""What comes of a seed; another process must be able to import it."""

Job = tuple[Run, int]


def run_all(runs: Iterable[Run], seeds: Iterable[int], *, lines: bool = False) -> Iterator[Outcome]:
    """An outcome of each for each seed, as they come; each with the lines that were new."""
    chosen = list(runs)
    jobs: Iterator[Job] = ((run, seed) for seed in seeds for run in chosen)
    how = _run_seeing_lines if lines else _run
    first = list(islice(jobs, _cores()))
    jobs = chain(first, jobs)
    if len(first) < 2:
        yield from map(how, jobs)
        return
    context = multiprocessing.get_context("forkserver")
    ahead = _Ahead(jobs, len(first) * TURNS_AHEAD * RUNS_PER_TURN)
    with (
        context.Pool(len(first), _let_the_first_answer, (), RUNS_PER_PROCESS) as pool,
        closing(ahead),
    ):
        for outcome in pool.imap_unordered(how, ahead, RUNS_PER_TURN):
            ahead.one_more()
            yield outcome


class _Ahead:
    """Jobs, of which so many are handed out before their outcomes are there: there may be no end.

    The pool takes them on a thread of its own, which must not wait when the pool is taken down.
    """

    def __init__(self, jobs: Iterator[Job], count: int) -> None:
        self._jobs = jobs
        self._slots = threading.Semaphore(count)
        self._is_over = False

    def __iter__(self) -> Iterator[Job]:
        """Those that the others leave room for."""
        for job in self._jobs:
            self._slots.acquire()
            if self._is_over:
                return
            yield job

    def one_more(self) -> None:
        """An outcome is there."""
        self._slots.release()

    def close(self) -> None:
        """No more of them."""
        self._is_over = True
        self._slots.release()


def _let_the_first_answer() -> None:
    """Who interrupts the command means the process that hands out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    """Those that this process may use."""
    may_use = getattr(os, "sched_getaffinity", None)  # which not every system has
    return len(may_use(0)) if may_use is not None else os.cpu_count() or 1


def _run(job: Job) -> Outcome:
    run, seed = job
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)
    try:
        return run(seed)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    del number
    where = f"{frame.f_code.co_qualname}, line {frame.f_lineno}" if frame else "?"
    raise Livelock(f"{SECONDS_MAX} seconds of a processor are over, in {where}")


@cache
def _lines_seen() -> LinesSeen:
    """Of this process."""
    return LinesSeen()


def _run_seeing_lines(job: Job) -> Outcome:
    seen = _lines_seen()
    with seen:
        outcome = _run(job)
    outcome.lines = seen.take()
    return outcome
