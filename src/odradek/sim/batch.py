"""Many runs, on every core."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import FrameType
from typing import Final, NoReturn

from odradek.sim.lines import LinesSeen
from odradek.sim.loop import Livelock
from odradek.sim.simulation import Outcome

RUNS_PER_PROCESS: Final = 50  # then a fresh one takes over, with fresh memory
RUNS_PER_TURN: Final = 2
SECONDS_MAX: Final = 120
"""So much of a processor no run needs: one that takes it goes round without end."""

Run = Callable[[int], Outcome]
"""What comes of a seed; another process must be able to import it."""


def run_all(runs: Iterable[Run], seeds: Iterable[int], *, lines: bool = False) -> Iterator[Outcome]:
    """An outcome of each for each seed, as they come; each with the lines that were new."""
    chosen = list(runs)
    jobs = [(run, seed) for seed in seeds for run in chosen]
    how = _run_seeing_lines if lines else _run
    workers = min(len(jobs), _cores())
    if workers < 2:
        yield from map(how, jobs)
        return
    context = multiprocessing.get_context("forkserver")
    with context.Pool(workers, _let_the_first_answer, (), RUNS_PER_PROCESS) as pool:
        yield from pool.imap_unordered(how, jobs, RUNS_PER_TURN)


def _let_the_first_answer() -> None:
    """Who interrupts the command means the process that hands out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    """Those that this process may use."""
    may_use = getattr(os, "sched_getaffinity", None)  # which not every system has
    return len(may_use(0)) if may_use is not None else os.cpu_count() or 1


def _run(job: tuple[Run, int]) -> Outcome:
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


def _run_seeing_lines(job: tuple[Run, int]) -> Outcome:
    seen = _lines_seen()
    with seen:
        outcome = _run(job)
    outcome.lines = seen.take()
    return outcome
