"""The little of Spark that our jobs use, in this process: for tests that kill it at any step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class LocalSpark:
    """A session; its jobs run one task after the other."""

    defaultParallelism = 1_000  # noqa: N815 - Spark's name: no two ranges share a task

    @property
    def sparkContext(self) -> "LocalSpark":  # noqa: N802 - Spark's name
        """What says how many tasks can run at once."""
        return self

    def range(self, start: int, end: int, step: int, partitions: int) -> "Frame":
        """Numbers, one for each task."""
        assert partitions == len(range(start, end, step))
        return Frame(list(range(start, end, step)))


@dataclass(frozen=True)
class Frame:
    """The rows of a job."""

    numbers: list[int]
    work: Work | None = None

    def mapInArrow(self, work: Work, schema: str) -> "Frame":  # noqa: N802 - Spark's name
        """What each task does."""
        assert schema == "answer binary"
        return Frame(self.numbers, work)

    def collect(self) -> list[tuple[bytes]]:
        """Runs the tasks."""
        assert self.work is not None
        answers = []
        for number in self.numbers:
            batch = pa.RecordBatch.from_pydict({"id": [number]})
            answers += [
                (row["answer"],) for it in self.work(iter([batch])) for row in it.to_pylist()
            ]
        return answers
