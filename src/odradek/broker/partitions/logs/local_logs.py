"""The logs of this broker, over all its log dirs: opened, made, read, put away, closed.

What touches a disk is done by that dir's worker, all dirs side by side; what the loop reads is
changed only on the loop.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.broker.doors import Doors
from odradek.broker.jobs import drained, off_loop
from odradek.broker.partitions.logs.doubted_logs import doubt, note_offline
from odradek.broker.partitions.logs.group_commit import GroupCommit
from odradek.broker.partitions.logs.log_starts import LogStarts, Wish
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState, is_of_another_topic
from odradek.broker.settings import SettingsSource
from odradek.config.rows import transactions
from odradek.model.errors import CorruptBatch
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition, topic_id_text
from odradek.model.positions import NO_LEADER_EPOCH, BrokerEpoch, Offset
from odradek.model.units import SECOND, Millis
from odradek.ports import Worker
from odradek.storage.dirs.dir_new_logs import InDir, NewLog
from odradek.storage.dirs.log_dir import LogDir, Opened
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.dirs.room import Room
from odradek.storage.errors import CorruptFile, DiskFull, LogDirOffline, StorageError
from odradek.storage.lending import Lent
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt
from odradek.storage.logs.retention import DeleteJob, DeletionBeforeTheStart, oldest_below
from odradek.storage.logs.rot import check_range
from odradek.storage.logs.truncation import count_producers_anew
from odradek.storage.logs.view import LogView
from odradek.storage.settings import LogConfig

MADE_AT_ONCE: Final = 64
"""So many new logs are made before others have their turn with the disk: their syncs go together,
and to make them takes about as long as these."""

CLOSE_PATIENCE: Final = Millis(3 * SECOND)
"""How long the end of a broker waits for what a log dir is doing; one that hangs is left as it is:
the next start repairs it as after a crash."""

REPAIRS_TOLD_MAX: Final = 100
"""So many logs are spoken of one by one after an unclean stop."""

log = structlog.get_logger()


class RunningCompaction(NamedTuple):
    """A log whose old segments are being replaced: how to end that, and when it has ended."""

    cancel: Callable[[], None]
    ended: asyncio.Event


class LocalLogs:
    """All of them; whose they are to serve is not known here."""

    def __init__(
        self,
        doors: Doors,
        settings: SettingsSource,
        dirs: LogDirs,
        on_log_start: Callable[[PartitionLog], None],
    ) -> None:
        """`on_log_start`: a log begins later, because its dir had no room."""
        self.dirs = dirs
        self.workers = {each.disk.name: each.worker for each in doors.dirs}
        self.background = {each.disk.name: each.background for each in doors.dirs}
        self.appends = {
            name: GroupCommit(worker, doors.clock, settings)
            for name, worker in self.workers.items()
        }
        self.on_corrupt_file: list[Callable[[PartitionLog, CorruptFile], None]] = []
        self.on_corrupt: list[Callable[[PartitionLog, CorruptAt], None]] = []
        self._on_log_start = on_log_start
        self._clock = doors.clock
        self._settings = settings
        self._starts = LogStarts()
        self.room: dict[str, Room] = {}  # of each disk, when it was last looked at
        self.on_measured: list[Callable[[str, Room], None]] = []  # told of each look
        self.on_measuring: list[Callable[[str, Room], int]] = []  # each says how much it waits for
        self.stuck: dict[str, Millis] = {}  # how long disks have not answered, by dir
        self.warnings: dict[str, str] = {}  # what is feared of a disk that still works
        self.compactions: dict[PartitionLog, RunningCompaction] = {}
        self.not_compacted: set[PartitionLog] = set()  # until what is done to them has ended
        self._shortened: dict[PartitionLog, asyncio.Event] = {}  # to make room, and until when
        self._being_made: dict[TopicPartition, str] = {}  # logs, and in which dir
        self._being_made_in: Counter[str] = Counter()  # their count, by dir

    def config_of(self, topic: str) -> LogConfig:
        """What holds for the logs of a topic."""
        forgotten_after = self._settings.broker[transactions.PRODUCER_ID_EXPIRATION_MS]
        return LogConfig.of(self._settings.topic(topic), forgotten_after)

    def worker_of(self, found: PartitionLog) -> Worker:
        """Who goes to its disk."""
        return self.workers[found.folder.disk.name]

    def wanted_room(self, name: str, room: Room) -> int:
        """The most that somebody waits for, of a dir's disk that says it has so much."""
        return max((wanted(name, room) for wanted in self.on_measuring), default=0)

    def note_room(self, name: str, room: Room) -> None:
        """A dir's disk was looked at."""
        self.room[name] = room
        for measured in self.on_measured:
            measured(name, room)

    def abandon(self, name: str, error: Exception) -> None:
        """The disk hangs: nothing waits for it any longer."""
        self.workers[name].abandon(error)
        self.background[name].abandon(error)

    def revive(self, name: str) -> bool:
        """Whether nothing of what was given up is held by the disk still."""
        worker, background = self.workers[name], self.background[name]
        revived = worker.revive(), background.revive()
        return all(revived) and worker.idle and background.idle

    # Start and stop

    async def open(self) -> None:
        """Opens every log that can be; raises where there are two of one partition."""
        now = self._clock.wall()
        opened: dict[str, Opened] = {}
        async with asyncio.TaskGroup() as tasks:
            for log_dir in self.dirs.online:
                tasks.create_task(self._open(log_dir, opened))
        logs = (found for log_dir in self.dirs.dirs for found in log_dir.all_logs)
        lent: list[Lent] = [*self.dirs.dirs, *logs]
        await off_loop(self.workers[self.dirs.dirs[0].name], self.dirs.settle, lent=lent)
        await doubt(self.dirs, self.workers, opened, self._clock.wall())
        await self.note_offline()
        for log_dir in self.dirs.online:
            for partition in sorted(log_dir.contested):
                log.warning("log.contested", log_dir=log_dir.name, partition=str(partition))
        counts = {log_dir.name: len(log_dir) for log_dir in self.dirs.online}
        for name, found in sorted(opened.items()):
            _tell(name, found, counts.get(name, 0))
        log.info("logs.opened", logs=sum(counts.values()), millis=self._clock.wall() - now)

    async def _open(self, log_dir: LogDir, opened: dict[str, Opened]) -> None:
        open_all = partial(log_dir.open, self.config_of, self._clock.wall())
        try:
            worker = self.workers[log_dir.name]
            opened[log_dir.name] = await off_loop(worker, open_all, lent=[log_dir])
        except StorageError as error:
            log.error("log_dir.cannot_be_opened", log_dir=log_dir.name, error=str(error))

    async def note_offline(self) -> bool:
        """Each dir that serves is told which ones do not; whether that ended doubts about logs."""
        now = self._clock.wall()
        return await note_offline(self.dirs, self.workers, self.background, now)

    async def close(self, broker_epoch: BrokerEpoch) -> None:
        """Makes everything durable, and says so in each dir."""
        async with asyncio.TaskGroup() as tasks:
            for log_dir in self.dirs.online:
                tasks.create_task(self._close(log_dir, broker_epoch))

    async def _close(self, log_dir: LogDir, broker_epoch: BrokerEpoch) -> None:
        try:
            async with asyncio.timeout(CLOSE_PATIENCE / SECOND):
                await drained(self.background[log_dir.name])
                await self.appends[log_dir.name].settled()
        except (TimeoutError, StorageError):
            log.error("log_dir.hangs", log_dir=log_dir.name, outcome="it is not marked clean")
            error = LogDirOffline(f"{log_dir.name} hangs, and the broker stops")
            self.abandon(log_dir.name, error)  # who waits for it is told
            return
        try:
            closing = log_dir.closing(self._clock.wall(), broker_epoch)
            await off_loop(self.workers[log_dir.name], closing.run, lent=closing.logs)
        except StorageError as error:
            log.error("log_dir.not_closed", log_dir=log_dir.name, error=str(error))

    # Logs come and go

    def place(self, wanted: LeaderAndIsrState, *, is_lost: bool = False) -> str | None:
        """The dir of a partition's log, which may have to be made there; None: in no dir now.

        While a dir is offline a missing log may be in it, so no other is made in its place, unless
        the partition is new, or its log is known to be lost. A log that is being made already stays
        where it was begun. Which of contested logs is meant, only a topic's id tells.
        """
        partition = wanted.partition
        found = self.dirs.dir_of(partition)
        if found is not None:
            return found.name
        begun = self._being_made.get(partition)
        if begun is not None and not self.dirs.failures.has_failed(begun):
            return begun
        self.end_making(partition)  # that dir has failed
        is_new = wanted.is_new and not is_lost
        left = None if is_new else self._left_in(wanted)
        if left is not None:
            name = self._back_in(left, wanted)
        else:
            name = self._choose(wanted, is_lost=is_lost)
        if name is not None:
            self._being_made[partition] = name
            self._being_made_in[name] += 1
        return name

    def _left_in(self, wanted: LeaderAndIsrState) -> LogDir | None:
        """The dir of a log of this topic that a move between dirs has left behind."""
        left = self.dirs.left_in(wanted.partition)
        if left is None:
            return None
        topic_id = left.left_behind[wanted.partition].topic_id
        return None if is_of_another_topic(topic_id, wanted.topic_id) else left

    def _back_in(self, left: LogDir, wanted: LeaderAndIsrState) -> str | None:
        """Its dir, once the dir to which it went was replaced; while that is offline, none."""
        return None if left.leaving[wanted.partition] in self.dirs.offline else left.name

    def _choose(self, wanted: LeaderAndIsrState, *, is_lost: bool) -> str | None:
        contested = self.dirs.contested(wanted.partition)
        if wanted.topic_id in contested:
            return contested[wanted.topic_id].name
        if contested and wanted.topic_id == NO_TOPIC_ID:
            return None
        if self.dirs.all_failed or (self.dirs.some_failed and not (wanted.is_new or is_lost)):
            return None
        return self.dirs.choose(wanted.partition, begun=self._being_made_in)

    def dir_of(self, partition: TopicPartition) -> str | None:
        """The dir that has a partition's log, or in which it is being made; one, of contested."""
        found = self.dirs.dir_of(partition)
        if found is not None:
            return found.name
        begun = self._being_made.get(partition)
        if begun is not None:
            return begun
        left = None if self.dirs.some_failed else self.dirs.left_in(partition)
        if left is not None:
            return left.name
        return next((it.name for it in self.dirs.contested(partition).values()), None)

    async def make(self, name: str, wanted: Sequence[LeaderAndIsrState], me: BrokerId) -> None:
        """Makes in this dir what is missing there; raises StorageError where it cannot.

        A log that does not say of which topic it is belongs to this one. One of an earlier topic
        of the name is put away first; it is looked for in all dirs.
        """
        log_dir = self.dirs.named(name)
        missing = [self._new_log(state, me) for state in wanted if await self._is_missing(state)]
        try:
            for start in range(0, len(missing), MADE_AT_ONCE):
                few = missing[start : start + MADE_AT_ONCE]
                make = partial(log_dir.create_all, few, self._clock.wall())
                made = await off_loop(self.workers[name], make)
                for found in made:
                    found.config = self.config_of(found.partition.topic)  # it may have changed
                log_dir.logs |= {found.partition: found for found in made}
                for new in few:
                    self.dirs.preferred.pop(new.partition, None)
        finally:
            for state in wanted:
                self.end_making(state.partition)

    def end_making(self, partition: TopicPartition) -> None:
        """Its log is made, or will not be: it counts for no dir beside those that are there."""
        name = self._being_made.pop(partition, None)
        if name is not None:
            self._being_made_in[name] -= 1

    async def _is_missing(self, state: LeaderAndIsrState) -> bool:
        """Whether its log is to be made.

        What cannot be written for one partition must not keep the others from being looked at: the
        log of an earlier topic would be served as that of a later one.
        """
        partition, topic_id = state.partition, state.topic_id
        found = self.dirs.get(partition)
        try:
            if found is None and not self.dirs.contested(partition):
                return await self._is_not_left(state)
            if found is None:
                await self._replace(self.dirs.decide(partition, topic_id), topic_id)
                return self.dirs.get(partition) is None
            if NO_TOPIC_ID in {found.topic_id, topic_id}:
                await self._adopt(found, state)
            elif found.topic_id != topic_id:
                await self._replace(self.dirs.forget(partition), topic_id)
                return state.is_new or not self.dirs.some_failed  # else it may be in such a dir
        except StorageError as error:
            log.error("log.not_made", partition=str(partition), error=str(error))
        return False

    async def _is_not_left(self, state: LeaderAndIsrState) -> bool:
        """Whether there is no log either that a move has left behind, and whose successor is lost.

        One of an earlier topic goes, and for a new replica the log of an earlier one is set aside.
        """
        partition, left = state.partition, self._left_in(state)
        if self.dirs.left_in(partition) is None:
            return True
        if left is None:
            await self._replace(self.dirs.forget(partition), state.topic_id)
        elif state.is_new:
            await self._discard(self.dirs.forget(partition), self.dirs.set_aside)
        elif self._back_in(left, state) is not None:
            await self._serve_again(left, left.left_behind[partition])
            return False
        else:
            raise LogDirOffline(f"{partition} may be in {left.leaving[partition]}")
        return True

    async def _serve_again(self, log_dir: LogDir, left: PartitionLog) -> None:
        partition, topic = left.partition, left.partition.topic
        config, now = self.config_of(topic), self._clock.wall()
        open_again = partial(log_dir.open_again, left, log_dir.leaving[partition], config, now)
        found, known = await off_loop(self.workers[log_dir.name], open_again, lent=[left])
        if log_dir.left_behind.get(partition) is not left:
            return
        del log_dir.left_behind[partition], log_dir.leaving[partition]
        found.config = self.config_of(topic)  # it may have changed
        log_dir.logs[partition] = found
        log_dir.learn(known)
        log.warning("log.left_behind_serves", partition=str(partition), log_dir=log_dir.name)

    async def _replace(
        self, forgotten: Sequence[tuple[LogDir, PartitionLog]], topic_id: TopicId
    ) -> None:
        """Puts the logs of earlier topics of the name away."""
        for _, found in forgotten:
            if found.topic_id != topic_id:
                log.warning(
                    "log.of_earlier_topic",
                    partition=str(found.partition),
                    topic_id=topic_id_text(found.topic_id),
                    expected=topic_id_text(topic_id),
                    log_end_offset=found.log_end_offset,
                )
        await self._discard(forgotten, self.dirs.discard_earlier)

    def _new_log(self, state: LeaderAndIsrState, me: BrokerId) -> NewLog:
        """With the leader epoch that begins it, where this broker leads."""
        leads, epoch = state.leader == me, state.leadership.leader_epoch
        how = InDir(
            self.config_of(state.partition.topic),
            state.topic_id,
            state.is_new,
            epoch if leads else NO_LEADER_EPOCH,
            epoch if state.is_new and self.dirs.some_failed else NO_LEADER_EPOCH,
        )
        return NewLog(state.partition, str(state.partition), how)

    async def _adopt(self, found: PartitionLog, state: LeaderAndIsrState) -> None:
        """Writes the topic's id beside records that lack it: Kafka wrote none before 2.8."""
        if state.topic_id == found.topic_id:
            return
        if state.topic_id != NO_TOPIC_ID:
            log_dir = self.dirs.named(found.folder.disk.name)
            adopt = partial(log_dir.adopt, found, state.topic_id)
            await off_loop(self.workers[log_dir.name], adopt)
            log.info(
                "log.topic_id_written",
                partition=str(found.partition),
                topic_id=topic_id_text(state.topic_id),
            )

    async def put_away(self, partition: TopicPartition, *, aside: bool = False) -> None:
        """Its directory gets another name now, and is deleted later, unless it is set aside."""
        rename = self.dirs.set_aside if aside else self.dirs.discard
        await self._discard(self.dirs.forget(partition), rename)

    async def _discard(
        self,
        forgotten: Sequence[tuple[LogDir, PartitionLog]],
        rename: Callable[[LogDir, PartitionLog], None],
    ) -> None:
        """A dir that fails keeps no other from its turn."""
        errors: list[StorageError] = []
        for log_dir, found in forgotten:
            try:
                await self.end_compaction(found)
                await self.appends[log_dir.name].settled()
                discard = partial(rename, log_dir, found)
                await off_loop(self.workers[log_dir.name], discard, lent=[found])
            except StorageError as error:
                errors.append(error)
        try:
            if errors:
                raise errors[0]
        finally:
            errors.clear()  # each has this frame, and with it open files

    # Logs change their ends

    async def truncate(self, found: PartitionLog, offset: Offset) -> None:
        """Drops all batches that reach to this offset or beyond. In the lane of its dir."""
        log_dir = self.dirs.named(found.folder.disk.name)
        try:
            await self._alone_with(found, partial(self._truncation, found, offset))
        finally:
            log_dir.is_cut({found.partition: offset})
        self._tell_passed_over(found)

    async def count_producers_anew(self, found: PartitionLog) -> None:
        """What was passed over, when they were counted, is mended. In the lane of its dir."""
        job = partial(count_producers_anew, found, self._clock.wall())
        await self._alone_with(found, lambda: job)
        self._tell_passed_over(found)

    def _tell_passed_over(self, found: PartitionLog) -> None:
        if found.passed_over is not None:
            for corrupt in self.on_corrupt:
                corrupt(found, found.passed_over)

    async def start_fully_at(self, found: PartitionLog, offset: Offset) -> None:
        """Drops everything; the log begins anew at this offset. In the lane of its dir.

        That is noted, too: a first batch that begins below it gives its own offset to the segment.
        """
        async with self.starting_at(found, offset):
            await self._alone_with(found, partial(self._truncation, found, offset, fully=True))

    def _truncation(
        self, found: PartitionLog, offset: Offset, *, fully: bool = False
    ) -> Callable[[], None]:
        log_dir = self.dirs.named(found.folder.disk.name)
        cuts = {found.partition: offset}
        return log_dir.truncation(cuts, self._clock.wall(), fully=fully).run

    @asynccontextmanager
    async def starting_at(self, found: PartitionLog, start: Offset) -> AsyncIterator[None]:
        """It is durable that the log begins there; within, the caller moves its start."""
        log_dir = self.dirs.named(found.folder.disk.name)
        if self.dirs.get(found.partition) is not found:
            raise LogDirOffline(f"{found.partition} has another log now, or none")
        wish = await self._note_start(log_dir, found, start)
        has_moved = False
        try:
            yield
            has_moved = True
        finally:
            self._starts.end(wish, has_moved=has_moved)

    async def _note_start(self, log_dir: LogDir, found: PartitionLog, start: Offset) -> Wish:
        """A full disk has no room for the note: old segments make it, one after the other."""
        worker = self.worker_of(found)
        while True:
            try:
                return await self._starts.note(log_dir, worker, found, start)
            except DiskFull:
                behind = oldest_below(found, start)
                if behind is None or not (found in self._shortened or self._is_free(found)):
                    raise
            if found in self._shortened:  # for another start of it: there may be room then
                await self._shortened[found].wait()
            else:
                await self._shorten(found, behind)

    def _is_free(self, found: PartitionLog) -> bool:
        is_free = found.lent_to is None and not found.is_given_up
        return is_free and not found.being_cleaned and found not in self.not_compacted

    async def _shorten(self, found: PartitionLog, behind: Offset) -> None:
        """Its oldest segment goes; the room is there once no reader has that open any more."""
        self._shortened[found] = ended = asyncio.Event()
        try:
            moved = await self._delete_oldest(found, behind)
            self._on_log_start(found)
            await off_loop(self.worker_of(found), moved.run, of=found)
        finally:
            del self._shortened[found]
            ended.set()

    async def _delete_oldest(self, found: PartitionLog, behind: Offset) -> DeleteJob:
        """As with a compaction, who wants the log for himself waits for the end of it."""
        worker = self.worker_of(found)
        deletion = DeletionBeforeTheStart(found, behind)
        running = RunningCompaction(lambda: None, asyncio.Event())
        self.compactions[found] = running
        try:
            try:
                await off_loop(worker, deletion.run, of=found)
            finally:
                await drained(worker)
        finally:
            moved = deletion.publish()
            del self.compactions[found]
            running.ended.set()
        assert moved is not None, found.partition
        return moved

    async def move_start(self, found: PartitionLog, start: Offset) -> None:
        """Deletes the segments below this offset. In the lane of its dir."""
        await self.end_compaction(found)
        job = DeleteJob(found, min(start, found.high_watermark))
        await off_loop(self.worker_of(found), job.run, of=found)

    async def _alone_with(
        self, found: PartitionLog, plan: Callable[[], Callable[[], None]]
    ) -> None:
        """Nothing is on its way to the log, and it is not being compacted; then it is planned."""
        async with self.without_compaction(found):
            await self.appends[found.folder.disk.name].settled()
            if self.dirs.get(found.partition) is not found:
                raise LogDirOffline(f"{found.partition} has another log now, or none")
            await off_loop(self.worker_of(found), plan(), lent=[found], of=found)

    @asynccontextmanager
    async def without_compaction(self, found: PartitionLog) -> AsyncIterator[None]:
        """None is under way, and none begins meanwhile. In the lane of its dir."""
        self.not_compacted.add(found)
        try:
            await self.end_compaction(found)
            yield
        finally:
            self.not_compacted.discard(found)

    async def end_compaction(self, found: PartitionLog) -> None:
        """If it is being compacted: what was swapped stays, and the rest is left for later."""
        compaction = self.compactions.get(found)
        if compaction is not None:
            compaction.cancel()
            await compaction.ended.wait()

    # Reading logs

    def tell_corrupt(self, found: PartitionLog, error: CorruptFile) -> None:
        """A file of the log holds what was not written."""
        for corrupt in self.on_corrupt_file:
            corrupt(found, error)

    @contextmanager
    def watched(self, found: PartitionLog) -> Iterator[None]:
        """What cannot be true in a file of the log is told, and goes on as an error."""
        try:
            yield
        except CorruptFile as error:
            self.tell_corrupt(found, error)
            raise

    async def read_in_pieces(self, found: PartitionLog, bytes_max: int) -> AsyncIterator[bytes]:
        """The whole log as whole batches, from its start to where it ends now."""
        if self.dirs.dir_of(found.partition) is None:
            raise LogDirOffline(f"{found.partition} is in a log dir that is offline")
        worker, at, end = self.worker_of(found), found.log_start_offset, found.log_end_offset
        while at < end:
            with self.watched(found):
                read = partial(_next_piece, LogView(found), at, end, bytes_max)
                try:
                    data, behind = await off_loop(worker, read, of=found)
                except OSError as error:
                    raise found.failed(error) from error
            if not data:
                return
            yield data
            if behind <= at:
                raise CorruptBatch(f"{found.partition}: the batch at {at} says that it ends before")
            at = Offset(behind)


def _next_piece(log: LogView, at: Offset, end: Offset, bytes_max: int) -> tuple[bytes, int]:
    """On the worker: whole batches, as they were written, and the offset behind them.

    Empty where there are none.
    """
    part = log.read(at, end, bytes_max, at_least_one=True)
    if part.chunk is None:
        return b"", at
    behind = check_range(part.chunk, log.segment_of(part.segment_base))
    file, position, length = part.chunk
    return file.read(length, position), behind


def _tell(name: str, opened: Opened, logs: int) -> None:
    """What was found in a log dir, one line each. One that is empty was not closed uncleanly."""
    clean = {"clean": opened.clean} if logs else {}
    log.info("log_dir.opened", log_dir=name, logs=logs, repairs=len(opened.repairs), **clean)
    for note in opened.notes:
        log.warning("log_dir.note", log_dir=name, note=note)
    for stray in opened.strays:
        log.warning("log_dir.stray", log_dir=name, directory=stray)
    for repair in opened.repairs[:REPAIRS_TOLD_MAX]:
        log.warning("log.repaired", log_dir=name, repair=str(repair))
