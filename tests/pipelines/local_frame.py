"""The little of Spark's DataFrames that `foreachBatch` with `exactly_once` uses, in this process.

Tasks run one after the other. One that fails is run again, as a cluster does it: its attempt has
the next number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import BinaryType, StructType

ATTEMPTS: Final = 4
SCHEMA: Final = StructType().add("key", BinaryType()).add("value", BinaryType())
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Parts = list[list[pa.RecordBatch]]


@dataclass
class LocalSession:
    """A session of two slots, in which one query runs."""

    query: str
    speculation: str = "false"
    stage_attempts: dict[int, int] = field(default_factory=dict)  # where not 0
    defaultParallelism = 2  # noqa: N815 - Spark's name
    stages: Any = field(default_factory=lambda: count(1))

    @property
    def sparkContext(self) -> "LocalSession":  # noqa: N802 - Spark's name
        """What runs tasks."""
        return self

    @property
    def conf(self) -> Any:
        """The settings."""
        return SimpleNamespace(get=lambda _name, _default: self.speculation)

    def getLocalProperty(self, name: str) -> str:  # noqa: N802 - Spark's name
        """What Spark says to a function for `foreachBatch`."""
        return {"sql.streaming.queryId": self.query, "spark.jobGroup.id": "run"}[name]

    def statusTracker(self) -> Any:  # noqa: N802 - Spark's name
        """Knows one job, which has ended."""
        everything = range(1_000)
        return SimpleNamespace(
            getJobIdsForGroup=lambda _group: [0],
            getJobInfo=lambda _job: SimpleNamespace(stageIds=everything, status="SUCCEEDED"),
            getStageInfo=lambda stage: SimpleNamespace(
                currentAttemptId=self.stage_attempts.pop(stage, 0)
            ),
        )


@dataclass(frozen=True)
class LocalFrame:
    """Rows in parts, one for each task."""

    sparkSession: LocalSession  # noqa: N815 - Spark's name
    parts: Parts
    schema: StructType = SCHEMA

    def mapInArrow(self, work: Work, _schema: str) -> "LocalFrame":  # noqa: N802 - Spark's name
        """What becomes of each part."""
        stage = next(self.sparkSession.stages)
        done = [_task(work, part, stage, number) for number, part in enumerate(self.parts)]
        return LocalFrame(self.sparkSession, done)

    def repartitionById(self, tasks: int, column: str) -> "LocalFrame":  # noqa: N802 - Spark's name
        """Brings rows together."""
        parts: Parts = [[] for _ in range(tasks)]
        for part in self.parts:
            for batch in part:
                for at, number in enumerate(batch.column(column).to_pylist()):
                    parts[number % tasks].append(batch.slice(at, 1))
        return LocalFrame(self.sparkSession, parts)

    def collect(self) -> list[tuple[Any, ...]]:
        """The rows."""
        batches = [batch for part in self.parts for batch in part]
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def _task(work: Work, part: Sequence[pa.RecordBatch], stage: int, number: int) -> Any:
    for attempt in range(ATTEMPTS):
        context: Any = TaskContext._getOrCreate()
        context._stageId, context._partitionId, context._attemptNumber = stage, number, attempt
        try:
            return list(work(iter(part)))
        except Exception:
            if attempt == ATTEMPTS - 1:
                raise
        finally:
            TaskContext._setTaskContext(None)
    raise AssertionError


def frame_of(session: LocalSession, numbers: Sequence[int], parts: int = 2) -> LocalFrame:
    """Values that are numbers, with a hundred keys, in parts in turn."""
    return LocalFrame(session, [[_batch(numbers[it::parts])] for it in range(parts)])


def _batch(numbers: Sequence[int]) -> pa.RecordBatch:
    keys = [b"key-%d" % (it % 100) for it in numbers]
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([b"%d" % it for it in numbers], pa.binary()),
        }
    )
