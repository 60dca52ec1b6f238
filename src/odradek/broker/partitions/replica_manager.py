"""The partitions of which this broker holds a replica, over all its log dirs.

Here the controller's requests are carried out. What they change is decided at once, by the table of
`hosted`; the disk follows, for each log dir in a lane of its own, and a partition serves when its
log is there and its leader epoch is in it. An answer does not wait for a dir that hangs.

A log dir that fails is left alone from then on: its partitions are answered with a storage error,
and the broker goes on while it has one dir left.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import structlog

from odradek.broker.doors import Doors
from odradek.broker.partitions.dir_moves import DirMoves
from odradek.broker.partitions.following_replica import FollowingReplica
from odradek.broker.partitions.hosted import (
    Following,
    Hosted,
    HostedPartitions,
    LeaderAndIsrState,
    Leading,
    Offline,
    Role,
    Starting,
    Stopped,
    decide_role,
    decide_stop,
)
from odradek.broker.partitions.lanes import Lane, all_done
from odradek.broker.partitions.leading_replica import IsrChanges, LeaderDeps, LeadingReplica, Rules
from odradek.broker.partitions.local_logs import LocalLogs
from odradek.broker.partitions.produce_rules import ProduceRules
from odradek.broker.partitions.traffic import Traffics
from odradek.broker.settings import SettingsSource
from odradek.config.rows import replication, topic
from odradek.config.topic import TopicConfig
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch
from odradek.model.units import SECOND, Millis
from odradek.replication.errors import NotLeaderOrFollower
from odradek.replication.leader import Leader, LeaderSettings, LogEnds
from odradek.storage.dirs.failures import no_listener
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import LogDirOffline, StorageError
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig

ANSWER_PATIENCE: Final = Millis(2 * SECOND)
"""How long an answer to the controller waits for a log dir. A dir that hangs is not waited for: if
it fails, that is reported like any other failure of a dir."""

Answer = Coroutine[Any, Any, dict[TopicPartition, ErrorCode]]
"""What could not be done, once the disks have done the rest; it is to be awaited."""

log = structlog.get_logger()


class UnknownPartition(BrokerError):
    """No topic or partition of this name is known here."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class AllDirsFailed(StorageError):
    """No log dir is left: the broker has nothing to serve from, and stops."""


class StopState(NamedTuple):
    """What a StopReplica request says of one partition."""

    leader_epoch: LeaderEpoch
    delete: bool


class _Derived(NamedTuple):
    """What follows from a topic's settings for its logs and leaders."""

    log_config: LogConfig
    produce_rules: ProduceRules
    min_isr: int


