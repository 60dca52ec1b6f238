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
from typing import Any

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.jobs import begin, off_loop
from odradek.broker.partitions.logs.dir_moves import DirMoves
from odradek.broker.partitions.logs.lanes import Lane, all_done, answered
from odradek.broker.partitions.logs.local_logs import CLOSE_PATIENCE, LocalLogs
from odradek.broker.partitions.replica_factory import FactoryDeps, ReplicaFactory
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.hosted import (
    Following,
    LeaderAndIsrState,
    Leading,
    Offline,
    Role,
    Starting,
    Stopped,
    StopState,
    decide_role,
    decide_stop,
    is_of_another_topic,
    not_led,
)
from odradek.broker.partitions.replicas.leading_replica import IsrChanges, LeadingReplica
from odradek.broker.partitions.replicas.traffic import Traffics
from odradek.broker.partitions.replicas.write_waits import EpochsBegun, SegmentRolled
from odradek.broker.partitions.roles import RoleChanges, Roles
from odradek.broker.settings import SettingsSource
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import FIRST_INCARNATION, BrokerEpoch, Incarnation, LeaderEpoch
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.log_dirs import LogDirs, WentOffline
from odradek.storage.errors import AllDirsFailed, LogDirOffline, StorageError
from odradek.storage.logs.log import PartitionLog

Answer = Coroutine[Any, Any, dict[TopicPartition, ErrorCode]]
"""What could not be done, once the disks have done the rest; it is to be awaited."""

log = structlog.get_logger()


