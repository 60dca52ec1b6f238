"""What one turn of the loop appended to the logs of one log dir, written together at its end.

All of it goes to the dir's worker as one job, however little it is: the hop to a thread and back
costs more than a small write, but a disk that hangs would hold up the loop, and with it all the
other disks. While that job is under way the appends of further turns are gathered, and make the
next one: so the slower the disk, the larger the groups, and of topics that are synced before they
are acknowledged a whole group shares one sync. Who would rather have fewer syncs than quick answers
lets a group linger before its sync.

What is decided for a log that is held, because it is about to be served from another dir, waits: it
is written to the log that takes its place, or to the same one if none does.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

from odradek.broker.jobs import drained, foreseen
from odradek.broker.partitions.replicas.replica import (
    Expecting,
    Patience,
    Replica,
    unwritten_before,
)
from odradek.broker.settings import SettingsSource
from odradek.config.rows.log import LOG_FLUSH_BEFORE_ACK_LINGER_MS
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND
from odradek.ports import Clock, Worker
from odradek.storage.errors import DiskFull, JobFailed, StorageError
from odradek.storage.logs.flushing import sync_group
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.writing import WriteJob

_Part: TypeAlias = tuple[Replica, WriteJob | None, list[Expecting]]
"""One log's share of a turn. Without a job, only those who wait for an earlier one."""


