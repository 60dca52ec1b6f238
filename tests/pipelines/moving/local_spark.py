"""The little of Spark that our jobs use, in this process: for tests that kill it at any step."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pyspark import TaskContext

Run = Callable[[Iterable[int]], Iterator[bytes]]


@dataclass(frozen=True)
class LocalSpark:
    """A session; its jobs run one task after the other."""

    defaultParallelism = 1_000  # noqa: N815 - Spark's name: no two ranges share a task

    @property
    def sparkContext(self) -> "LocalSpark":  # noqa: N802 - Spark's name
        """What runs tasks, and says how many can run at once."""
        return self

    @property
    def conf(self) -> Any:
        """The settings: nothing is set."""
        return SimpleNamespace(get=lambda _name, default: default)

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
        """Runs the tasks, each as the first attempt."""
        assert self.run is not None
        found: list[bytes] = []
        for number in self.numbers:
            context: Any = TaskContext._getOrCreate()
            context._stageId, context._partitionId, context._attemptNumber = 0, number, 0
            try:
                found += self.run([number])
            finally:
                TaskContext._setTaskContext(None)
        return found