class ReplicaManager:
    """All of them, and their logs."""

    def __init__(
        self,
        cluster: MetadataCache,
        doors: Doors,
        settings: SettingsSource,
        *,
        dirs: LogDirs,
        tasks: asyncio.TaskGroup,
        isr_changes: IsrChanges,
    ) -> None:
        self.logs = LocalLogs(doors, settings, dirs, self.on_log_start)
        self.dirs = dirs
        self.traffics = Traffics()
        self.on_follower_start: list[Callable[[FollowingReplica], None]] = []
        self.on_dir_failed: list[Callable[[WentOffline], None]] = []
        self.on_dir_replaced: list[Callable[[LogDir], None]] = []
        self.on_dirs_to_report: list[Callable[[], None]] = []
        self._cluster = cluster
        self._me = cluster.me
        self._clock, self._tasks = doors.clock, tasks
        deps = FactoryDeps(settings, doors.clock, self.traffics, self.logs.appends, isr_changes)
        self._factory = ReplicaFactory(self._me, deps)
        self.roles = Roles(self._me, self.logs, self._factory, doors.clock)
        self._hosted = self.roles.hosted
        self._deleting: dict[TopicPartition, str] = {}  # in which dir, while it is in no table
        self.find_led = self._hosted.leading  # by what a request has, which need not be text
        self._lanes = {name: Lane(tasks, doors.clock) for name in self.logs.workers}
        self.moves = DirMoves(
            self.logs, self._lanes, self, clock=doors.clock, settings=settings, tasks=tasks
        )

    # What there is

    def led(
        self, partition: TopicPartition, leader_epoch: LeaderEpoch | None = None
    ) -> LeadingReplica:
        """The partition, if this broker leads it in this epoch; a BrokerError says why not."""
        replica = self._hosted.led(partition)
        if replica is None:
            raise not_led(partition, self._hosted[partition], exists=self._exists(partition))
        if leader_epoch is not None:
            replica.leader.check_leader_epoch(leader_epoch)
        return replica

    def _exists(self, partition: TopicPartition) -> bool:
        is_named = self._cluster.image.partition(partition) is not None
        return is_named or not self._cluster.is_whole

    def all_led(self) -> list[LeadingReplica]:
        """Every partition that this broker leads."""
        return self._hosted.all_leading()

    def is_behind(self, partition: TopicPartition, leader_epoch: int) -> bool:
        """Whether what is hosted of it is from before this leader epoch, or no role yet."""
        hosted = self._hosted[partition]
        if hosted is None or isinstance(hosted, Starting):
            return True
        return hosted.state.leadership.leader_epoch < leader_epoch

    def followed(self, partition: TopicPartition) -> FollowingReplica | None:
        """The partition, if this broker follows it."""
        hosted = self._hosted[partition]
        return hosted.replica if isinstance(hosted, Following) else None

    def all_followed(self) -> list[FollowingReplica]:
        """Every partition that this broker follows."""
        return self._hosted.all_following()

    @property
    def offline_count(self) -> int:
        """How many replicas of this broker are in a log dir that has failed."""
        return self._hosted.offline_count

    def is_unclean(self, partition: TopicPartition) -> bool:
        """Whether its log is known to have lost records."""
        found = self.dirs.get(partition)
        return found is not None and found.unclean is not None and not found.is_doubted

    def is_leading(self, partition: TopicPartition) -> bool:
        """Whether this broker leads it, and its log was found fit to."""
        return isinstance(self._hosted[partition], Leading)

    def incarnation(self, partition: TopicPartition) -> Incarnation:
        """Of its log, if it has one that serves."""
        found = self.dirs.get(partition)
        return FIRST_INCARNATION if found is None else found.incarnation

    def _may_be_offline(self, state: LeaderAndIsrState) -> bool:
        """Whether it would have to lead, and a newer log than its own may be in an offline dir."""
        found = self.dirs.get(state.partition)
        return found is not None and found.is_doubted and state.leader in {None, self._me}

    def lane_of(self, found: PartitionLog) -> Lane:
        """Of the dir that has this log."""
        return self._lanes[found.folder.disk.name]

    # Start and stop

    async def open(self) -> None:
        """Opens every log that can be; raises where the broker must not start."""
        await self.logs.open()
        loop = asyncio.get_running_loop()
        self.dirs.failures.on_failed += [partial(loop.call_soon_threadsafe, self.look_at_failures)]
        self.look_at_failures()
        if self.dirs.all_failed:
            raise AllDirsFailed("no log dir could be opened")
        self.moves.resume()

    async def close(self, broker_epoch: BrokerEpoch) -> None:
        """Ends every role, makes everything durable, and says so in each dir."""
        self.roles.is_closed = True
        for partition in self._hosted:
            self.roles.end(partition)
            self._hosted.pop(partition)
        await self.moves.close()
        await all_done([lane.run(_nothing) for lane in self._lanes.values()], CLOSE_PATIENCE)
        await self.logs.close(broker_epoch)
        self.dirs.failures.on_failed.clear()

    # The controller's requests

    def apply_leader_and_isr(self, states: Sequence[LeaderAndIsrState]) -> Answer:
        """Begins, continues or ends the leadership of each; what failed has its error code.

        It is decided by this call, so requests count in the order of the calls; the answer waits
        for the disks.
        """
        changes = RoleChanges()
        self.change_roles(states, changes)
        return self.changed(changes)

    def change_roles(self, states: Sequence[LeaderAndIsrState], changes: RoleChanges) -> None:
        """As `apply_leader_and_isr`, for some rows of a request."""
        in_dirs: dict[str, list[Starting]] = {}
        leading: list[LeadingReplica] = []
        states = [self.roles.still_new(state) for state in states]
        for state in states:
            partition, hosted = state.partition, self._hosted[state.partition]
            role = decide_role(hosted, state, self._me)
            if isinstance(role, ErrorCode):
                changes.errors[partition] = role
            elif isinstance(hosted, Leading) and role is not Role.FOLLOW:
                if self.roles.lead_on(hosted, state):
                    leading.append(hosted.replica)
            else:
                self.roles.end(partition)
                self.roles.start(Starting(state), in_dirs)
        changes.states += states
        changes.work.append(EpochsBegun(leading).future)
        for name, starting in in_dirs.items():
            lane = self._lanes[name]
            changes.work.append(lane.run(partial(self.roles.start_in, name, starting)))
            changes.lanes[name] = lane
        self._prove_last_copies(states, changes)

    def _prove_last_copies(self, states: Sequence[LeaderAndIsrState], changes: RoleChanges) -> None:
        """Where others shall go, and this one may stay alone: its disk may have died while idle.

        Also in an epoch that it knows: the answer to what told it may have been lost.
        """
        staying = [
            it.partition
            for it in states
            if it.removing and it.leader == self._me and not it.leadership.adding
        ]
        changes.proving += staying
        for name in dict.fromkeys(map(self.logs.dir_of, staying)):
            if name is not None:
                lane = changes.lanes[name] = self._lanes[name]
                changes.work.append(lane.run(partial(self._prove, name)))

    async def _prove(self, name: str) -> None:
        """In the lane of a dir, behind all that was to be done there."""
        await off_loop(self.logs.background[name], self.dirs.named(name).prove)

    async def changed(self, changes: RoleChanges) -> dict[TopicPartition, ErrorCode]:
        """The answer to such a request: what failed."""
        if not await answered(changes.work, changes.lanes.values()):
            begin(self._tasks, self._say_later(changes))
            changes.errors |= dict.fromkeys(changes.proving, ErrorCode.REQUEST_TIMED_OUT)
        self.look_at_failures()
        return changes.errors | self._refused(changes.states)

    def _refused(self, states: Sequence[LeaderAndIsrState]) -> dict[TopicPartition, ErrorCode]:
        """Which of them could not be obeyed, as far as that is known."""
        errors: dict[TopicPartition, ErrorCode] = {}
        for state in states:
            match self._hosted[state.partition]:
                case Offline():
                    errors[state.partition] = ErrorCode.KAFKA_STORAGE_ERROR
                case Stopped(state=refused) if refused is state:
                    errors[state.partition] = ErrorCode.REPLICA_NOT_AVAILABLE
            if self._may_be_offline(state):
                errors[state.partition] = ErrorCode.KAFKA_STORAGE_ERROR
        return errors

    async def _say_later(self, changes: RoleChanges) -> None:
        """A dir hung, and the controller believes that it was obeyed: it asks once more.

        Of a leader that begins only now it does not know either that its log was found fit to.
        """
        late = [it.partition for it in changes.states if not self.is_leading(it.partition)]
        await asyncio.gather(*changes.work, return_exceptions=True)
        if self._refused(changes.states) or any(map(self.is_leading, late)) or changes.proving:
            self._report_dirs()

    def stop(self, partitions: Mapping[TopicPartition, StopState]) -> Answer:
        """Ends roles by this call, and deletes the logs where that is asked for.

        A log that is not found, while a dir is offline, may be there: it is not deleted until
        the dir is back. Else it would be found one day beside a later one of its name. One whose
        deletion is on its way to the disk is waited for by all who ask for it. What is said
        of an earlier topic of the name, on a connection that broke, is over: nothing is left of it.
        Nor does a broker delete anything that closes its logs.
        """
        errors: dict[TopicPartition, ErrorCode] = {}
        in_dirs: dict[str, list[TopicPartition]] = {}
        if self.roles.is_closed:
            return self._deleted((), in_dirs, partitions, errors)
        for partition, asked in partitions.items():
            hosted = self._hosted[partition]
            if hosted is not None and is_of_another_topic(hosted.state.topic_id, asked.topic_id):
                continue
            refusal = decide_stop(hosted, asked.leader_epoch)
            if refusal is None:
                self.roles.end(partition)
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
            where = self.logs.dir_of(partition) or self._deleting.get(partition)
            if where is not None:
                in_dirs.setdefault(where, []).append(partition)
            elif self.dirs.some_failed:
                errors[partition] = ErrorCode.KAFKA_STORAGE_ERROR
        left = {partition: partitions[partition] for its in in_dirs.values() for partition in its}
        work = [
            self._lanes[name].run(partial(self._delete_in, name, its, left, errors))
            for name, its in in_dirs.items()
        ]
        return self._deleted(work, in_dirs, left, errors)

    async def _deleted(
        self,
        work: Sequence["asyncio.Future[None]"],
        in_dirs: Mapping[str, object],
        left: Mapping[TopicPartition, StopState],
        errors: dict[TopicPartition, ErrorCode],
    ) -> dict[TopicPartition, ErrorCode]:
        await answered(work, [self._lanes[name] for name in in_dirs])
        self.look_at_failures()
        return dict.fromkeys(left, ErrorCode.KAFKA_STORAGE_ERROR) | errors

    async def _delete_in(
        self,
        name: str,
        partitions: Sequence[TopicPartition],
        left: dict[TopicPartition, StopState],
        errors: dict[TopicPartition, ErrorCode],
    ) -> None:
        """In the lane of a dir: a log that was asked for again meanwhile stays.

        Once the dir has failed its logs are not found, and the rest is `left`: it is still there.
        """
        for partition in partitions:
            if all(log_dir.name != name for log_dir in self.dirs.online):
                return
            if self._hosted[partition] is None:
                self._deleting[partition] = name
                try:
                    await self.logs.put_away(partition, aside=left[partition].aside)
                except StorageError as error:
                    errors[partition] = error.code
                finally:
                    self._deleting.pop(partition, None)
            del left[partition]

    def replace_dir(self, fresh: LogDir, were_in: Collection[TopicPartition]) -> int:
        """Another, empty disk is in the place of one that failed; how many logs were lost.

        Only those that are known to have been there: the next request of the controller makes them
        anew, as logs that lack records, so none of them leads before a whole one.
        """
        self.dirs.replace(fresh)
        lost = 0
        for partition in self._hosted:
            hosted = self._hosted[partition]
            if isinstance(hosted, Offline) and (partition in were_in or not self.dirs.some_failed):
                self._hosted[partition] = Offline(hosted.state, is_lost=True, had_log=True)
                lost += 1
        for replaced in self.on_dir_replaced:
            replaced(fresh)
        begin(self._tasks, self._note_offline())
        return lost

    async def _note_offline(self) -> None:
        """The controller asks again about logs of which it is known now that they lack records."""
        if not self.roles.is_closed and await self.logs.note_offline():
            self._report_dirs()

    def ask_for_lost(self) -> None:
        """Where logs could not be made, as on a full disk: the controller's next request tries."""
        if self._hosted.some_are_lost:
            self._report_dirs()

    def _report_dirs(self) -> None:
        for tell in self.on_dirs_to_report:
            tell()

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
            self.roles.end(partition)

    def release(self, partition: TopicPartition) -> None:
        """The replica goes on, with the log that is the current one now."""
        hosted, found = self._hosted[partition], self.dirs.get(partition)
        if found is None:
            return
        if isinstance(hosted, Leading):
            hosted.replica.serve_from(found, self.logs.appends[found.folder.disk.name])
        elif isinstance(hosted, Following) and hosted.replica.is_over:
            self.roles.follow(found, hosted.state)

    async def roll(self, partition: TopicPartition) -> None:
        """Begins a new segment, if this broker leads or follows the partition.

        In the lane of its dir: a truncation has the log for itself.
        """
        found = self.dirs.get(partition)
        if found is not None:
            await self.lane_of(found).result(partial(self.roll_alone, found))

    async def roll_alone(self, found: PartitionLog) -> None:
        """Likewise, of who is in that lane."""
        replica = self.find_current(found)
        if replica is not None:
            rolled = SegmentRolled()
            replica.roll(rolled, 0)
            try:
                await rolled.future
            finally:
                del rolled  # it has the error, which has this frame

    def on_log_start(self, found: PartitionLog) -> None:
        """Records at the beginning of a log were deleted: followers, or the leader, learn that."""
        replica = self.find_current(found)
        if isinstance(replica, LeadingReplica):
            replica.on_log_start()
        elif replica is not None:
            for moved in self.on_follower_start:
                moved(replica)

    # One replica alone

    def find_current(self, found: PartitionLog) -> LeadingReplica | FollowingReplica | None:
        """The replica that has this log."""
        hosted = self._hosted[found.partition]
        if isinstance(hosted, Leading | Following) and hosted.replica.log is found:
            return hosted.replica
        return None

    def newest_epoch(self, found: PartitionLog) -> LeaderEpoch:
        """The newest leader epoch that is known here: under it nothing may have been written."""
        hosted = self._hosted[found.partition]
        in_log = found.epochs.latest
        return in_log if hosted is None else max(in_log, hosted.state.leadership.leader_epoch)

    def take_offline(self, partition: TopicPartition) -> None:
        """Ends its role; the controller is answered KAFKA_STORAGE_ERROR until it is back."""
        hosted = self._hosted[partition]
        assert hosted is not None, partition
        self.roles.end(partition)
        self._hosted[partition] = Offline(hosted.state)

    def bring_back(self, partition: TopicPartition) -> None:
        """It takes a role again when the controller gives it one; not if its dir has failed."""
        hosted = self._hosted[partition]
        if isinstance(hosted, Offline) and self.dirs.get(partition) is not None:
            self._hosted[partition] = Stopped(hosted.state)

    # Settings and failures

    def on_topic_settings(self, name: str | None) -> None:
        """Something was changed for this topic; None: for all."""
        logs = (found for log_dir in self.dirs.online for found in log_dir.all_logs)
        self._factory.on_topic_settings(name, logs, self._hosted.all_leading())

    def look_at_failures(self) -> None:
        """Takes the dirs, and the single logs, out of service that failed since the last call."""
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
                    self.roles.end(partition)
                    self._hosted[partition] = Offline(hosted.state)
            for failed in self.on_dir_failed:
                failed(gone)
            if not self.dirs.all_failed:
                begin(self._tasks, self._note_offline())
        for partition in self.dirs.failures.take_given_up():
            found = self.dirs.get(partition)
            if found is not None and found.is_given_up and self._hosted[partition] is not None:
                log.error("log.offline", partition=str(partition))
                self.take_offline(partition)
                self._report_dirs()


async def _nothing() -> None:
    """All that was begun before has ended."""
