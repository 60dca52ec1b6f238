"""Work for Spark's tasks: a small answer for each piece, no rows.

A job that fails without a sentence of ours has lost a worker or an executor. Nothing that it did
counts, because nothing is committed, so it is run again a few times.
"""

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from time import sleep
from typing import Any, Final, TypeVar

import pyarrow as pa

from odradek.pipelines.errors import error_of
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.workers import SentToWorkers, freeze_once

PAUSES: Final = (0.5, 2.0, 5.0)
"""Seconds between attempts."""
ANSWER: Final = "answer binary"
SMALL_OFFSETS: Final = 10_000
"""Of a whole batch: starting a task takes longer than reading these."""
SLOTS_MAX: Final = 1_000

W = TypeVar("W")
R = TypeVar("R")

log = logging.getLogger("odradek.pipelines")


def run_tasks(
    spark: Any, pieces: Sequence[W], work: Callable[[W], R], tasks: int | None = None
) -> list[R]:
    """What `work` says of each piece, in their order; a task for each if no number is given."""
    return attempted(lambda: run_once(spark, pieces, work, tasks)) if pieces else []


def tasks_for(spark: Any, pieces: Sequence[OffsetRange]) -> int:
    """One task for each range; one for each slot where they hold few offsets."""
    if len(pieces) == 1 or sum(it.size for it in pieces) > SMALL_OFFSETS:
        return len(pieces)
    return min(len(pieces), slots_of(spark))


def slots_of(spark: Any) -> int:
    """How many tasks can run at once."""
    context = getattr(spark, "sparkContext", None)
    return _slots(spark) if context is None else int(context.defaultParallelism)


@lru_cache(maxsize=1)
def _slots(spark: Any) -> int:
    """Of a Spark Connect server, which does not say it: as many as it splits a range into."""
    return len(set(spark.range(SLOTS_MAX).selectExpr("spark_partition_id()").collect()))


def attempted(job: Callable[[], R]) -> R:
    """Runs a job, and again if it fails without a sentence of ours.

    What ends one worker may end the next one, too, so it waits for that to pass.
    """
    for pause in (*PAUSES, None):
        try:
            return job()
        except Exception as error:
            ours = error_of(error)
            if ours is not None:
                raise ours from error
            if pause is None:
                raise
            log.warning("a job of Spark failed and is run again: %s", str(error).split("\n", 1)[0])
            sleep(pause)
    raise AssertionError


def run_once(
    spark: Any, pieces: Sequence[W], work: Callable[[W], R], tasks: int | None = None
) -> list[R]:
    """The same, for work that not just any other attempt may follow."""
    found = _collected(spark, len(pieces), tasks or len(pieces), Answers(pieces, work))
    answers: dict[int, R] = dict(pickle.loads(it) for it in found)  # noqa: S301 - our tasks'
    return [answers[number] for number in range(len(pieces))]


class Answers(SentToWorkers):
    """What a task does."""

    def __init__(self, pieces: Iterable[W], work: Callable[[W], R]) -> None:
        self._pieces = list(pieces)
        self._work = work

    def __call__(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """An answer to each of these pieces, with its number."""
        for number in numbers:
            yield pickle.dumps((number, self._work(self._pieces[number])))
        freeze_once()


def _collected(
    spark: Any, count: int, tasks: int, run: Callable[[Iterable[int]], Iterator[bytes]]
) -> list[bytes]:
    """What tasks make of the numbers below a count.

    To plan a query costs Java more than all the rest of a small batch, so the tasks are given to
    Spark as they are. Spark Connect takes queries alone.
    """
    context = getattr(spark, "sparkContext", None)
    if context is not None:
        return list(context.parallelize(range(count), tasks).mapPartitions(run).collect())

    def in_arrow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = (it for batch in batches for it in batch.column(0).to_pylist())
        for answer in run(numbers):
            yield pa.RecordBatch.from_pydict({"answer": pa.array([answer], pa.binary())})

    rows = spark.range(0, count, 1, tasks).mapInArrow(in_arrow, ANSWER).collect()
    return [row[0] for row in rows]
