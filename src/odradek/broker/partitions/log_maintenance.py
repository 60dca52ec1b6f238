"""What a broker does for its logs in the background: flushing, retention, compaction, checkpoints.

Each kind of work has its own round in each dir. What it finds to do is done by the dir's worker,
between appends and never in their way. The round that comes every second looks only at logs that
were written to lately; those that look at every log come rarely.

Work on a log is planned and noted on the loop, and carried out by its dir's worker. While a log is
compacted its start does not move; a log that is deleted meanwhile is let go after the next step.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.broker.jobs import drained, off_loop
from odradek.broker.partitions.logs.local_logs import RunningCompaction
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.silence_clock import SilenceClock
from odradek.broker.settings import SettingsSource
from odradek.config.rows import cleaner as cleaner_rows
from odradek.config.rows import log as log_rows
from odradek.config.rows import replication as replication_rows
from odradek.config.setting import BrokerSetting
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import SECOND, Bytes, Millis
from odradek.ports import Clock, Worker
from odradek.storage.compacting.compaction import Cleanable, Compaction, Throttle, cleanable, is_due
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.room import measure, takes
from odradek.storage.errors import CorruptFile, StorageError
from odradek.storage.files.names import HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from odradek.storage.logs.closing import RestJob
from odradek.storage.logs.flushing import FlushJob, flush_is_due, presync
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.retention import DeleteJob, deletable_up_to
from odradek.storage.logs.view import LogView

FLUSH_ROUND: Final = Millis(SECOND)
RATE_MAX: Final = 1e15
MEASURE_ROUND: Final = Millis(30 * SECOND)
REST_ROUNDS: Final = 10
"""A log that is not written to for so many rounds of flushing is put to rest."""
STARTS_TOGETHER: Final = 256
"""Logs whose start moves by one or two checkpoints: as many jobs stand in the queue at once."""

log = structlog.get_logger()


class _Round(NamedTuple):
    """One kind of work, and how long it rests."""

    work: Callable[[LogDir], Awaitable[None]]
    pause: BrokerSetting[Millis] | Millis
    begins_at_once: bool = False  # what an earlier life has left need not wait


class _Start(NamedTuple):
    """Where a log may begin, as it was after so many cuts."""

    offset: Offset
    cuts: int


class LogMaintenance:
    """All rounds of a broker."""

    def __init__(
        self,
        replicas: ReplicaManager,
        settings: SettingsSource,
        clock: Clock,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._replicas = replicas
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._started: list[asyncio.Task[None]] = []
        self._silence = SilenceClock(clock)
        self._corrupt: dict[TopicPartition, tuple[PartitionLog, int]] = {}
        """They are left alone, until they are mended: with their cuts so far."""
        self._active: dict[str, dict[PartitionLog, int]] = {  # rounds since it was written to
            log_dir.name: {} for log_dir in replicas.dirs.dirs
        }

    def start(self) -> list[asyncio.Task[None]]:
        """One task for each dir and kind of work, so that a slow disk holds up no other.

        The list grows when a disk is replaced.
        """
        for log_dir in self._replicas.dirs.online:
            self.on_dir_replaced(log_dir)
        return self._started

    def on_dir_replaced(self, log_dir: LogDir) -> None:
        """The rounds in this dir begin."""
        rounds = (
            _Round(self._flush, FLUSH_ROUND),
            _Round(self._name_synced, FLUSH_ROUND),
            _Round(self._retain, log_rows.LOG_RETENTION_CHECK_INTERVAL_MS),
            _Round(self._note_recovery_points, log_rows.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS),
            _Round(self._note_starts, log_rows.LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS),
            _Round(
                self._note_high_watermarks,
                replication_rows.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS,
            ),
            _Round(self._delete, log_rows.LOG_SEGMENT_DELETE_DELAY_MS, begins_at_once=True),
            _Round(self._compact, cleaner_rows.LOG_CLEANER_BACKOFF_MS),
            _Round(self._measure, MEASURE_ROUND),
        )
        self._active[log_dir.name].clear()
        self._started += [self._tasks.create_task(self._go_round(log_dir, each)) for each in rounds]

    async def _go_round(self, log_dir: LogDir, each: _Round) -> None:
        """Until it has failed, or another dir has taken its place, which has rounds of its own."""
        if not each.begins_at_once:
            await self._rest(each)
        while not log_dir.is_offline:
            try:
                await each.work(log_dir)
            except StorageError as error:
                log.warning("log_maintenance.failed", log_dir=log_dir.name, error=str(error))
            await self._rest(each)

    async def _rest(self, each: _Round) -> None:
        pause = each.pause
        if isinstance(pause, BrokerSetting):
            pause = self._settings.broker[pause]
        await self._clock.sleep_until(Millis(self._clock.monotonic() + max(pause, 1)))

    # The rounds

    async def _flush(self, log_dir: LogDir) -> None:
        """Of the logs that were written to lately: what topics want flushed, and what was rolled.

        One that was left alone for a while is put to rest.
        """
        appends, active = self._replicas.logs.appends[log_dir.name], self._active[log_dir.name]
        touched, appends.touched = appends.touched, {}
        for found in touched:
            active[found] = 0
        for found, rounds in list(active.items()):
            if log_dir.logs.get(found.partition) is not found:
                del active[found]
            elif not _is_at_home(found, log_dir):
                continue
            elif flush_is_due(found, self._clock.wall()):
                if (sync := presync(found)) is not None:
                    await off_loop(self._background(log_dir), sync, of=found)
                if _is_at_home(found, log_dir):
                    await self._do(log_dir, FlushJob(found, self._clock.wall()))
            elif rounds < REST_ROUNDS or not found.is_idle:
                active[found] = rounds + 1
            elif found.config.flush_ms is None or found.recovery_point == found.log_end_offset:
                del active[found]
                await self._do(log_dir, RestJob(found))

    async def _name_synced(self, log_dir: LogDir) -> None:
        """Of which logs nothing is lost with the page cache, where topics want it otherwise now."""
        misnamed = log_dir.misnamed()
        for found in misnamed:
            wants = found.config.flush_before_ack and not found.is_durable
            if wants and _is_at_home(found, log_dir):
                await self._do(log_dir, FlushJob(found, self._clock.wall()))
        naming = log_dir.naming([found for found in misnamed if _is_at_home(found, log_dir)])
        if not naming.is_idle:
            await off_loop(self._worker(log_dir), naming.run)
            naming.publish()

    async def _do(self, log_dir: LogDir, job: FlushJob | RestJob) -> None:
        """A log that was written to meanwhile is not put to rest; if it is lent nothing counts."""
        await off_loop(self._worker(log_dir), job.run, of=job.log)
        if job.log.lent_to is None and (isinstance(job, FlushJob) or job.log.is_idle):
            job.publish()

    async def _retain(self, log_dir: LogDir) -> None:
        """Drops what is too old or too much, and forgets producers that are gone.

        Many logs together: a start is durable before anybody hears of it, and the checkpoint is
        that of the whole dir.
        """
        worker = self._worker(log_dir)
        starts: dict[PartitionLog, _Start] = {}
        async for found in self._logs(log_dir):
            now, cuts = self._clock.wall(), found.cuts
            after = found.config.producer_expiration_ms
            found.producers.expire(self._silence.now(after), after)
            if found.being_cleaned or not found.config.delete:
                continue
            with self._noting(found):
                look = partial(deletable_up_to, LogView(found), now)
                start = await off_loop(worker, look, of=found)
                if start > found.log_start_offset:
                    starts[found] = _Start(start, cuts)
            if len(starts) == STARTS_TOGETHER:
                await self._move_starts(log_dir, starts)
        await self._move_starts(log_dir, starts)

    async def _move_starts(self, log_dir: LogDir, starts: dict[PartitionLog, _Start]) -> None:
        """All of these, which are none afterwards."""
        async with asyncio.TaskGroup() as tasks:
            for found, start in starts.items():
                tasks.create_task(self._move_start(log_dir, found, start))
        starts.clear()

    async def _move_start(self, log_dir: LogDir, found: PartitionLog, to: _Start) -> None:
        """Unless it was cut since the look, or moves to another dir: the next round looks again."""
        try:
            with self._noting(found):
                if not _is_at_home(found, log_dir) or found.cuts != to.cuts:
                    return
                if to.offset >= found.log_end_offset and found.active_segment.size:
                    await self._replicas.roll(found.partition)  # it is too old, too: it can go
                if _is_at_home(found, log_dir) and found.cuts == to.cuts:
                    async with self._replicas.logs.starting_at(found, to.offset):
                        await self._delete_below(log_dir, found, to.offset)
        except StorageError as error:
            log.warning("log_maintenance.failed", log_dir=log_dir.name, error=str(error))

    async def _delete_below(self, log_dir: LogDir, found: PartitionLog, start: Offset) -> None:
        is_there = _is_at_home(found, log_dir) and not found.is_held
        if not is_there or found.being_cleaned or start <= found.log_start_offset:
            return
        job = DeleteJob(found, min(start, found.high_watermark))
        await off_loop(self._worker(log_dir), job.run, of=found)
        self._replicas.on_log_start(found)
        log.info(
            "log.start_moved",
            partition=str(found.partition),
            log_start_offset=found.log_start_offset,
            segments=len(job.segments),
        )

    async def _note_recovery_points(self, log_dir: LogDir) -> None:
        """Of all logs in one file, if one of them has moved; so do the next two."""
        await self._note(log_dir, RECOVERY_POINTS)

    async def _note_starts(self, log_dir: LogDir) -> None:
        await self._note(log_dir, LOG_START_OFFSETS)

    async def _note_high_watermarks(self, log_dir: LogDir) -> None:
        """This round comes often, so it also finds a dir that has failed while it was idle."""
        await self._note(log_dir, HIGH_WATERMARKS)
        await off_loop(self._background(log_dir), log_dir.check)

    async def _note(self, log_dir: LogDir, name: str) -> None:
        background = self._background(log_dir)
        for note in log_dir.notes(name):
            await off_loop(background, note.write)
            if note.is_news:
                await off_loop(self._worker(log_dir), note.take_place)
                await off_loop(background, note.settle)

    async def _delete(self, log_dir: LogDir) -> None:
        """The files of logs that were deleted, one directory at a time."""
        background = self._background(log_dir)
        while await off_loop(background, log_dir.delete_next):
            pass

    async def _measure(self, log_dir: LogDir) -> None:
        """How much room there is; where some is left, missing logs are made, and others filled.

        Who waits for room has found none where the disk may have said that there is some.
        """
        logs = self._replicas.logs
        room = await off_loop(self._background(log_dir), partial(measure, log_dir))
        wanted = logs.wanted_room(log_dir.name, room)
        if wanted and not await off_loop(self._worker(log_dir), partial(takes, log_dir, wanted)):
            log.warning("log_dir.refuses", log_dir=log_dir.name, free=room.free, wanted=wanted)
            room = room._replace(free=Bytes(0))
        logs.note_room(log_dir.name, room)
        if room.free:
            self._replicas.ask_for_lost()

    async def _compact(self, log_dir: LogDir) -> None:
        """The log that gains the most, if any is due."""
        if not self._settings.broker[cleaner_rows.LOG_CLEANER_ENABLE]:
            return
        worker = self._worker(log_dir)
        best: tuple[float, PartitionLog] | None = None
        async for found in self._logs(log_dir):
            if not found.config.compact or found.being_cleaned or self._is_corrupt(found):
                continue
            if self._replicas.dirs.future(found.partition) is None:  # its copy must not lag behind
                with self._noting(found):
                    gain = await off_loop(worker, self._look(log_dir, found), of=found)
                    if is_due(found, gain) and (best is None or gain.dirty_ratio > best[0]):
                        best = (gain.dirty_ratio, found)
        if best is not None and _is_at_home(best[1], log_dir):
            with self._noting(best[1]):
                await self._compact_one(log_dir, best[1])

    def _look(self, log_dir: LogDir, found: PartitionLog) -> Callable[[], Cleanable]:
        first_dirty = log_dir.cleaner_offsets.get(found.partition, found.log_start_offset)
        return partial(cleanable, LogView(found), first_dirty, self._clock.wall())

    async def _compact_one(self, log_dir: LogDir, found: PartitionLog) -> None:
        """In steps, between which appends are written. However it ends, what was swapped stays.

        Where one ends too soon, the next one begins where this one began.
        """
        worker, cuts = self._worker(log_dir), found.cuts
        gain = await off_loop(worker, self._look(log_dir, found), of=found)
        is_there = _is_at_home(found, log_dir) and found.cuts == cuts
        is_free = not found.being_cleaned and found not in self._replicas.logs.not_compacted
        if not is_there or not is_free or not is_due(found, gain):
            return
        compaction = Compaction(log_dir, found, gain, self._clock.wall())
        throttle = Throttle(
            _rate(self._settings.broker[cleaner_rows.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND])
        )
        steps = compaction.steps()
        running = RunningCompaction(compaction.cancel, asyncio.Event())
        self._replicas.logs.compactions[found] = running
        try:
            step = partial(next, steps, None)
            while (count := await off_loop(worker, step, of=found)) is not None:
                now = self._clock.monotonic()
                await self._clock.sleep_until(Millis(now + throttle.rest_after(count, now)))
                if log_dir.logs.get(found.partition) is not found:
                    compaction.cancel()
        finally:
            compaction.cancel()
            try:
                await drained(worker)
            finally:
                compaction.publish()
                del self._replicas.logs.compactions[found]
                running.ended.set()
        upto = compaction.cleaned_upto
        if upto is None:
            log.info("log.compaction_cancelled", partition=str(found.partition))
            return
        if log_dir.logs.get(found.partition) is found:
            await off_loop(worker, partial(log_dir.note_cleaned, found.partition, upto))
        log.info("log.compacted", partition=str(found.partition), upto=upto)

    # How it is done

    @contextmanager
    def _noting(self, found: PartitionLog) -> Iterator[None]:
        """Corruption of one log is told once; the round goes on with the others.

        Of one that is being cut the next round may find it again.
        """
        try:
            yield
        except CorruptFile as error:
            if found.lent_to is None and not self._is_corrupt(found):
                self._replicas.logs.tell_corrupt(found, error)
                self._corrupt[found.partition] = found, found.cuts

    def _is_corrupt(self, found: PartitionLog) -> bool:
        return self._corrupt.get(found.partition) == (found, found.cuts)

    def _worker(self, log_dir: LogDir) -> Worker:
        return self._replicas.logs.workers[log_dir.name]

    def _background(self, log_dir: LogDir) -> Worker:
        return self._replicas.logs.background[log_dir.name]

    async def _logs(self, log_dir: LogDir) -> AsyncIterator[PartitionLog]:
        """Every log, each as long as it is there still, and not lent, when its turn comes."""
        await asyncio.sleep(0)
        for found in list(log_dir.logs.values()):
            if _is_at_home(found, log_dir):
                yield found


def _is_at_home(found: PartitionLog, log_dir: LogDir) -> bool:
    """Whether it is there still, is served, and no other job has it alone."""
    is_free = found.lent_to is None and not found.is_given_up
    return is_free and log_dir.logs.get(found.partition) is found


def _rate(bytes_per_second: float) -> int | None:
    """Without a bound where the setting is as good as none."""
    return None if bytes_per_second > RATE_MAX else max(1, int(bytes_per_second))
