"""Many runs, on every core."""

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from odradek.sim.simulation import Outcome, Simulation, run

RUNS_PER_PROCESS: Final = 50  # then a fresh one takes over, with fresh memory
RUNS_PER_TURN: Final = 2


def run_all(
    kinds: Iterable[type[Simulation]], seeds: Iterable[int], *, control: str = ""
) -> Iterator[Outcome]:
    """An outcome for each kind and seed, as they come."""
    jobs = [(kind, seed) for seed in seeds for kind in kinds]
    workers = min(len(jobs), os.cpu_count() or 1)
    if workers < 2:
        yield from (_run(job, control=control) for job in jobs)
        return
    context = multiprocessing.get_context("forkserver")
    with context.Pool(workers, maxtasksperchild=RUNS_PER_PROCESS) as pool:
        yield from pool.imap_unordered(partial(_run, control=control), jobs, RUNS_PER_TURN)


def _run(job: tuple[type[Simulation], int], *, control: str) -> Outcome:
    kind, seed = job
    return run(kind, seed, control=control)
