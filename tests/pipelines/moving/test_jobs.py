"""The jobs of pipelines: how many tasks there are, and what workers keep from task to task."""

import gc
import os
from typing import Any

from odradek.pipelines.moving.jobs import SMALL_OFFSETS, run_tasks, tasks_for
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.session import KEPT_BYTES


def test_small_ranges_share_tasks(spark: Any) -> None:
    """One task for each slot; as soon as there is something to read, one for each range."""

    def tasks_of(offsets: int, count: int) -> int:
        return tasks_for(spark, [OffsetRange("t", "", it, 0, offsets) for it in range(count)])

    assert tasks_of(1, 8) == 2
    assert tasks_of(1, 1) == 1
    assert tasks_of(SMALL_OFFSETS // 8, 8) == 2
    assert tasks_of(SMALL_OFFSETS // 8 + 1, 8) == 8
    assert run_tasks(spark, range(7), str, 2) == list("0123456")


def test_a_worker_does_not_look_at_modules_again(spark: Any) -> None:
    """From its second task on, what was imported is none of the garbage collector's business."""
    first = {pid for pid, _ in run_tasks(spark, range(2), kept)}
    again = run_tasks(spark, range(8), kept)
    assert {pid for pid, _ in again} & first, "workers are used again"
    assert all(objects > 0 for pid, objects in again if pid in first)


def test_a_worker_keeps_the_memory_of_an_answer(spark: Any) -> None:
    """The C library of each worker is told so before it starts."""
    assert run_tasks(spark, range(2), told_to_keep) == [str(KEPT_BYTES)] * 2


def told_to_keep(_: int) -> str | None:
    """What the worker found in its environment."""
    return os.environ.get("MALLOC_TRIM_THRESHOLD_")


def kept(_: int) -> tuple[int, int]:
    """The worker, and how many of its objects the collector leaves alone."""
    return os.getpid(), gc.get_freeze_count()
