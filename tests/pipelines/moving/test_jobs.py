"""The jobs of pipelines: how many tasks there are."""

from typing import Any

from odradek.pipelines.moving.jobs import SMALL_OFFSETS, run_tasks, tasks_for
from odradek.pipelines.positions import OffsetRange


def test_small_ranges_share_tasks(spark: Any) -> None:
    """One task for each slot; as soon as there is something to read, one for each range."""

    def tasks_of(offsets: int, count: int) -> int:
        return tasks_for(spark, [OffsetRange("t", "", it, 0, offsets) for it in range(count)])

    assert tasks_of(1, 8) == 2
    assert tasks_of(1, 1) == 1
    assert tasks_of(SMALL_OFFSETS // 8, 8) == 2
    assert tasks_of(SMALL_OFFSETS // 8 + 1, 8) == 8
    assert run_tasks(spark, range(7), str, 2) == list("0123456")
