"""The partitions of which this broker holds a copy, over all its log dirs.

The controller's requests make logs, begin and end leaderships, and delete logs; they are carried
out here, one request after the other.

A log dir that fails is left alone from then on: its partitions are answered with a storage error
until the controller has found them another home, and the broker goes on while it has one dir left.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import structlog

from odradek.broker.doors import Doors
from odradek.broker.partitions.leading_replica import Around, LeadingReplica, Rules
from odradek.broker.partitions.local_logs import LocalLogs
from odradek.broker.partitions.produce_rules import ProduceRules
from odradek.broker.partitions.traffic import Traffics
from odradek.broker.settings import SettingsSource
from odradek.config.rows import replication, topic
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, BrokerEpoch, LeaderEpoch
from odradek.replication.errors import NotLeaderOrFollower
from odradek.replication.leader import Leader, LeaderSettings, Leadership, LogEnds
from odradek.storage.dirs.log_dir import InDir, NewLog
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import LogDirOffline, StorageError

log = structlog.get_logger()


class UnknownPartition(BrokerError):
    """No topic or partition of this name is known here."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class AllDirsFailed(StorageError):
    """No log dir is left: the broker has nothing to serve from, and stops."""


class LeaderAndIsrState(NamedTuple):
    """What the controller says of one partition."""

    partition: TopicPartition
    topic_id: TopicId
    leader: BrokerId | None
    leadership: Leadership
    is_new: bool = False  # it was never anywhere, so no log of it can be missed