class GroupCommit:
    """The appends to one log dir."""

    def __init__(self, worker: Worker, clock: Clock, settings: SettingsSource) -> None:
        self._worker = worker
        self.clock = clock
        self._settings = settings
        self.on_full: list[Callable[[PartitionLog], None]] = []  # no room for its appends
        self.touched: dict[PartitionLog, None] = {}  # written to since somebody has last asked
        self._turn: list[Replica] = []
        self._held: list[Replica] = []  # from earlier turns
        self._gathered: list[_Part] = []  # while a job is under way
        self._under_way: list[_Part] = []  # in the worker's job
        self.writes = 0  # groups that were written
        self.write_micros = 0  # what they took altogether, their syncs included
        self._told_stuck = 0  # so many of both were told that the disk hangs
        self._is_busy = False  # one of our jobs is, or a group lingers
        self._lingering: asyncio.TimerHandle | None = None

    def schedule(self, replica: Replica) -> None:
        """At the end of this turn there is something to write for this log."""
        if replica.is_scheduled:
            return
        replica.is_scheduled = True
        self.touched[replica.log] = None
        if not self._turn:
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._turn.append(replica)

    def withdraw(self, replica: Replica) -> None:
        """Its log lies in another dir now."""
        (self._turn if replica in self._turn else self._held).remove(replica)
        replica.is_scheduled = False

    def hand_over(self, log: PartitionLog, to_log: PartitionLog, appends: "GroupCommit") -> None:
        """The other log has the same records: what was decided since is written there."""
        job, lost = log.take_job(), None
        try:
            if job is not None:
                run = b"".join(chunk for piece in job.pieces for chunk in piece.chunks)
                to_log.append_replica(memoryview(run), self.clock.wall())
        except BrokerError as error:
            lost = error
        for replica in self._waiting_for(log):
            replica.serve_from(to_log, appends)
            if lost is not None:
                appends.withdraw(replica)
                replica.unwritten(replica.take_expecting(), lost)

    def release(self, log: PartitionLog) -> None:
        """It is held no more, and stays where it is."""
        for replica in self._waiting_for(log):
            self.withdraw(replica)
            self.schedule(replica)

    def take_lost(self, log: PartitionLog) -> list[Expecting]:
        """Once the log is reset: those whose batch, a duplicate, was lost with the first."""
        if not log.is_idle:
            return []
        return [it for replica in self._waiting_for(log) for it in replica.take_lost()]

    def _waiting_for(self, log: PartitionLog) -> list[Replica]:
        return [replica for replica in (*self._held, *self._turn) if replica.log is log]

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, []
        parts: list[_Part] = []
        wants_sync = False
        for replica in turn:
            log = replica.log
            if log.is_held:
                self._held.append(replica)
                continue
            job = log.take_job()
            wants_sync = wants_sync or (job is not None and job.wants_sync)
            parts.append((replica, job, replica.expecting))
            replica.expecting, replica.is_scheduled = [], False
        if self._is_busy:
            self._gathered += parts
        elif wants_sync and (linger := self._settings.broker[LOG_FLUSH_BEFORE_ACK_LINGER_MS]):
            self._gathered, self._is_busy = parts, True
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(linger / SECOND, self.written)
        elif parts:
            self._write(parts)

    async def settled(self) -> None:
        """Returns once all that was decided so far is written; nothing lingers for it."""
        await asyncio.sleep(0)  # the turn in which it was decided comes to its end
        if self._lingering is not None:
            self.written()
        await drained(self._worker)  # the job that is under way
        await drained(self._worker)  # and what was gathered meanwhile

    def _write(self, parts: list[_Part]) -> None:
        self._is_busy = True
        self._under_way = parts
        self._worker.submit(_Group(self, parts))

    def on_stuck(self, patience: Patience) -> None:
        """The disk hangs: those who wait for it do so no longer than they were asked to."""
        parts = [*self._under_way, *self._gathered]
        for part in parts[self._told_stuck :]:
            for writer, place, _ in part[2]:
                writer.on_stuck(place, patience)
        self._told_stuck = len(parts)

    def written(self) -> None:
        """Our job, or a linger, has ended; what was gathered meanwhile makes the next one."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        self._is_busy = False
        self._under_way, self._told_stuck = [], 0
        if self._gathered:
            parts, self._gathered = self._gathered, []
            self._write(parts)


class _Group:
    """The parts of one turn or of several, as a job of the worker."""

    __slots__ = ("_appends", "_errors", "_given_up", "_micros", "_mistake", "_parts")

    def __init__(self, appends: GroupCommit, parts: list[_Part]) -> None:
        self._appends = appends
        self._parts = parts
        self._errors: dict[WriteJob | None, BrokerError] = {}  # of those that failed
        self._mistake: Exception | None = None
        self._given_up: list[PartitionLog] = []
        self._micros = 0

    def run(self) -> None:
        """On the worker: writes all, then syncs what is to be synced."""
        began = self._appends.clock.micros()
        syncing: list[WriteJob] = []
        for replica, job, _ in self._parts:
            if job is None:
                continue
            try:
                job.run()
                if job.wants_sync:
                    syncing.append(job)
            except BrokerError as error:
                self._errors[job] = error
            except Exception as error:  # noqa: BLE001 - raised again once the others are written
                self._errors[job] = self._on_mistake(error, [replica.log])
        if syncing:
            self._sync(syncing)
        self._micros = self._appends.clock.micros() - began
        if self._mistake is not None:
            raise self._mistake

    def _sync(self, jobs: list[WriteJob]) -> None:
        try:
            sync_group(jobs)
        except StorageError as error:
            self._fail(jobs, error)
        except Exception as error:  # noqa: BLE001 - likewise
            logs = [replica.log for replica, job, _ in self._parts if job in jobs]
            self._fail(jobs, self._on_mistake(error, logs))

    def _fail(self, jobs: list[WriteJob], error: StorageError) -> None:
        self._errors.update(dict.fromkeys(jobs, error))

    def _on_mistake(self, error: Exception, logs: list[PartitionLog]) -> StorageError:
        """No code foresees it: these logs are not to be relied on."""
        self._mistake = error
        self._given_up += logs
        return JobFailed(f"{type(error).__name__}: {error}")

    def _on_error(self, error: Exception) -> None:
        if isinstance(error, StorageError):  # the dir was given up
            self._errors = {job: error for _, job, _ in self._parts}
        else:
            foreseen(error, *self._given_up)

    def done(self, error: Exception | None) -> None:
        """On the loop: all is published, in its order."""
        if error is not None:
            self._on_error(error)
        self._appends.writes += 1
        self._appends.write_micros += self._micros
        errors, self._errors = self._errors, {}  # a traceback has this group, and its files
        try:
            _finish(self._parts, errors, self._appends)
        finally:
            self._appends.written()


def _finish(
    parts: list[_Part], errors: Mapping[WriteJob | None, BrokerError], appends: GroupCommit
) -> None:
    """Readers see what was written, and writers hear of it."""
    full: dict[PartitionLog, None] = {}
    for replica, job, expecting in parts:
        error = errors.get(job) if errors else None
        if job is None:
            replica.unwritten(expecting, unwritten_before())
        elif error is None:
            job.log.published(job)
            replica.written(expecting)
        else:
            job.fail()
            replica.unwritten([*expecting, *appends.take_lost(replica.log)], error)
            if isinstance(error, DiskFull):
                full[replica.log] = None
    for found in full:
        for refused in appends.on_full:
            refused(found)
