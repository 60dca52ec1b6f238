"""A follower's log with a corrupt batch is mended: its leader is asked for what belongs there.

Not as a follower, for a follower's fetch says how far its log goes, and it goes as far as before:
the replica stays in sync, and nothing of its log is given up before what takes its place is here
(`storage.logs.gaps`). A leader that cannot read the batch either is noted, and asked again later.
"""

import asyncio
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.jobs import begin, drained, off_loop
from odradek.broker.partitions.logs.local_logs import RunningCompaction
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.positions import Offset
from odradek.model.units import MIB, SECOND, Bytes, Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import ConnectionGone, NotConnected
from odradek.ports import Address, Clock, Network
from odradek.records.batch import headers
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.gaps import Gap, Mending, find_gap, fitting
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.view import LogView
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

NAMED_TOPICS: Final = 12
"""The last version of a fetch that has the names of topics."""
FETCH_BYTES: Final = Bytes(MIB)
WAIT_MIN: Final = Millis(20)
WAIT_MAX: Final = Millis(30 * SECOND)

log = structlog.get_logger()


class MenderDeps(NamedTuple):
    """What a mender needs of its broker."""

    cluster: MetadataCache
    replicas: ReplicaManager
    network: Network
    clock: Clock
    tasks: asyncio.TaskGroup
    listener: str  # the inter-broker one
    patience: Millis  # with the leader


def _is_harmed(found: PartitionLog) -> bool:
    """Whether a batch cannot be read, or could not be when producers were counted."""
    return found.corrupt is not None or found.passed_over is not None