class ReplicaManager:
    """All of them, and their logs."""

    def __init__(
        self, broker_id: BrokerId, doors: Doors, settings: SettingsSource, dirs: LogDirs
    ) -> None:
        self.logs = LocalLogs(doors, settings, dirs)
        self.dirs = dirs
        self.traffics = Traffics()
        self.on_elected: list[Callable[[LeadingReplica], None]] = []
        self.on_resigned: list[Callable[[TopicPartition], None]] = []
        self.on_all_failed: Callable[[], None] = lambda: None
        self._me = broker_id
        self._clock = doors.clock
        self._settings = settings
        self._led: dict[TopicPartition, LeadingReplica] = {}
        self._by_name: dict[tuple[bytes, int], LeadingReplica] = {}  # those that were asked for so
        self._known: dict[TopicPartition, LeaderAndIsrState] = {}  # the last word on each
        self._one_word_at_a_time = asyncio.Lock()

    # What there is

    def led(
        self, partition: TopicPartition, leader_epoch: LeaderEpoch | None = None
    ) -> LeadingReplica:
        """The partition, if this broker leads it in this epoch; a BrokerError says why not."""
        led = self._led.get(partition)
        if led is None:
            raise self._not_led(partition)
        if leader_epoch is not None:
            led.leader.check_leader_epoch(leader_epoch)
        return led

    def find_led(self, name: bytes, number: int) -> LeadingReplica | None:
        """The partition, if this broker leads it: by what a request has, which need not be text."""
        found = self._by_name.get((name, number))
        if found is None:
            try:
                partition = TopicPartition(name.decode(), number)
            except UnicodeDecodeError:
                return None
            found = self._led.get(partition)
            if found is not None:
                self._by_name[name, number] = found
        return found

    def all_led(self) -> list[LeadingReplica]:
        """Every partition that this broker leads."""
        return list(self._led.values())

    def _not_led(self, partition: TopicPartition) -> BrokerError:
        word = self._known.get(partition)
        if word is None:
            return UnknownPartition(f"{partition} is not known here")
        if word.leader == self._me:
            return LogDirOffline(f"{partition} is in a log dir that is offline")
        return NotLeaderOrFollower(f"{partition} is led by broker {word.leader}")

    # Start and stop

    async def open(self) -> None:
        """Opens every log that can be; raises where the broker must not start."""
        await self.logs.open()
        self.look_at_failures()
        if self.dirs.all_failed:
            raise AllDirsFailed("no log dir could be opened")

    async def close(self, broker_epoch: BrokerEpoch) -> None:
        """Ends every leadership, makes everything durable, and says so in each dir."""
        for partition in list(self._led):
            self._end_leadership(partition)
        await self.logs.close(broker_epoch)

    # The controller's word

    async def apply_leader_and_isr(
        self, words: Sequence[LeaderAndIsrState]
    ) -> dict[TopicPartition, ErrorCode]:
        """Begins, continues or ends the leadership of each; what failed has its error code."""
        async with self._one_word_at_a_time:
            for word in words:
                self._known[word.partition] = word
            ours = [word for word in words if word.leader == self._me]
            for word in words:
                if word.leader != self._me:
                    self._end_leadership(word.partition)
            errors = await self.logs.make([self._new_log(word) for word in ours])
            self.look_at_failures()
            errors |= await self._begin_leaderships(ours)
            self.look_at_failures()
            return errors

    async def stop(
        self, partitions: Mapping[TopicPartition, bool]
    ) -> dict[TopicPartition, ErrorCode]:
        """Ends leaderships; where it says True, the log is deleted, too.

        A log that is not found, while a dir is offline, may be there: it is not deleted until
        somebody has looked. Else it would be found one day beside a later one of its name.
        """
        async with self._one_word_at_a_time:
            errors: dict[TopicPartition, ErrorCode] = {}
            for partition, delete in partitions.items():
                self._end_leadership(partition)
                if not delete:
                    continue
                self._known.pop(partition, None)
                self.traffics.forget(partition.topic)
                if self.dirs.some_failed and self.dirs.get(partition) is None:
                    errors[partition] = ErrorCode.KAFKA_STORAGE_ERROR
                    continue
                try:
                    await self.logs.put_away(partition)
                except StorageError as error:
                    errors[partition] = error.code
            self.look_at_failures()
            return errors

    def _new_log(self, word: LeaderAndIsrState) -> NewLog:
        """As the controller wants it; where we lead, with the leadership that begins it."""
        leads = word.leader == self._me
        how = InDir(
            self.logs.config_of(word.partition.topic),
            word.topic_id,
            word.is_new,
            word.leadership.leader_epoch if leads else NO_LEADER_EPOCH,
        )
        return NewLog(word.partition, str(word.partition), how)

    async def _begin_leaderships(
        self, words: Sequence[LeaderAndIsrState]
    ) -> dict[TopicPartition, ErrorCode]:
        """Each leadership is in its log before anybody is served by it.

        A dir may fail at any time, with logs in it that were found or made just now: their
        partitions have an error, at the end as well as at the beginning.
        """
        there = [word for word in words if self.dirs.get(word.partition) is not None]
        errors: dict[TopicPartition, ErrorCode] = {}
        begun = _Begun(len(there))

        def begin_epoch(led: LeadingReplica) -> bool:
            try:
                led.begin_epoch(begun, 0)
            except StorageError as error:
                errors[led.partition] = error.code
                begun.on_written(0, None)
            return led.partition not in errors

        leaderships: list[LeadingReplica] = []
        for word in there:
            if self.dirs.get(word.partition) is None:  # its dir has failed with one before
                begun.on_written(0, None)
                continue
            led = self._led.get(word.partition)
            if led is None:
                led = self._new_led(word)
                if begin_epoch(led):
                    leaderships.append(led)
                continue
            effects = led.leader.on_leadership(word.leadership, self._clock.monotonic())
            if effects.begin_epoch is None:
                begun.on_written(0, None)
            elif not begin_epoch(led):
                continue
            led.carry_out(effects)
        await begun.wait()
        self.look_at_failures()
        for led in leaderships:
            if self.dirs.get(led.partition) is led.log:
                self._led[led.partition] = led
                led.traffic.leaderships += 1
                for elected in self.on_elected:
                    elected(led)
        return errors | {
            word.partition: ErrorCode.KAFKA_STORAGE_ERROR
            for word in words
            if self.dirs.get(word.partition) is None
        }

    def _new_led(self, word: LeaderAndIsrState) -> LeadingReplica:
        found = self.dirs.get(word.partition)
        assert found is not None, word
        leader, effects = Leader.elected(
            self._me,
            word.leadership,
            LogEnds(found.log_end_offset, found.high_watermark),
            settings=self._leader_settings(word.partition.topic),
            now=self._clock.monotonic(),
        )
        name = word.partition.topic
        rules = Rules(ProduceRules.of(self._settings.topic(name)), self.traffics.of(name))
        appends = self.logs.appends[found.folder.disk.name]
        led = LeadingReplica(found, leader, rules, Around(appends, self._clock))
        led.carry_out(effects)
        return led

    def _end_leadership(self, partition: TopicPartition) -> None:
        led = self._led.pop(partition, None)
        if led is not None:
            self._by_name.pop((partition.topic.encode(), partition.partition), None)
            led.traffic.leaderships -= 1
            led.resign()
            for resigned in self.on_resigned:
                resigned(partition)

    async def roll(self, partition: TopicPartition) -> None:
        """Begins a new segment, if this broker leads the partition."""
        led = self._led.get(partition)
        if led is not None:
            rolled = _Begun(1)
            led.roll(rolled, 0)
            await rolled.wait()

    # Settings and failures

    def on_topic_settings(self, name: str) -> None:
        """Something was changed for a topic, or for all."""
        config, settings = self.logs.config_of(name), self._leader_settings(name)
        admission = ProduceRules.of(self._settings.topic(name))
        now = self._clock.monotonic()
        for log_dir in self.dirs.online:
            for found in log_dir.logs.values():
                if found.partition.topic == name:
                    found.config = config
        for led in self._led.values():
            if led.partition.topic == name:
                led.admission = admission
                led.carry_out(led.leader.on_min_isr(settings.min_isr, now))

    def look_at_failures(self) -> None:
        """Takes the dirs out of service that have failed since the last look."""
        for gone in self.dirs.handle_failures():
            log.error(
                "log_dir.offline",
                log_dir=gone.log_dir,
                error=str(gone.error),
                partitions=len(gone.current),
            )
            for partition in gone.current:
                self._end_leadership(partition)
            if self.dirs.all_failed:
                self.on_all_failed()

    def _leader_settings(self, name: str) -> LeaderSettings:
        lag_max = self._settings.broker[replication.REPLICA_LAG_TIME_MAX_MS]
        min_isr = self._settings.topic(name)[topic.MIN_INSYNC_REPLICAS]
        return LeaderSettings(lag_max=lag_max, min_isr=min_isr)


class _Begun:
    """Waits until so many leaderships, or segments, are in their logs, or could not be written."""

    def __init__(self, left: int) -> None:
        self._left = left
        self._future = asyncio.get_running_loop().create_future()

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """One more. A dir that failed is looked at by whoever finds it so."""
        del place, error
        self._left -= 1
        if not self._left and not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Returns once none is left."""
        if self._left:
            await self._future
