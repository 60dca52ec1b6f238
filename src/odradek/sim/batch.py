"""Many runs, on every core."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from odradek.sim.simulation import Outcome

RUNS_PER_PROCESS: Final = 50  # then a fresh one takes over, with fresh memory
RUNS_PER_TURN: Final = 2

Run = Callable[[int], Outcome]
"""What comes of a seed; another process must be able to import it."""


def run_all(runs: Iterable[Run], seeds: Iterable[int]) -> Iterator[Outcome]:
    """An outcome of each for each seed, as they come."""
    chosen = list(runs)
    jobs = [(run, seed) for seed in seeds for run in chosen]
    workers = min(len(jobs), os.cpu_count() or 1)
    if workers < 2:
        yield from map(_run, jobs)
        return
    context = multiprocessing.get_context("forkserver")
    with context.Pool(workers, maxtasksperchild=RUNS_PER_PROCESS) as pool:
        yield from pool.imap_unordered(_run, jobs, RUNS_PER_TURN)


def _run(job: tuple[Run, int]) -> Outcome:
    run, seed = job
    return run(seed)
