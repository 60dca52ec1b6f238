"""Replicas take roles and lose them: in the table at once, and to serve when their logs are there.

`hosted` says what a request of the controller means for one partition. Here a role begins: its dir
is chosen, its log is made in the lane of that dir, and the replica leads or follows. A role that a
later request has replaced meanwhile does not begin any more.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from odradek.broker.partitions.logs.lanes import Lane
from odradek.broker.partitions.logs.local_logs import MADE_AT_ONCE, LocalLogs
from odradek.broker.partitions.replica_factory import ReplicaFactory
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.hosted import (
    Following,
    HostedPartitions,
    LeaderAndIsrState,
    Leading,
    Offline,
    Starting,
    Stopped,
)
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.write_waits import EpochsBegun
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import FIRST_INCARNATION
from odradek.ports import Clock
from odradek.storage.errors import StorageError
from odradek.storage.logs.log import PartitionLog

STARTED_AT_ONCE: Final = 2 * MADE_AT_ONCE
"""So many replicas take a role in one turn of the loop: some ten milliseconds."""

log = structlog.get_logger()


class RoleChanges:
    """What became of the rows of a LeaderAndIsr request so far."""

    def __init__(self) -> None:
        self.states: list[LeaderAndIsrState] = []
        self.errors: dict[TopicPartition, ErrorCode] = {}
        self.work: list[asyncio.Future[None]] = []
        self.lanes: dict[str, Lane] = {}  # of the dirs in which something is done
        self.proving: list[TopicPartition] = []  # whose other copies go once their disk has worked


class Roles:
    """Of the replicas of this broker, and who hears of them."""

    def __init__(
        self, broker_id: BrokerId, logs: LocalLogs, factory: ReplicaFactory, clock: Clock
    ) -> None:
        self.hosted = HostedPartitions()
        self.on_elected: list[Callable[[LeadingReplica], None]] = []
        self.on_epoch: list[Callable[[LeadingReplica], None]] = []  # of it, or of its next one
        self.on_resigned: list[Callable[[TopicPartition], None]] = []
        self.on_following: list[Callable[[FollowingReplica], None]] = []
        self.on_unfollowed: list[Callable[[FollowingReplica], None]] = []
        self.is_closed = False  # no role begins any more
        self._me = broker_id
        self._logs, self._dirs = logs, logs.dirs
        self._factory = factory
        self._clock = clock

    # Beginning

    def start(self, starting: Starting, in_dirs: dict[str, list[Starting]]) -> None:
        """In the table; what its dir has to do is added there, for `start_in`."""
        hosted = self.hosted[starting.state.partition]
        is_lost = isinstance(hosted, Offline) and hosted.is_lost
        if self.is_closed:
            self.hosted[starting.state.partition] = Stopped(starting.state, has_refused=True)
            return
        where = self._logs.place(starting.state, is_lost=is_lost)
        found = self._dirs.get(starting.state.partition)
        if where is None or (found is not None and found.is_given_up):
            self.hosted[starting.state.partition] = Offline(starting.state)
            return
        if isinstance(hosted, Offline) and hosted.had_log:
            starting = Starting(starting.state._replace(is_new=False))
        self.hosted[starting.state.partition] = starting
        in_dirs.setdefault(where, []).append(starting)

    async def start_in(self, name: str, starting: list[Starting]) -> None:
        """In the lane of a dir: makes logs, writes leader epochs, and lets the replicas serve."""
        await self._logs.appends[name].settled()  # of earlier roles
        for first in range(0, len(starting), STARTED_AT_ONCE):
            await self._start_some(name, starting[first : first + STARTED_AT_ONCE])
            await asyncio.sleep(0)

    async def _start_some(self, name: str, starting: Sequence[Starting]) -> None:
        """Each serves before the logs of later ones are made."""
        wanted = [it for it in starting if self._is_current(it)]
        for each in starting:
            if not isinstance(self.hosted[each.state.partition], Starting):
                self._logs.end_making(each.state.partition)  # stopped before its turn came
        try:
            await self._logs.make(name, [it.state for it in wanted], self._me)
        except StorageError as error:
            log.error("log.not_made", log_dir=name, error=str(error))
        leading: list[tuple[Starting, LeadingReplica]] = []
        for each in filter(self._is_current, wanted):
            found = self._dirs.get(each.state.partition)
            if found is None:
                never_made = not self._dirs.failures.has_failed(name)
                self.hosted[each.state.partition] = Offline(each.state, is_lost=never_made)
            elif _lost_records(found, each.state, self._me):
                self.hosted[each.state.partition] = Stopped(each.state, has_refused=True)
            elif each.state.leader == self._me:
                leading.append((each, self._factory.leading(found, each.state)))
            else:
                self.follow(found, each.state)
        await EpochsBegun([replica for _, replica in leading]).future
        for each, replica in leading:
            if self._is_current(each) and self._dirs.get(each.state.partition) is replica.log:
                self._lead(each.state, replica)

    def still_new(self, state: LeaderAndIsrState) -> LeaderAndIsrState:
        """What is said of a replica before its log is made: it never had one anywhere."""
        hosted = self.hosted[state.partition]
        if isinstance(hosted, Starting) and hosted.state.is_new:
            return state._replace(is_new=True)
        return state

    def _is_current(self, starting: Starting) -> bool:
        """No later request has replaced it, and its dir has not failed."""
        return self.hosted[starting.state.partition] is starting

    def _lead(self, state: LeaderAndIsrState, replica: LeadingReplica) -> None:
        self.hosted[state.partition] = Leading(state, replica)
        replica.traffic.leaderships += 1
        for elected in (*self.on_elected, *self.on_epoch):
            elected(replica)

    def lead_on(self, hosted: Leading, state: LeaderAndIsrState) -> bool:
        """Whether it leads in another epoch now, which is to be written."""
        replica = hosted.replica
        self.hosted[state.partition] = Leading(state, replica)
        effects = replica.leader.on_leadership(state.leadership, self._clock.monotonic())
        replica.carry_out(effects)
        if effects.begin_epoch is not None:
            replica.readers.on_change()
            for begun in self.on_epoch:
                begun(replica)
        return effects.begin_epoch is not None

    def follow(self, found: PartitionLog, state: LeaderAndIsrState) -> None:
        """The replica that has this log follows from now on."""
        replica = self._factory.following(found, state)
        self.hosted[state.partition] = Following(state, replica)
        for following in self.on_following:
            following(replica)

    # Ending

    def end(self, partition: TopicPartition) -> None:
        """The entry is replaced or removed by the caller, in the same turn."""
        match self.hosted[partition]:
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


def _lost_records(found: PartitionLog, state: LeaderAndIsrState, me: BrokerId) -> bool:
    if state.leader != me or not state.must_be_whole or found.unclean is None:
        return False
    told = dict(state.leadership.incarnations).get(me, FIRST_INCARNATION)
    return found.is_doubted or told != found.incarnation
