"""When the counters of a disk are a warning."""

from itertools import accumulate

from odradek.broker.doors import DiskCounters
from odradek.broker.partitions.disk_wear import KEPT, USUAL_MIN, DiskTrend


def warnings(means: list[float], operations: int = 100) -> list[str]:
    """After each look; `means` are milliseconds an operation between two looks."""
    trend = DiskTrend()
    trend.on_counters(DiskCounters(0, 0, 0))
    totals = accumulate(means)
    return [
        trend.on_counters(DiskCounters(operations * number, int(operations * total), 0))
        for number, total in enumerate(totals, 1)
    ]


def test_a_disk_that_becomes_slow() -> None:
    """Several looks in a row, so that one burst is not enough; and it ends with the slowness."""
    told = warnings([2.0] * USUAL_MIN + [50.0] * 5 + [2.0] * 5)
    assert not any(told[: USUAL_MIN + 2])
    assert told[USUAL_MIN + 4] == "an operation of the disk takes 50 ms; 2.0 ms were usual"
    assert not told[-1]


def test_what_is_no_warning() -> None:
    """A disk that is fast still, one that was always slow, and one that does next to nothing."""
    assert not any(warnings([0.1] * KEPT + [5.0] * 10))
    assert not any(warnings([80.0] * KEPT))
    assert not any(warnings([2.0] * USUAL_MIN + [90.0] * 10, operations=1))


def test_errors_that_grow() -> None:
    """Those of before the start do not count."""
    trend = DiskTrend()
    assert not trend.on_counters(DiskCounters(0, 0, 7))
    assert not trend.on_counters(DiskCounters(9, 9, 7))
    assert "counted 2 errors" in trend.on_counters(DiskCounters(9, 9, 9))
    assert "counted 2 errors" in trend.on_counters(DiskCounters(99, 99, 9))
