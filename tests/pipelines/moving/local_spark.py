"""The little of Spark that our jobs use, in this process: for tests that kill it at any step."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Run = Callable[[Iterable[int]], Iterator[bytes]]


@dataclass(frozen=True)
class LocalSpark:
    """A session; its jobs run one task after the other."""

    defaultParallelism = 1_000  # noqa: N815 - Spark's name: no two ranges share a task

    @property
    def sparkContext(self) -> "LocalSpark":  # noqa: N802 - Spark's name
        """What runs tasks, and says how many can run at once."""
        return self

    def parallelize(self, numbers: range, tasks: int) -> "Numbers":
        """One for each task."""
        assert tasks == len(numbers)
        return Numbers(numbers)


@dataclass(frozen=True)
class Numbers:
    """The pieces of a job."""

    numbers: range
    run: Run | None = None

    def mapPartitions(self, run: Run) -> "Numbers":  # noqa: N802 - Spark's name
        """What each task does."""
        return Numbers(self.numbers, run)

    def collect(self) -> list[bytes]:
        """Runs the tasks."""
        assert self.run is not None
        return [answer for number in self.numbers for answer in self.run([number])]