class ReplicaManager:
    """All of them, and their logs."""

    def __init__(
        self,
        broker_id: BrokerId,
        doors: Doors,
        settings: SettingsSource,
        *,
        dirs: LogDirs,
        tasks: asyncio.TaskGroup,
        isr_changes: IsrChanges,
    ) -> None:
        self.logs = LocalLogs(doors, settings, dirs)
        self.dirs = dirs
        self.traffics = Traffics()
        self.on_elected: list[Callable[[LeadingReplica], None]] = []
        self.on_resigned: list[Callable[[TopicPartition], None]] = []
        self.on_following: list[Callable[[FollowingReplica], None]] = []
        self.on_unfollowed: list[Callable[[FollowingReplica], None]] = []
        self.on_dir_failed: list[Callable[[str], None]] = []
        self.on_all_failed: Callable[[], None] = lambda: None
        self._me = broker_id
        self._clock = doors.clock
        self._settings = settings
        self._isr_changes = isr_changes
        self._hosted = HostedPartitions()
        self._lanes = {name: Lane(tasks, doors.clock) for name in self.logs.workers}
        self.moves = DirMoves(
            self.logs, self._lanes, self, clock=doors.clock, settings=settings, tasks=tasks
        )

    # What there is

    def led(
        self, partition: TopicPartition, leader_epoch: LeaderEpoch | None = None
    ) -> LeadingReplica:
        """The partition, if this broker leads it in this epoch; a BrokerError says why not."""
        hosted = self._hosted[partition]
        if not isinstance(hosted, Leading):
            raise _not_led(partition, hosted)
        if leader_epoch is not None:
            hosted.replica.leader.check_leader_epoch(leader_epoch)
        return hosted.replica

    def find_led(self, name: bytes, number: int) -> LeadingReplica | None:
        """The partition, if this broker leads it: by what a request has, which need not be text."""
        return self._hosted.leading(name, number)

    def all_led(self) -> list[LeadingReplica]:
        """Every partition that this broker leads."""
        return self._hosted.all_leading()

    def followed(self, partition: TopicPartition) -> FollowingReplica | None:
        """The partition, if this broker follows it."""
        hosted = self._hosted[partition]
        return hosted.replica if isinstance(hosted, Following) else None

    def all_followed(self) -> list[FollowingReplica]:
        """Every partition that this broker follows."""
        return self._hosted.all_following()

    def is_unclean(self, partition: TopicPartition) -> bool:
        """Whether its log is known to have lost records."""
        found = self.dirs.get(partition)
        return found is not None and found.unclean is not None

    def lane_of(self, found: PartitionLog) -> Lane:
        """Of the dir that has this log."""
        return self._lanes[found.folder.disk.name]

    # Start and stop

    async def open(self) -> None:
        """Opens every log that can be; raises where the broker must not start."""
        await self.logs.open()
        loop = asyncio.get_running_loop()
        self.dirs.failures.on_failed = partial(loop.call_soon_threadsafe, self.look_at_failures)
        self.look_at_failures()
        if self.dirs.all_failed:
            raise AllDirsFailed("no log dir could be opened")
        self.moves.resume()

    async def close(self, broker_epoch: BrokerEpoch) -> None:
        """Ends every role, makes everything durable, and says so in each dir."""
        for partition in self._hosted:
            self._end_role(partition)
            self._hosted.pop(partition)
        await self.moves.close()
        await self.logs.close(broker_epoch)
        self.dirs.failures.on_failed = no_listener

    # The controller's requests

    def apply_leader_and_isr(self, states: Sequence[LeaderAndIsrState]) -> Answer:
        """Begins, continues or ends the leadership of each; what failed has its error code.

        It is decided by this call, so requests count in the order of the calls; the answer waits
        for the disks.
        """
        errors: dict[TopicPartition, ErrorCode] = {}
        in_dirs: dict[str, list[Starting]] = {}
        leading: list[LeadingReplica] = []
        for state in states:
            partition, hosted = state.partition, self._hosted[state.partition]
            role = decide_role(hosted, state, self._me)
            if isinstance(role, ErrorCode):
                errors[partition] = role
            elif isinstance(hosted, Leading) and role is not Role.FOLLOW:
                if self._lead_on(hosted, state):
                    leading.append(hosted.replica)
            else:
                self._end_role(partition)
                self._start(Starting(state), in_dirs)
        work = [
            self._lanes[name].run(partial(self._start_in, name, starting))
            for name, starting in in_dirs.items()
        ]
        return self._started(states, errors, [*work, _Begun(leading).future], in_dirs)

    async def _started(
        self,
        states: Sequence[LeaderAndIsrState],
        errors: dict[TopicPartition, ErrorCode],
        work: Sequence["asyncio.Future[None]"],
        in_dirs: Mapping[str, object],
    ) -> dict[TopicPartition, ErrorCode]:
        await self._wait(work, in_dirs)
        self.look_at_failures()
        for state in states:
            match self._hosted[state.partition]:
                case Offline():
                    errors[state.partition] = ErrorCode.KAFKA_STORAGE_ERROR
                case Stopped(state=refused) if refused is state:
                    errors[state.partition] = ErrorCode.REPLICA_NOT_AVAILABLE
        return errors

    def stop(self, partitions: Mapping[TopicPartition, StopState]) -> Answer:
        """Ends roles by this call, and deletes the logs where that is asked for.

        A log that is not found, while a dir is offline, may be there: it is not deleted until
        the dir is back. Else it would be found one day beside a later one of its name.
        """
        errors: dict[TopicPartition, ErrorCode] = {}
        in_dirs: dict[str, list[TopicPartition]] = {}
        for partition, asked in partitions.items():
            hosted = self._hosted[partition]
            refusal = decide_stop(hosted, asked.leader_epoch)
            if refusal is None:
                self._end_role(partition)
            else:
                errors[partition] = refusal
            if asked.delete:
                self.traffics.forget(partition.topic)
            if refusal is not None:
                continue
            if not asked.delete:
                if hosted is not None:
                    self._hosted[partition] = Stopped(hosted.state)
                continue
            self._hosted.pop(partition)
            where = self.logs.dir_of(partition)
            if where is not None:
                in_dirs.setdefault(where, []).append(partition)
            elif self.dirs.some_failed:
                errors[partition] = ErrorCode.KAFKA_STORAGE_ERROR
        left = {partition: None for its in in_dirs.values() for partition in its}
        work = [
            self._lanes[name].run(partial(self._delete_in, its, left, errors))
            for name, its in in_dirs.items()
        ]
        return self._deleted(work, in_dirs, left, errors)

    async def _deleted(
        self,
        work: Sequence["asyncio.Future[None]"],
        in_dirs: Mapping[str, object],
        left: Mapping[TopicPartition, None],
        errors: dict[TopicPartition, ErrorCode],
    ) -> dict[TopicPartition, ErrorCode]:
        await self._wait(work, in_dirs)
        self.look_at_failures()
        return dict.fromkeys(left, ErrorCode.KAFKA_STORAGE_ERROR) | errors

    async def _wait(
        self, work: Sequence["asyncio.Future[None]"], names: Mapping[str, object]
    ) -> bool:
        """Whether all was done in time. If one dir hangs already, nothing waits for it again."""
        is_stuck = any(self._lanes[name].is_stuck(ANSWER_PATIENCE) for name in names)
        return await all_done(work, Millis(0) if is_stuck else ANSWER_PATIENCE)

    # Beginning a role

    def _start(self, starting: Starting, in_dirs: dict[str, list[Starting]]) -> None:
        where = self.logs.place(starting.state)
        if where is None:
            self._hosted[starting.state.partition] = Offline(starting.state)
            return
        self._hosted[starting.state.partition] = starting
        in_dirs.setdefault(where, []).append(starting)

    async def _start_in(self, name: str, starting: list[Starting]) -> None:
        """In the lane of a dir: makes logs, writes leader epochs, and lets the replicas serve."""
        wanted = [it for it in starting if self._is_current(it)]
        try:
            await self.logs.make(name, [it.state for it in wanted], self._me)
        except StorageError as error:
            log.error("log.not_made", log_dir=name, error=str(error))
        await self.logs.appends[name].settled()  # of an earlier role
        leading: list[tuple[Starting, LeadingReplica]] = []
        following: list[Starting] = []
        for each in filter(self._is_current, wanted):
            found = self.dirs.get(each.state.partition)
            if found is None:
                self._hosted[each.state.partition] = Offline(each.state)
            elif _lost_records(found, each.state, self._me):
                self._hosted[each.state.partition] = Stopped(each.state)
            elif each.state.leader == self._me:
                leading.append((each, self._new_leader(each.state)))
            else:
                following.append(each)
        for each in following:
            self._follow(each.state)
        begun = _Begun([replica for _, replica in leading])
        await begun.future
        for each, replica in leading:
            if self._is_current(each) and self.dirs.get(each.state.partition) is replica.log:
                self._lead(each.state, replica)

    def _is_current(self, starting: Starting) -> bool:
        """No later request has replaced it, and its dir has not failed."""
        return self._hosted[starting.state.partition] is starting

    def _new_leader(self, state: LeaderAndIsrState) -> LeadingReplica:
        found = self.dirs.get(state.partition)
        assert found is not None, state
        leader, effects = Leader.elected(
            self._me,
            state.leadership,
            LogEnds(found.log_end_offset, found.high_watermark, found.log_start_offset),
            settings=self._leader_settings(state.partition.topic),
            now=self._clock.monotonic(),
        )
        name = state.partition.topic
        rules = Rules(ProduceRules.of(self._settings.topic(name)), self.traffics.of(name))
        appends = self.logs.appends[found.folder.disk.name]
        deps = LeaderDeps(appends, self._clock, self._isr_changes)
        replica = LeadingReplica(found, leader, rules, deps)
        replica.carry_out(effects)
        return replica

    def _lead(self, state: LeaderAndIsrState, replica: LeadingReplica) -> None:
        self._hosted[state.partition] = Leading(state, replica)
        replica.traffic.leaderships += 1
        for elected in self.on_elected:
            elected(replica)

    def _lead_on(self, hosted: Leading, state: LeaderAndIsrState) -> bool:
        """Whether it leads in another epoch now, which is to be written."""
        replica = hosted.replica
        self._hosted[state.partition] = Leading(state, replica)
        effects = replica.leader.on_leadership(state.leadership, self._clock.monotonic())
        replica.carry_out(effects)
        if effects.begin_epoch is not None:
            replica.readers.on_change()
        return effects.begin_epoch is not None

    def _follow(self, state: LeaderAndIsrState) -> None:
        found = self.dirs.get(state.partition)
        assert found is not None, state
        replica = FollowingReplica(
            found,
            state.leader,
            state.leadership,
            appends=self.logs.appends[found.folder.disk.name],
            clock=self._clock,
        )
        self._hosted[state.partition] = Following(state, replica)
        for following in self.on_following:
            following(replica)

    # Ending a role

    def _end_role(self, partition: TopicPartition) -> None:
        """The entry is replaced or removed by the caller, in the same turn."""
        match self._hosted[partition]:
            case Leading(replica=replica):
                replica.traffic.leaderships -= 1
                replica.resign()
                for resigned in self.on_resigned:
                    resigned(partition)
            case Following(replica=replica):
                replica.is_over = True
                replica.readers.on_change()
                for unfollowed in self.on_unfollowed:
                    unfollowed(replica)

    async def _delete_in(
        self,
        partitions: Sequence[TopicPartition],
        left: dict[TopicPartition, None],
        errors: dict[TopicPartition, ErrorCode],
    ) -> None:
        """In the lane of a dir: a log that was asked for again meanwhile stays."""
        for partition in partitions:
            if self._hosted[partition] is None:
                try:
                    await self.logs.put_away(partition)
                except StorageError as error:
                    errors[partition] = error.code
            del left[partition]

    # Moves between log dirs

    async def move(self, partition: TopicPartition, target: str) -> bool:
        """Whether the replica is moving to this dir now; a BrokerError says why it cannot."""
        hosted = self._hosted[partition]
        if isinstance(hosted, Offline):
            raise LogDirOffline(f"{partition} is in a log dir that is offline")
        return await self.moves.begin(partition, target)

    def hold(self, partition: TopicPartition) -> None:
        """For the moment in which its log takes another place, a follower fetches nothing."""
        if isinstance(self._hosted[partition], Following):
            self._end_role(partition)

    def release(self, partition: TopicPartition) -> None:
        """The replica goes on, with the log that is the current one now."""
        hosted, found = self._hosted[partition], self.dirs.get(partition)
        if found is None:
            return
        if isinstance(hosted, Leading):
            hosted.replica.serve_from(found, self.logs.appends[found.folder.disk.name])
        elif isinstance(hosted, Following) and hosted.replica.is_over:
            self._follow(hosted.state)

    async def roll(self, partition: TopicPartition) -> None:
        """Begins a new segment, if this broker leads or follows the partition."""
        hosted = self._hosted[partition]
        if isinstance(hosted, Leading | Following):
            rolled = _Rolled()
            hosted.replica.roll(rolled, 0)
            await rolled.future

    def on_log_start(self, found: PartitionLog) -> None:
        """Records at the beginning of a log were deleted; followers of it learn that."""
        hosted = self._hosted[found.partition]
        if isinstance(hosted, Leading) and hosted.replica.log is found:
            hosted.replica.on_log_start()

    # Settings and failures

    def on_topic_settings(self, names: Collection[str] | None) -> None:
        """Something was changed for these topics; None: for all."""
        now = self._clock.monotonic()
        derived: dict[TopicConfig, _Derived] = {}  # topics that set nothing themselves share one

        def of(name: str) -> _Derived:
            config = self._settings.topic(name)
            found = derived.get(config)
            if found is None:
                found = derived[config] = _Derived(
                    self.logs.config_of(name),
                    ProduceRules.of(config),
                    config[topic.MIN_INSYNC_REPLICAS],
                )
            return found

        for found in self.dirs:
            if names is None or found.partition.topic in names:
                found.config = of(found.partition.topic).log_config
        for replica in self._hosted.all_leading():
            if names is None or replica.partition.topic in names:
                here = of(replica.partition.topic)
                replica.produce_rules = here.produce_rules
                replica.carry_out(replica.leader.on_min_isr(here.min_isr, now))

    def look_at_failures(self) -> None:
        """Takes the dirs out of service that have failed since the last call."""
        for gone in self.dirs.handle_failures():
            log.error(
                "log_dir.offline",
                log_dir=gone.log_dir,
                error=str(gone.error),
                partitions=len(gone.current),
            )
            for partition in gone.current:
                hosted = self._hosted[partition]
                if hosted is not None:
                    self._end_role(partition)
                    self._hosted[partition] = Offline(hosted.state)
            for failed in self.on_dir_failed:
                failed(gone.log_dir)
            if self.dirs.all_failed:
                self.on_all_failed()

    def _leader_settings(self, name: str) -> LeaderSettings:
        lag_max = self._settings.broker[replication.REPLICA_LAG_TIME_MAX_MS]
        min_isr = self._settings.topic(name)[topic.MIN_INSYNC_REPLICAS]
        return LeaderSettings(lag_max=lag_max, min_isr=min_isr)


