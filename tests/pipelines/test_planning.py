"""Which ranges the tasks of a micro-batch read."""

from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.options import Mode, SourceOptions, parse
from odradek.pipelines.source.planning import TOGETHER_MAX, TOGETHER_OFFSETS, together


def options(**more: str) -> SourceOptions:
    """Of a stream."""
    given = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "t", **more}
    return parse(given, Mode.STREAM)


def ranges(*sizes: int) -> list[OffsetRange]:
    """One of each partition."""
    return [OffsetRange("t", "", number, 5, 5 + size) for number, size in enumerate(sizes)]


def shares(found: list[tuple[OffsetRange, ...]]) -> list[int]:
    """How many ranges each task has; no range is lost, and all stay in order."""
    numbers = [it.partition for task in found for it in task]
    assert numbers == list(range(len(numbers)))
    return [len(task) for task in found]


def test_small_ranges_share_a_task() -> None:
    """As long as it has few offsets and few round trips."""
    assert shares(together(options(), [])) == []
    assert shares(together(options(), ranges(1, 1, 1))) == [3]
    half = TOGETHER_OFFSETS // 2
    assert shares(together(options(), ranges(half, half, 1, half))) == [2, 2]
    assert shares(together(options(), ranges(1, TOGETHER_OFFSETS, 1, 1))) == [1, 1, 2]
    assert shares(together(options(), ranges(*[1] * (2 * TOGETHER_MAX + 1)))) == [
        TOGETHER_MAX,
        TOGETHER_MAX,
        1,
    ]


def test_options_that_ask_for_tasks_get_them() -> None:
    """Somebody who says how ranges are cut wants them as tasks."""
    assert shares(together(options(minPartitions="2"), ranges(1, 1, 1))) == [1, 1, 1]
