"""The logs of this broker, over all its log dirs: opened, made, read, put away, closed.

What touches a disk is done by that dir's worker, all dirs side by side; what the loop reads is
changed only on the loop.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

import structlog

from odradek.broker.doors import Doors
from odradek.broker.partitions.group_commit import GroupCommit
from odradek.broker.partitions.jobs import off_loop
from odradek.broker.settings import SettingsSource
from odradek.config.rows import transactions
from odradek.model.errors import CorruptBatch, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import BrokerEpoch, Offset
from odradek.ports import Worker
from odradek.records.batch import headers
from odradek.storage.dirs.log_dir import LogDir, NewLog, Opened
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import LogDirOffline, StorageError
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig

MADE_AT_ONCE: Final = 8
"""So many new logs are made before others have their turn with the disk."""

REPAIRS_TOLD_MAX: Final = 100
"""So many logs are spoken of one by one after an unclean stop."""

log = structlog.get_logger()


class LocalLogs:
    """All of them; whose they are to serve is not known here."""

    def __init__(self, doors: Doors, settings: SettingsSource, dirs: LogDirs) -> None:
        self.dirs = dirs
        self.workers = {each.disk.name: each.worker for each in doors.dirs}
        self.appends = {
            name: GroupCommit(worker, doors.clock, settings)
            for name, worker in self.workers.items()
        }
        self._clock = doors.clock
        self._settings = settings

    def config_of(self, topic: str) -> LogConfig:
        """What holds for the logs of a topic."""
        forgotten_after = self._settings.broker[transactions.PRODUCER_ID_EXPIRATION_MS]
        return LogConfig.of(self._settings.topic(topic), forgotten_after)

    def worker_of(self, found: PartitionLog) -> Worker:
        """Who goes to its disk."""
        return self.workers[found.folder.disk.name]

    # Start and stop

    async def open(self) -> None:
        """Opens every log that can be; raises where there are two of one partition."""
        now = self._clock.wall()
        opened: dict[str, Opened] = {}
        async with asyncio.TaskGroup() as tasks:
            for log_dir in self.dirs.online:
                tasks.create_task(self._open(log_dir, opened))
        await off_loop(self.workers[self.dirs.dirs[0].name], self.dirs.settle)
        for name, found in sorted(opened.items()):
            _tell(name, found)
        logs = sum(len(log_dir) for log_dir in self.dirs.online)
        log.info("logs.opened", logs=logs, millis=self._clock.wall() - now)

    async def _open(self, log_dir: LogDir, opened: dict[str, Opened]) -> None:
        open_all = partial(log_dir.open, self.config_of, self._clock.wall())
        try:
            opened[log_dir.name] = await off_loop(self.workers[log_dir.name], open_all)
        except StorageError as error:
            log.error("log_dir.cannot_be_opened", log_dir=log_dir.name, error=str(error))

    async def close(self, broker_epoch: BrokerEpoch) -> None:
        """Makes everything durable, and says so in each dir."""
        async with asyncio.TaskGroup() as tasks:
            for log_dir in self.dirs.online:
                tasks.create_task(self._close(log_dir, broker_epoch))

    async def _close(self, log_dir: LogDir, broker_epoch: BrokerEpoch) -> None:
        await self.appends[log_dir.name].settled()
        close = partial(log_dir.close, self._clock.wall(), broker_epoch)
        try:
            await off_loop(self.workers[log_dir.name], close)
        except StorageError as error:
            log.error("log_dir.not_closed", log_dir=log_dir.name, error=str(error))

    # Logs come and go

    async def make(self, wanted: Sequence[NewLog]) -> dict[TopicPartition, ErrorCode]:
        """Those that are missing; what could not be done has its code."""
        missing: dict[str, list[NewLog]] = {}
        errors: dict[TopicPartition, ErrorCode] = {}
        lost = self.dirs.some_failed
        log_dirs = {log_dir.name: log_dir for log_dir in self.dirs.online}
        counts = {name: len(log_dir) for name, log_dir in log_dirs.items()}
        for new in wanted:
            found = self.dirs.get(new.partition)
            if found is not None and found.topic_id == new.how.topic_id:
                continue
            if found is not None:  # of an earlier topic of this name
                try:
                    await self.put_away(new.partition)
                except StorageError as error:
                    errors[new.partition] = error.code
                    continue
            if not counts or (lost and not new.how.is_new):
                errors[new.partition] = ErrorCode.KAFKA_STORAGE_ERROR
                continue
            fewest = min(counts, key=counts.__getitem__)
            counts[fewest] += 1
            missing.setdefault(fewest, []).append(new)
        async with asyncio.TaskGroup() as tasks:
            making = [
                tasks.create_task(self._make_in(log_dirs[name], its))
                for name, its in missing.items()
            ]
        for task in making:
            errors |= task.result()
        return errors

    async def _make_in(
        self, log_dir: LogDir, wanted: Sequence[NewLog]
    ) -> dict[TopicPartition, ErrorCode]:
        """A few at a time: what others write to this disk need not wait for all of them."""
        made: dict[TopicPartition, PartitionLog] = {}
        for start in range(0, len(wanted), MADE_AT_ONCE):
            few = wanted[start : start + MADE_AT_ONCE]
            make = partial(log_dir.create_all, few, self._clock.wall())
            try:
                logs = await off_loop(self.workers[log_dir.name], make)
            except StorageError as error:
                log.error("log.not_made", log_dir=log_dir.name, error=str(error))
                break
            made |= {found.partition: found for found in logs}
        log_dir.logs |= made
        return {
            new.partition: ErrorCode.KAFKA_STORAGE_ERROR
            for new in wanted
            if new.partition not in made
        }

    async def put_away(self, partition: TopicPartition) -> None:
        """Its directory gets another name now, and goes later."""
        for log_dir, forgotten in self.dirs.forget(partition):
            await self.appends[log_dir.name].settled()
            discard = partial(self.dirs.discard, log_dir, forgotten)
            await off_loop(self.workers[log_dir.name], discard)

    # Reading all of a log

    async def read_in_pieces(self, found: PartitionLog, bytes_max: int) -> AsyncIterator[bytes]:
        """The whole log as whole batches, from its start to where it ends now."""
        if self.dirs.home_of(found.partition) is None:
            raise LogDirOffline(f"{found.partition} is in a log dir that is offline")
        worker, at, end = self.worker_of(found), found.log_start_offset, found.log_end_offset
        while at < end:
            chunk = found.read(at, end, bytes_max, at_least_one=True).chunk
            if chunk is None:
                return
            read = partial(chunk.file.read, chunk.length, chunk.position)
            try:
                data = await off_loop(worker, read)
            except OSError as error:
                raise found.failed(error) from error
            yield data
            behind = max(header.next_offset for _, header in headers(data))
            if behind <= at:
                raise CorruptBatch(f"{found.partition}: the batch at {at} says that it ends before")
            at = Offset(behind)


def _tell(name: str, opened: Opened) -> None:
    """What was found in a log dir, one line each."""
    log.info("log_dir.opened", log_dir=name, clean=opened.clean, repairs=len(opened.repairs))
    for note in opened.notes:
        log.warning("log_dir.note", log_dir=name, note=note)
    for stray in opened.strays:
        log.warning("log_dir.stray", log_dir=name, directory=stray)
    for repair in opened.repairs[:REPAIRS_TOLD_MAX]:
        log.warning("log.repaired", log_dir=name, repair=str(repair))