def _lost_records(found: PartitionLog, state: LeaderAndIsrState, me: BrokerId) -> bool:
    return state.leader == me and state.must_be_whole and found.unclean is not None


def _not_led(partition: TopicPartition, hosted: Hosted | None) -> BrokerError:
    match hosted:
        case None:
            return UnknownPartition(f"{partition} is not known here")
        case Offline():
            return LogDirOffline(f"{partition} is in a log dir that is offline")
        case Starting():
            return NotLeaderOrFollower(f"{partition} is not ready yet")
        case _:
            return NotLeaderOrFollower(f"{partition} is led by broker {hosted.state.leader}")


class _Begun:
    """Waits until the leader epochs of these replicas are in their logs, or cannot be written."""

    def __init__(self, replicas: Sequence[LeadingReplica]) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = len(replicas)
        self._is_done()
        for place, replica in enumerate(replicas):
            try:
                replica.begin_epoch(self, place)
            except StorageError as error:  # its dir has failed; `look_at_failures` sees to it
                self.on_written(place, error)

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """One more."""
        del place, error
        self._left -= 1
        self._is_done()

    def _is_done(self) -> None:
        if not self._left and not self.future.done():
            self.future.set_result(None)


class _Rolled:
    """Waits for one new segment."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """It is there, or its dir has failed."""
        del place, error
        if not self.future.done():
            self.future.set_result(None)