class NotThere(BrokerError):
    """The leader did not give what is missing."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.reason = code


class LogMender:
    """Mends the logs that this broker follows with, each by a task of its own."""

    def __init__(self, deps: MenderDeps) -> None:
        self._deps = deps
        self._at_work: set[FollowingReplica] = set()

    def look_at(self, replica: FollowingReplica) -> None:
        """It follows now, or a batch of its log was found to be corrupt."""
        is_to_be_mended = _is_harmed(replica.log) and replica.leader is not None
        if (
            is_to_be_mended
            and replica not in self._at_work
            and begin(self._deps.tasks, self._mend(replica))
        ):
            self._at_work.add(replica)

    async def _mend(self, replica: FollowingReplica) -> None:
        """Until it is whole, or follows no more in this epoch."""
        wait, told = WAIT_MIN, ""
        try:
            while not replica.is_over and _is_harmed(replica.log):
                try:
                    await self._mend_once(replica)
                except (BrokerError, ConnectionGone) as error:
                    if str(error) != told:
                        told = str(error)
                        partition = str(replica.partition)
                        log.warning("log.not_mended", partition=partition, error=told)
                    wait = min(Millis(wait * 2), WAIT_MAX)
                clock = self._deps.clock
                await clock.sleep_until(Millis(clock.monotonic() + wait))
        finally:
            self._at_work.discard(replica)

    async def _mend_once(self, replica: FollowingReplica) -> None:
        found = replica.log
        lane = self._deps.replicas.lane_of(found)
        cuts, gap = await lane.result(partial(self._prepare, replica))
        if gap is None:
            return
        batches = await self._fetch(replica, gap)
        if found.cuts == cuts and not replica.is_over:
            await self._fill(found, gap, batches)

    async def _prepare(self, replica: FollowingReplica) -> tuple[int, Gap | None]:
        """What is to be fetched, after so many cuts; None: nothing, or not yet.

        In the lane of its dir, for a truncation has the log for itself.
        """
        found, replicas = replica.log, self._deps.replicas
        cuts = found.cuts
        if replica.is_over:
            return cuts, None
        if found.corrupt is None:  # it is mended, and what it says is counted
            await replicas.logs.count_producers_anew(found)
            return cuts, None
        gap = await self._find(found)
        if gap is None:
            found.corrupt = None  # retention took it
        elif gap.segment_base == found.active_segment.base_offset:
            await replicas.roll_alone(found)
            gap = None
        elif found.recovery_point < gap.end_offset:
            flush = FlushJob(found, self._deps.clock.wall())
            await off_loop(replicas.logs.worker_of(found), flush.run)
            flush.publish()
        return cuts, gap

    async def _find(self, found: PartitionLog) -> Gap | None:
        corrupt = found.corrupt
        assert corrupt is not None, found.partition
        worker = self._deps.replicas.logs.worker_of(found)
        return await off_loop(worker, partial(find_gap, LogView(found), corrupt))

    # What the leader has

    async def _fetch(self, replica: FollowingReplica, gap: Gap) -> list[memoryview]:
        """As any consumer, so only what is committed."""
        deps, found = self._deps, replica.log
        connection = Connection(deps.clock, self._address(replica), f"broker-{deps.cluster.me}")
        batches: list[memoryview] = []
        at = max(gap.offset, found.log_start_offset)
        try:
            await connection.open(deps.network, deps.patience)
            while at < gap.end_offset:
                request = self._request(replica, at)
                answer = await connection.ask(request, NAMED_TOPICS, timeout_ms=deps.patience)
                row: PartitionData = answer.responses[0].partitions[0]
                run = self._records(replica, row)
                if not run and row.high_watermark >= gap.end_offset:
                    break  # compaction took what was there
                if not run:
                    code = ErrorCode.OFFSET_NOT_AVAILABLE
                    raise NotThere(code, f"offset {at} is not committed yet")
                batches += fitting(found, gap._replace(offset=at), run)
                at = Offset(max(it.next_offset for _, it in headers(run, cut_tail=True)))
        finally:
            connection.close()
        return batches

    def _address(self, replica: FollowingReplica) -> Address:
        assert replica.leader is not None, replica.partition
        broker = self._deps.cluster.image.brokers.get(replica.leader)
        endpoint = None if broker is None else broker.endpoint(self._deps.listener)
        if endpoint is None:
            raise NotConnected(f"broker {replica.leader} has no {self._deps.listener} listener now")
        return endpoint.host, endpoint.port

    def _request(self, replica: FollowingReplica, offset: Offset) -> FetchRequest:
        name, number = replica.partition
        epoch = replica.leadership.leader_epoch
        row = FetchPartition(number, epoch, offset, -1, -1, FETCH_BYTES)
        topics = [FetchTopic(topic=name, partitions=[row])]
        return FetchRequest(max_bytes=FETCH_BYTES, topics=topics, session_epoch=-1)

    def _records(self, replica: FollowingReplica, row: PartitionData) -> memoryview:
        code, corrupt = ErrorCode(row.error_code), replica.log.corrupt
        if code is ErrorCode.CORRUPT_MESSAGE and corrupt is not None and replica.leader is not None:
            not_at = corrupt.not_at | {replica.leader}
            replica.log.corrupt = corrupt._replace(not_at=not_at)
        if code is not ErrorCode.NONE:
            raise NotThere(code, f"broker {replica.leader} answers {code.name}")
        assert not isinstance(row.records, list), "an answer that was received is in one piece"
        return memoryview(row.records or b"")

    # What is written

    async def _fill(self, found: PartitionLog, gap: Gap, batches: list[memoryview]) -> None:
        """As a compaction is done: in steps, and ended for a job that needs the log alone."""
        logs = self._deps.replicas.logs
        if found.being_cleaned or found in logs.not_compacted or found in logs.compactions:
            return
        worker, mending = logs.worker_of(found), Mending(found, gap, batches)
        steps = mending.steps()
        logs.compactions[found] = running = RunningCompaction(mending.cancel, asyncio.Event())
        try:
            while await off_loop(worker, partial(next, steps, None)) is not None:
                pass
        finally:
            mending.cancel()
            try:
                await drained(worker)
            finally:
                if mending.publish():
                    log.info("log.mended", partition=str(found.partition), offset=gap.offset)
                del logs.compactions[found]
                running.ended.set()
