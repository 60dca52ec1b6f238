"""How far a verb on Spark is, in a line that is told again and again while it works.

Spark tells how many tasks are done; an archive also how fast it is and what is still waiting.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from odradek.model.ids import TopicPartition
from odradek.pipelines.moving.reports import BatchReport

Tasks = Callable[[], tuple[int, int]]
"""How many tasks of the jobs that run are done, and how many there are."""


class Watch:
    """What is known of one verb."""

    def __init__(self, tasks: Tasks, began: float) -> None:
        self._tasks = tasks
        self._began = self._batch_began = began
        self._lock = Lock()
        self._read = 0
        self._lag: dict[TopicPartition, int] = {}

    def heard(self, report: BatchReport) -> None:
        """A batch of an archive is committed."""
        with self._lock:
            self._read += report.account.read
            self._batch_began = monotonic()
            for it in report.latest:
                missing = (report.latest.offset(it) or 0) - (report.end.offset(it) or 0)
                self._lag[it] = max(0, missing)

    def line(self, now: float) -> str:
        """As it is now; empty: there is nothing to tell."""
        done, tasks = self._tasks()
        with self._lock:
            read, lag, batch_s = self._read, sum(self._lag.values()), now - self._batch_began
            has_begun = bool(self._lag)
        parts = [f"{done} of {tasks} tasks done after {_time(batch_s)}"] if tasks else []
        left = batch_s * (tasks - done) / done if done else None
        if has_begun:
            rate = read / max(now - self._began, 1e-3)
            parts.append(f"{read:,} records read, {rate:,.0f} a second, lag {lag:,}")
            left = lag / rate if lag and rate else left
        if parts and left:
            parts.append(f"about {_time(left)} left")
        return ", ".join(parts)


def _time(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min" if whole < 3_600 else f"{whole // 3_600} h {whole % 3_600 // 60} min"
    )


@contextmanager
def watched(tasks: Tasks, every_s: float, tell: Callable[[str], None]) -> Iterator[Watch]:
    """Tells so often while the verb works."""
    watch, ended = Watch(tasks, monotonic()), Event()

    def run() -> None:
        while not ended.wait(every_s):
            line = watch.line(monotonic())
            if line:
                tell(line)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


def tasks_of(spark: Any) -> Tasks:
    """Of a session; a Spark Connect server does not say it."""
    context = getattr(spark, "sparkContext", None)
    if context is None:
        return lambda: (0, 0)
    tracker = context.statusTracker()

    def tasks() -> tuple[int, int]:
        stages = [tracker.getStageInfo(it) for it in tracker.getActiveStageIds()]
        known = [it for it in stages if it is not None]
        return sum(it.numCompletedTasks for it in known), sum(it.numTasks for it in known)

    return tasks
