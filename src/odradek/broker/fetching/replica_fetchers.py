"""What this broker follows: one fetcher for each broker that leads something of it.

A fetcher's core (`replication.fetcher`) decides what is asked for and what an answer means; here
requests go out, and logs change as the effects say. Appends are written at the end of the turn like
those of clients, and the next fetch goes out in the turn that hears of the last of them. A
truncation has the log for itself, in the lane of its dir: a dir that hangs holds up its own
partitions, and the fetcher goes on without them.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.vanished_brokers import VanishedBrokers
from odradek.broker.fetching.write_failures import WriteFailures
from odradek.broker.jobs import begin
from odradek.broker.partitions.logs.lanes import Work
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.config.broker import BrokerConfig
from odradek.config.rows import replication as rows
from odradek.metadata.image import ClusterImage
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_OFFSET, Offset
from odradek.model.units import SECOND, Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import ClosedByPeer, ConnectionGone, NotConnected
from odradek.peers.requests import encode_request
from odradek.ports import Address, Clock, Network
from odradek.replication.fetcher import Pause, ReplicaFetcher, Request, Response
from odradek.replication.fetcher_requests import FetcherSettings
from odradek.replication.following import (
    UNWRITTEN_MAX,
    Follower,
    FollowerEffects,
    FollowerSettings,
    FollowerState,
)
from odradek.replication.throttle import ReplicationThrottle
from odradek.storage.errors import StorageError
from odradek.storage.logs.log import PartitionLog
from odradek.wire.messages.fetch import FetchRequest
from odradek.wire.messages.list_offsets import ListOffsetsRequest
from odradek.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

VERSIONS: Final = {OffsetForLeaderEpochRequest.KEY: 4, ListOffsetsRequest.KEY: 9}
"""As Kafka 3.9 speaks among brokers; that of Fetch depends on whether all topics have ids."""

REFUSALS_TOLD: Final = 5
OLDER: Final = (
    "it may be of an older version, which closes the connection at requests that it does not know; "
    "bring it to Kafka 3.9, and set inter.broker.protocol.version to 3.9 on all brokers"
)

BEGIN_AGAIN: Final = Millis(SECOND)
"""After so long a follower whose log could not be cut is begun again."""
START_AGAIN: Final = Millis(10 * SECOND)
"""After so long records that could not be deleted at the beginning of a log are tried again."""

log = structlog.get_logger()


class FetchersDeps(NamedTuple):
    """What fetchers need of their broker."""

    cluster: MetadataCache
    replicas: ReplicaManager
    network: Network
    clock: Clock
    tasks: asyncio.TaskGroup
    listener: str  # the inter-broker one
    vanished: VanishedBrokers
    throttle: ReplicationThrottle  # of what this broker fetches as a follower
    waits: Callable[[FollowingReplica], bool]  # not to be fetched now: its disk has no room


class Unreached(NamedTuple):
    """A leader that does not answer."""

    leader: BrokerId
    since: Millis
    error: str
    partitions: tuple[TopicPartition, ...]  # that are followed there


class ReplicaFetchers:
    """All fetchers of a broker."""

    def __init__(self, deps: FetchersDeps, config: BrokerConfig) -> None:
        self._deps = deps
        self._settings = _settings(config)
        self._follower_settings = _follower_settings(config)
        self._patience = config[rows.REPLICA_SOCKET_TIMEOUT_MS]
        self._fetchers: dict[BrokerId, LeaderFetcher] = {}
        self._write_failures = WriteFailures()

    def follow(self, replica: FollowingReplica) -> None:
        """From its leader, unless it waits for room: then it is named here again."""
        leader = replica.leader
        if leader is None or self._deps.waits(replica):
            return
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = LeaderFetcher(
                leader,
                self._deps,
                self._settings,
                follower_settings=self._follower_settings,
                patience=self._patience,
                write_failures=self._write_failures,
            )
            self._fetchers[leader] = fetcher
            if not begin(self._deps.tasks, fetcher.run()):
                return
        fetcher.add(replica)

    def unfollow(self, replica: FollowingReplica) -> None:
        """It is fetched no more; a fetcher that has nothing left ends."""
        if replica.leader is None:
            return
        fetcher = self._fetchers.get(replica.leader)
        if fetcher is not None:
            fetcher.remove(replica.partition)
            if not len(fetcher):
                fetcher.stop()
                del self._fetchers[replica.leader]

    def on_log_start(self, replica: FollowingReplica) -> None:
        """Its log begins elsewhere."""
        fetcher = None if replica.leader is None else self._fetchers.get(replica.leader)
        if fetcher is not None:
            fetcher.on_log_start(replica)

    def on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        """Leaders may be somewhere else."""
        if old.brokers is new.brokers:
            return
        for leader, fetcher in self._fetchers.items():
            if old.brokers.get(leader) != new.brokers.get(leader):
                fetcher.look_up_leader()

    def unreached(self) -> Iterator[Unreached]:
        """Leaders that have not answered since some request or connection failed."""
        for fetcher in self._fetchers.values():
            if fetcher.lost is not None:
                yield fetcher.lost

    def close(self) -> None:
        """Nothing is fetched from now on."""
        for fetcher in self._fetchers.values():
            fetcher.stop()
        self._fetchers.clear()


def _settings(config: BrokerConfig) -> FetcherSettings:
    return FetcherSettings(
        wait_max=config[rows.REPLICA_FETCH_WAIT_MAX_MS],
        bytes_min=config[rows.REPLICA_FETCH_MIN_BYTES],
        partition_bytes_max=config[rows.REPLICA_FETCH_MAX_BYTES],
        response_bytes_max=config[rows.REPLICA_FETCH_RESPONSE_MAX_BYTES],
        backoff_max=config[rows.REPLICA_FETCH_BACKOFF_MS],
    )


def _follower_settings(config: BrokerConfig) -> FollowerSettings:
    """With room again, a follower has to ask before its time in the ISR is over."""
    lag_max = config[rows.REPLICA_LAG_TIME_MAX_MS]
    return FollowerSettings(unwritten_max=min(UNWRITTEN_MAX, Millis(max(1, lag_max // 2))))


class LeaderFetcher:
    """Fetches from one leader all partitions of it that this broker follows."""

    def __init__(
        self,
        leader: BrokerId,
        deps: FetchersDeps,
        settings: FetcherSettings,
        *,
        follower_settings: FollowerSettings,
        patience: Millis,
        write_failures: WriteFailures,
    ) -> None:
        self.leader = leader
        self._deps = deps
        self._clock = deps.clock
        self._patience = patience
        self._write_failures = write_failures
        self._follower_settings = follower_settings
        self._core = ReplicaFetcher(
            deps.cluster.me, deps.cluster.broker_epoch, settings, deps.throttle
        )
        self._replicas: dict[TopicPartition, FollowingReplica] = {}
        self._starts: dict[FollowingReplica, Offset] = {}  # where logs are about to begin
        self._connection: Connection | None = None
        self._loop = asyncio.get_running_loop()
        self._wakes = asyncio.Event()  # who makes connections
        self._will_go_on = False  # at the end of this turn
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = Millis(0)
        self._lost: tuple[Millis, str] | None = None  # since when it does not answer, and why
        self._refusals = 0  # connections that were closed at our requests, since the last answer
        self._is_over = False

    def __len__(self) -> int:
        return len(self._replicas)

    @property
    def lost(self) -> Unreached | None:
        """Whom it does not reach, if so."""
        if self._lost is None:
            return None
        return Unreached(self.leader, *self._lost, tuple(self._replicas))

    # Partitions come and go

    def add(self, replica: FollowingReplica) -> None:
        """Follows one more partition, or an old one in another leader epoch."""
        state = FollowerState(self.leader, replica.leadership.leader_epoch)
        name = (replica.partition, replica.topic_id)
        follower = Follower(name, replica.log, state, settings=self._follower_settings)
        self._replicas[replica.partition] = replica
        self._carry_out(replica, self._core.add(follower, self._clock.monotonic()))
        self._go_on_soon()

    def remove(self, partition: TopicPartition) -> None:
        """Follows it no more."""
        if self._replicas.pop(partition, None) is not None:
            self._core.remove(partition)
            self._go_on_soon()

    def on_log_start(self, replica: FollowingReplica) -> None:
        """Its log starts elsewhere now: the leader is told."""
        if self._replicas.get(replica.partition) is replica:
            self._core.on_log_start(replica.partition, self._clock.monotonic())
            self._go_on_soon()

    def look_up_leader(self) -> None:
        """The leader's registration has changed: another life of it, or another address."""
        if self._connection is not None:
            self._connection.close()
        self._go_on_soon()

    def stop(self) -> None:
        """Fetches nothing any more."""
        self._is_over = True
        if self._connection is not None:
            self._connection.close()
        if self._timer is not None:
            self._timer.cancel()
        self._wakes.set()

    # Requests

    def _go_on_soon(self) -> None:
        """At the end of this turn: more may happen in it."""
        if not self._will_go_on:
            self._will_go_on = True
            self._loop.call_soon(self._go_on)

    def _go_on(self, now: Millis | None = None) -> None:
        """Asks for what there is to ask now.

        What was on its way on a connection that has closed is lost before the next request is made:
        that one would count as lost with it, and be answered all the same on the next connection.
        """
        self._will_go_on = False
        while not self._is_over and self._connection is not None:
            if not self._connection.is_open:
                self._on_gone(NotConnected(f"broker {self.leader} has closed the connection"))
                return
            broker_epoch = self._deps.cluster.broker_epoch
            if broker_epoch != self._core.broker_epoch:
                self._core.on_registered(broker_epoch)
            now = self._clock.monotonic() if now is None else now
            request = self._core.next_request(now)
            if isinstance(request, Pause):
                if request.until is not None:
                    self._go_on_at(request.until)
                return
            self._send(self._connection, request)

    def _go_on_at(self, moment: Millis) -> None:
        """Unless the timer rings earlier: it asks again then."""
        if self._timer is not None:
            if self._rings_at <= moment:
                return
            self._timer.cancel()
        self._rings_at = moment
        seconds = max(0, moment - self._clock.monotonic()) / SECOND
        self._timer = self._loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._go_on()

    def _send(self, connection: Connection, request: Request) -> None:
        version = VERSIONS.get(request.KEY, self._core.fetch_version)
        wait_max = request.max_wait_ms if isinstance(request, FetchRequest) else 0
        connection.send_then(
            encode_request(request, version),
            partial(self._on_answer, connection),
            timeout_ms=Millis(self._patience + wait_max),
        )

    async def run(self) -> None:
        """Connects whenever there is no connection, as long as there is something to follow."""
        while not self._is_over:
            self._wakes.clear()
            if self._connection is None:
                await self._connect()
                self._go_on()
            else:
                await self._wakes.wait()

    async def _connect(self) -> None:
        """Before a request is made: for a dead broker none is made, however often it is tried."""
        retry_at = self._core.retry_at
        if retry_at is not None and (pause := retry_at - self._clock.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause / SECOND):
                    await self._wakes.wait()
            return
        name = f"broker-{self._deps.cluster.me}"
        try:
            at = self._address()
            on_end = self._deps.vanished.watch(self.leader, at)
            connection = Connection(self._clock, at, name, on_end)
            await connection.open(self._deps.network, self._patience)
        except ConnectionGone as error:
            self._on_gone(error)
            return
        self._connection = connection
        if self._is_over:
            connection.close()

    def _address(self) -> Address:
        broker = self._deps.cluster.image.brokers.get(self.leader)
        endpoint = None if broker is None else broker.endpoint(self._deps.listener)
        if endpoint is None:
            raise NotConnected(f"broker {self.leader} has no {self._deps.listener} listener now")
        return endpoint.host, endpoint.port

    def _on_answer(
        self, connection: Connection, response: Response, error: ConnectionGone | None
    ) -> None:
        if self._is_over or connection is not self._connection:
            return
        if error is not None:
            self._on_gone(error)
            return
        self._lost, self._refusals = None, 0
        now = self._clock.monotonic()
        for step in self._core.on_response(response, now):
            replica = self._replicas.get(step.follower.partition)
            if replica is not None:
                self._carry_out(replica, step.effects)
        self._go_on(now)

    def _on_gone(self, error: ConnectionGone) -> None:
        """Every request on its way is lost with the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            self._on_closed(error)
        if not self._is_over:
            now = self._clock.monotonic()
            told = log.info if self._lost is None else log.debug  # once, until it answers again
            told("fetcher.disconnected", leader=self.leader, error=str(error))
            self._lost = (now if self._lost is None else self._lost[0], str(error))
            self._core.on_no_response(now)
            self._wakes.set()

    def _on_closed(self, error: ConnectionGone) -> None:
        """A process that closes one connection after the other at our requests, and lives."""
        if isinstance(error, ClosedByPeer) and not self._is_over:
            self._refusals += 1
            if self._refusals == REFUSALS_TOLD:
                log.warning("fetcher.refused", leader=self.leader, error=str(error), hint=OLDER)

    # Effects

    def _carry_out(self, replica: FollowingReplica, effects: FollowerEffects) -> None:
        """What the core wants done to a log, from top to bottom."""
        logs = self._deps.replicas.logs
        if effects.truncate_to is not None:
            self._change(replica, partial(logs.truncate, replica.log, effects.truncate_to))
        elif effects.start_fully_at is not None:
            self._change(replica, partial(logs.start_fully_at, replica.log, effects.start_fully_at))
        elif effects.append is not None:
            self._append(replica, effects.append)
        if effects.high_watermark is not None:
            replica.on_high_watermark(effects.high_watermark)
        if effects.log_start_offset is not None:
            self._begin_start(replica, effects.log_start_offset)

    def _append(self, replica: FollowingReplica, run: memoryview) -> None:
        try:
            replica.append(run, partial(self._on_applied, replica))
        except BrokerError as error:
            self._on_applied(replica, error)

    def _change(self, replica: FollowingReplica, change: Work) -> None:
        self._deps.replicas.lane_of(replica.log).begin(partial(self._change_log, replica, change))

    async def _change_log(self, replica: FollowingReplica, change: Work) -> None:
        """In the lane of its dir; it may have taken so long that the replica is not ours now."""
        if self._is_over or self._replicas.get(replica.partition) is not replica:
            return
        error: BrokerError | None = None
        before = replica.log.log_end_offset
        try:
            await change()
        except BrokerError as raised:
            error = raised
        else:
            end = replica.log.log_end_offset
            if end != before:
                partition = str(replica.partition)
                log.info("log.truncated", partition=partition, log_end_offset=end, before=before)
        self._on_applied(replica, error)

    def _begin_start(self, replica: FollowingReplica, start: Offset) -> None:
        """What the leader's log has no longer is deleted here, too."""
        if self._starts.get(replica, NO_OFFSET) < start and begin(
            self._deps.tasks, self._move_start(replica, start)
        ):
            self._starts[replica] = start

    async def _move_start(self, replica: FollowingReplica, start: Offset) -> None:
        """Until it is done: in a fetch session the leader says so once, unless something changes.

        A full disk may have no room for it now.
        """
        try:
            while not await self._has_moved_start(replica, start):
                await self._clock.sleep_until(Millis(self._clock.monotonic() + START_AGAIN))
                is_ours = not self._is_over and self._replicas.get(replica.partition) is replica
                if not is_ours or self._starts.get(replica) != start:
                    return
        finally:
            if self._starts.get(replica) == start:
                del self._starts[replica]

    async def _has_moved_start(self, replica: FollowingReplica, start: Offset) -> bool:
        logs, found = self._deps.replicas.logs, replica.log
        try:
            async with logs.starting_at(found, start):
                lane = self._deps.replicas.lane_of(found)
                await lane.run(partial(self._delete_below, replica, found, start))
        except StorageError as error:
            log.warning(
                "follower.start_not_moved", partition=str(replica.partition), error=str(error)
            )
            return False
        return True

    async def _delete_below(
        self, replica: FollowingReplica, found: PartitionLog, start: Offset
    ) -> None:
        """In the lane of its dir."""
        if self._replicas.get(replica.partition) is replica and replica.log is found:
            await self._deps.replicas.logs.move_start(found, start)
            self.on_log_start(replica)

    def _on_applied(self, replica: FollowingReplica, error: BrokerError | None) -> None:
        """The log has been changed, or could not be."""
        if self._is_over or self._replicas.get(replica.partition) is not replica:
            return
        now = self._clock.monotonic()
        if error is None:
            self._carry_out(replica, self._core.on_applied(replica.partition, now))
        else:
            log_dir = replica.log.folder.disk.name
            self._write_failures.failed(log_dir, replica.partition, str(error), now)
            self._core.on_apply_failed(replica.partition, ErrorCode(error.code), now)
            if self._core.has_given_up(replica.partition):
                begin(self._deps.tasks, self._begin_again(replica))
        if self._core.busy:
            self._go_on_soon()
        else:
            self._go_on(now)

    async def _begin_again(self, replica: FollowingReplica) -> None:
        """The disk may have room by now, or a batch that was in the way be mended."""
        await self._clock.sleep_until(Millis(self._clock.monotonic() + BEGIN_AGAIN))
        if not self._is_over and self._replicas.get(replica.partition) is replica:
            self.add(replica)
