"""Many topics, a table each, in one run: the topics take turns, and one that fails is left alone.

Which topics there are is asked again and again, because a pattern may find new ones. A topic whose
turn fails is tried again after a pause that grows; meanwhile the others go on, also where what one
table meets is no error of ours. Where all meet such a mistake, it is Spark or Odradek itself that
does not work, and the run ends.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

from odradek.model.counting import counted
from odradek.model.units import MINUTE, SECOND, Millis
from odradek.pipelines.errors import Away, PipelineError, error_of, one_sentence
from odradek.pipelines.moving.archiving.archive import Archive, Archiver, now_ms
from odradek.pipelines.moving.archiving.triggers import Once, Trigger, pause_ms
from odradek.pipelines.moving.archiving.waiting import ONCE_MS_MAX
from odradek.pipelines.moving.reports import Account, BatchReport, Listener, unheard

PAUSE_MS_MIN: Final = Millis(SECOND)
PAUSE_MS_MAX: Final = Millis(5 * MINUTE)
NAMED_MAX: Final = 5

log = logging.getLogger("odradek.pipelines")

LOOK_MS: Final = Millis(30 * SECOND)
"""How often it is looked for new topics."""

Jobs = Callable[[], Mapping[str, Callable[[], Archive]]]
"""What there is to do now, by topic; what a topic's table is made of is asked when it begins."""


class TablesFailed(PipelineError):
    """Of many tables some are not as far as they should be; the others are."""


@dataclass
class Turns:
    """Those of one topic."""

    job: Callable[[], Archive]
    archiver: Archiver | None = None
    is_done: bool = False  # of a run that ends
    failed_ms: int | None = None  # since when
    next_ms: int = 0
    pause_ms: Millis = PAUSE_MS_MIN
    error: str = ""
    mistake: Exception | None = None  # the last failure, if it is no error of ours

    def take(self, spark: Any, number: int, *, once: bool) -> BatchReport | None:
        """One batch, if there is something to be read."""
        began = now_ms()
        if self.archiver is None:
            archiver = Archiver(spark, self.job())
            if once:
                archiver.steps.end_now()
            self.archiver = archiver
        elif self.failed_ms is not None:
            self.archiver.reload()
        step = self.archiver.step()
        report = self.archiver.run(step, number, began) if step.ranges else None
        self.failed_ms, self.pause_ms, self.error, self.mistake = None, PAUSE_MS_MIN, "", None
        self.is_done = once and report is None
        return report

    def fail(self, error: Exception, *, once: bool) -> None:
        """What is away is tried again; all else, too, unless the run is to end."""
        now = now_ms()
        self.mistake = None if isinstance(error, PipelineError) else error
        if self.mistake is not None:
            self.archiver = None  # who knows what it left behind
        self.failed_ms = now if self.failed_ms is None else self.failed_ms
        is_away = isinstance(error, Away) and now - self.failed_ms < ONCE_MS_MAX
        self.error = one_sentence(error)
        self.is_done = once and not is_away
        self.next_ms = now + self.pause_ms
        self.pause_ms = Millis(min(2 * self.pause_ms, PAUSE_MS_MAX))


def archive_each(
    spark: Any,
    jobs: Jobs,
    trigger: Trigger,
    *,
    on_batch: Listener = unheard,
    stopping: Event | None = None,
) -> Account:
    """As `archive` does, for all of them; `TablesFailed` at the end names those that failed."""
    stopping = stopping or Event()
    once = isinstance(trigger, Once)
    turns: dict[str, Turns] = {}
    total, number, look_ms = Account(), 0, 0
    while not stopping.is_set():
        began, idle = now_ms(), True
        if began >= look_ms:
            _meet(turns, jobs)
            look_ms = began + LOOK_MS
        for name, those in turns.items():
            if those.is_done or now_ms() < those.next_ms or stopping.is_set():
                continue
            report = _turn(spark, name, those, number + 1, once=once)
            if report is not None:
                number, idle = number + 1, False
                total += report.account
                on_batch(report)
        if once and all(it.is_done for it in turns.values()):
            break
        _check_mistakes(turns, once=once)
        stopping.wait(pause_ms(trigger, began, now_ms(), idle=idle) / SECOND)
    failed = {name: it.error for name, it in turns.items() if it.error}
    if failed:
        raise TablesFailed(_told(failed, len(turns)))
    return total


def _meet(turns: dict[str, Turns], jobs: Jobs) -> None:
    """Topics that are new have a turn, too. Who cannot be asked now is asked in the next round."""
    try:
        for name, job in jobs().items():
            turns.setdefault(name, Turns(job))
    except Away as error:
        if not turns:
            raise
        log.warning("new topics are not looked for: %s", error)


def _turn(spark: Any, name: str, turns: Turns, number: int, *, once: bool) -> BatchReport | None:
    before = turns.error
    try:
        report = turns.take(spark, number, once=once)
    except Exception as error:
        ours = error_of(error)
        turns.fail(ours or error, once=once)
        if turns.error != before:
            trace = error if ours is None else None
            log.warning("topic %s is left alone for a while: %s", name, turns.error, exc_info=trace)
        return None
    if before:
        log.warning("topic %s goes on", name)
    return report


def _check_mistakes(turns: Mapping[str, Turns], *, once: bool) -> None:
    """Raises what all tables meet; a run that is to end names each of them at its end."""
    met = [it.mistake for it in turns.values() if it.mistake is not None]
    if met and len(met) == len(turns) and not once:
        raise met[-1]


def _told(failed: Mapping[str, str], count: int) -> str:
    some = "; ".join(f"{name}: {error}" for name, error in sorted(failed.items())[:NAMED_MAX])
    more = f"; and {len(failed) - NAMED_MAX} more" if len(failed) > NAMED_MAX else ""
    return f"{len(failed)} of {counted(count, 'table')} not as far as their topics: {some}{more}"
