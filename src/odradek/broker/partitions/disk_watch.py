"""Disks that hang: found by the jobs that do not end.

A disk that fails says so; one that hangs says nothing. So the workers are looked at: while jobs
wait and none gets on, the disk is stuck. Those who wait for a write are then told, so that a
producer waits no longer than it was asked to. After `log.dir.hang.timeout.ms` the dir counts as
failed: its worker is given up, with all that waits there, and the broker goes on without it.

A job that makes many calls (the deletion of a log, the sync of many segments) gets on with each of
them. What counts is the time that this watch has seen pass: a process that was stopped, or whose
machine slept, does not take its own absence for the disk's. No disk holds up the watch itself, for
the loop asks nothing of one.
"""

from collections.abc import Callable
from errno import ETIMEDOUT
from typing import Final

import structlog

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.settings import SettingsSource
from odradek.broker.timers import Timer, Timers
from odradek.config.rows.log import LOG_DIR_HANG_TIMEOUT_MS
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock, Worker
from odradek.storage.dirs.log_dirs import WentOffline

LOOK: Final = SECOND
LOOKS_PER_TIMEOUT: Final = 4
"""A dir that hangs is found at most a quarter of its time-out too late."""
IDLE: Final = -1  # nothing is asked of it

log = structlog.get_logger()


class _Since:
    """The patience of those who wait for a disk: it counts from the last look on."""

    def __init__(self, timers: Timers, looked: Millis) -> None:
        self._timers = timers
        self._looked = looked

    def after(self, timeout: Millis, call: Callable[[], None]) -> Timer:
        """Calls so long after that look."""
        return self._timers.at(Millis(self._looked + timeout), call)


class DiskWatch:
    """Looks at the workers of all log dirs."""

    def __init__(
        self, replicas: ReplicaManager, settings: SettingsSource, clock: Clock, timers: Timers
    ) -> None:
        self._replicas = replicas
        self._settings = settings
        self._clock = clock
        self._timers = timers
        self._seen: dict[Worker, tuple[int, Millis]] = {}  # its progress, and how long it was that

    def on_dir_failed(self, gone: WentOffline) -> None:
        """It is not looked at any more; an operation on it asks its worker whether it hangs."""
        for worker in self._workers(gone.log_dir):
            self._seen.pop(worker, None)
        self._replicas.logs.stuck.pop(gone.log_dir, None)

    async def run(self) -> None:
        """Until it is cancelled."""
        looked = self._clock.monotonic()
        while True:
            pause = self._pause
            await self._clock.sleep_until(Millis(looked + pause))
            passed = min(Millis(self._clock.monotonic() - looked), Millis(2 * pause))
            for log_dir in self._replicas.dirs.online:
                self._look(log_dir.name, looked, passed)
            looked = self._clock.monotonic()

    @property
    def _pause(self) -> Millis:
        timeout = self._settings.broker[LOG_DIR_HANG_TIMEOUT_MS]
        return Millis(min(LOOK, max(timeout // LOOKS_PER_TIMEOUT, 1)))

    def _workers(self, name: str) -> tuple[Worker, Worker]:
        logs = self._replicas.logs
        return logs.workers[name], logs.background[name]

    def _look(self, name: str, looked: Millis, passed: Millis) -> None:
        logs = self._replicas.logs
        millis = max(self._stuck_for(worker, passed) for worker in self._workers(name))
        if not millis:
            logs.stuck.pop(name, None)
            return
        logs.stuck[name] = millis
        logs.appends[name].on_stuck(_Since(self._timers, looked))
        timeout = self._settings.broker[LOG_DIR_HANG_TIMEOUT_MS]
        if millis >= timeout:
            log.error("log_dir.hangs", log_dir=name, millis=millis)
            error = OSError(ETIMEDOUT, f"no answer within {timeout} ms (log.dir.hang.timeout.ms)")
            logs.abandon(name, self._replicas.dirs.failures.report(name, error))
            self._replicas.look_at_failures()

    def _stuck_for(self, worker: Worker, passed: Millis) -> Millis:
        """How long the same job has been there without progress; 0: since the last look there was.

        One that has just come is not stuck, however long the worker had nothing to do before.
        """
        progress, millis = self._seen.get(worker, (IDLE, Millis(0)))
        now = IDLE if worker.idle else worker.progress
        millis = Millis(millis + passed if now == progress != IDLE else 0)
        self._seen[worker] = now, millis
        return millis
