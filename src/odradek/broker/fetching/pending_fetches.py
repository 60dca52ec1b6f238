"""Fetches under way: what is there is gathered; who finds too little waits, and is woken.

A fetch that waits stands at the leaders of its partitions, which wake it when there is more; nobody
looks for those who wait. However many partitions wake one in a turn, it looks once, at the end of
the turn, when those who brought the news were answered.

The first batch comes whole, whatever its size, or a reader could never pass it. What is read is a
range of a file; unless it is short, it goes out without passing through our memory.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.broker.fetching.fetch_sessions import FetchSessions, Session, Told, Wanted, wanted_by
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.leading_replica import LeadingReplica
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.timers import Timer, Timers
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import KIB, Bytes, Millis
from odradek.ports import Chunk, Clock, FileRange, Worker
from odradek.replication.errors import NotLeaderOrFollower
from odradek.replication.waiters import Waiter
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

READ_COMMITTED: Final = 1
ABORTED_SINCE: Final = 4
NOBODY: Final = -1
WARMED_BYTES: Final = Bytes(256 * KIB)
NO_RECORDS: Final = b""


class Means(NamedTuple):
    """What fetches are served with."""

    replicas: ReplicaManager
    timers: Timers
    clock: Clock
    bytes_max: Bytes  # of one response


class Fetches:
    """All that are under way, and the sessions that they belong to."""

    def __init__(self, means: Means, sessions: FetchSessions) -> None:
        self.means = means
        self.sessions = sessions
        self.waiting = 0

    def begin(self, pending: PendingRequest, request: FetchRequest) -> None:
        """Answers now, or when there is enough, or when the client's patience ends."""
        session = self.sessions.find(request, self.means.clock.monotonic())
        Fetch(self, pending, request, session).begin()


class Fetch:
    """One request: the sleeper of its partitions."""

    __slots__ = (
        "_cold_left",
        "_committed_only",
        "_exchange",
        "_fetches",
        "_is_over",
        "_is_warm",
        "_request",
        "_session",
        "_timer",
        "_waiters",
        "_wanted",
        "_will_look",
    )

    def __init__(
        self,
        fetches: Fetches,
        pending: PendingRequest,
        request: FetchRequest,
        session: Session | None,
    ) -> None:
        self._fetches = fetches
        self._exchange = pending
        self._request = request
        self._session = session
        self._wanted: Iterable[Wanted] = list(
            wanted_by(request) if session is None else session.wanted.values()
        )
        self._committed_only = request.isolation_level == READ_COMMITTED
        self._waiters: list[Waiter] = []
        self._timer: Timer | None = None
        self._will_look = False
        self._is_over = False
        self._is_warm = False  # what was cold has been read once
        self._cold_left = 0

    def begin(self) -> None:
        """Looks once; then waits, if there was too little."""
        found = self._gather()
        if found.cold:
            self._warm(found.cold)
        else:
            self._go_on(found)

    def _warm(self, cold: "list[tuple[Worker, FileRange]]") -> None:
        """The loop never waits for a disk: its worker reads first, and then we look again."""
        self._cold_left = len(cold)
        for worker, chunk in cold:
            worker.submit(_Warming(self, chunk))

    def warmed(self) -> None:
        """One of the ranges has been read; what is still cold by now is read as it is."""
        self._cold_left -= 1
        if not self._cold_left and not self._exchange.connection.is_over:
            self._is_warm = True
            self._go_on(self._gather())

    def _go_on(self, found: "_Found") -> None:
        if found.is_enough or self._request.max_wait_ms <= 0:
            self._answer(found)
            return
        means = self._fetches.means
        deadline = Millis(means.clock.monotonic() + self._request.max_wait_ms)
        self._timer = means.timers.at(deadline, self._on_time)
        self._exchange.wait(self._stop)
        self._fetches.waiting += 1
        self._sleep(found)

    def wake(self) -> None:
        """There is more in one of the partitions, or its leader is another."""
        if not self._will_look and not self._is_over:
            self._will_look = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._will_look = False
        if self._is_over:
            return
        for waiter in self._waiters:
            waiter.give_up()
        self._waiters.clear()
        found = self._gather()
        if found.is_enough:
            self._stop()
            self._answer(found)
        else:
            self._sleep(found)

    def _sleep(self, found: "_Found") -> None:
        for led in found.leds:
            leader = led.leader
            self._waiters.append(leader.await_high_watermark(leader.high_watermark, self))

    def _on_time(self) -> None:
        """The client's patience ends: it gets what there is."""
        self._stop()
        self._answer(self._gather())

    def _stop(self) -> None:
        """Nobody needs to be woken any more."""
        if self._is_over:
            return
        self._is_over = True
        self._fetches.waiting -= 1
        for waiter in self._waiters:
            waiter.give_up()
        self._waiters.clear()
        if self._timer is not None:
            self._timer.cancel()

    # What there is

    def _gather(self) -> "_Found":
        left = min(self._request.max_bytes, self._fetches.means.bytes_max)
        found = _Found(self._request.min_bytes)
        for wanted in self._wanted:
            try:
                row, led, size = self._read(wanted, left, is_first=not found.size)
            except BrokerError as error:
                found.has_news = True
                found.rows.append((wanted, _failed(wanted, error.code), None))
                continue
            found.leds.append(led)
            self._look_at_cache(found, row, led)
            found.size += size
            left = max(left - size, 0)
            found.rows.append((wanted, row, led))
        return found

    def _look_at_cache(self, found: "_Found", row: PartitionData, led: LeadingReplica) -> None:
        if self._is_warm or self._timer is not None:  # what a sleeper is woken for is new
            return
        for chunk in row.records or ():
            if isinstance(chunk, FileRange) and not chunk.file.is_cached(*chunk[1:]):
                found.cold.append((self._fetches.means.replicas.logs.worker_of(led.log), chunk))

    def _read(
        self, wanted: Wanted, left: int, *, is_first: bool
    ) -> tuple[PartitionData, LeadingReplica, int]:
        if self._request.replica_id >= 0:
            raise NotLeaderOrFollower("no broker follows here")
        epoch = None if wanted.leader_epoch < 0 else LeaderEpoch(wanted.leader_epoch)
        led = self._fetches.means.replicas.led(wanted.partition, epoch)
        log = led.log
        stable = log.last_stable_offset
        end = stable if self._committed_only else log.high_watermark
        bytes_max = min(wanted.bytes_max, left)
        part = log.read(wanted.offset, end, bytes_max, at_least_one=is_first)
        size = 0 if part.chunk is None else part.chunk.length
        records: list[Chunk] = [] if part.chunk is None else [part.chunk]
        row = PartitionData(
            wanted.partition.partition,
            high_watermark=log.high_watermark,
            last_stable_offset=stable,
            log_start_offset=log.log_start_offset,
            aborted_transactions=self._aborted(led, wanted.offset, end) if records else None,
            preferred_read_replica=NOBODY,
            records=records,
        )
        return row, led, size

    def _aborted(
        self, led: LeadingReplica, start: Offset, end: Offset
    ) -> list[AbortedTransaction] | None:
        """Those whose records a reader of what is committed must pass over."""
        if not self._committed_only:
            return None
        return [
            AbortedTransaction(it.producer_id, it.first_offset)
            for it in led.log.aborted_between(start, end)
        ]

    # The answer

    def _answer(self, found: "_Found") -> None:
        session = self._session
        topics: dict[str, FetchableTopicResponse] = {}
        for wanted, row, led in found.rows:
            if session is not None and not self._is_told(session, wanted, row):
                continue
            name = wanted.partition.topic
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = FetchableTopicResponse(name, partitions=[])
            topic.partitions.append(row)  # type: ignore[attr-defined]  # made here, as a list
            self._count(row, led)
        self._exchange.answer(
            FetchResponse(
                session_id=0 if session is None else session.id, responses=list(topics.values())
            )
        )

    def _is_told(self, session: Session, wanted: Wanted, row: PartitionData) -> bool:
        """In a session, only what the client does not know yet."""
        is_news = session.is_news(wanted.partition, Told(row.high_watermark, row.log_start_offset))
        if row.records and wanted.partition in session.wanted:
            session.served(wanted.partition)
        return is_news or bool(row.records) or bool(row.error_code)

    def _count(self, row: PartitionData, led: LeadingReplica | None) -> None:
        if led is None:
            self._fetches.means.replicas.traffics.refused.failed_fetches += 1
            return
        led.traffic.fetches += 1
        for chunk in row.records or ():
            led.traffic.bytes_out += chunk.length  # type: ignore[union-attr]  # a range


class _Found:
    """What one look has brought."""

    __slots__ = ("_bytes_min", "cold", "has_news", "leds", "rows", "size")

    def __init__(self, bytes_min: int) -> None:
        self.size = 0
        self.has_news = False  # an error: it is told at once
        self.rows: list[tuple[Wanted, PartitionData, LeadingReplica | None]] = []
        self.leds: list[LeadingReplica] = []
        self.cold: list[tuple[Worker, FileRange]] = []  # not in the page cache
        self._bytes_min = bytes_min

    @property
    def is_enough(self) -> bool:
        """Whether to answer now."""
        return self.has_news or not self.rows or self.size >= self._bytes_min


class _Warming:
    """Reads a range for the sake of the page cache: a job of the dir's worker."""

    __slots__ = ("_chunk", "_fetch")

    def __init__(self, fetch: Fetch, chunk: FileRange) -> None:
        self._fetch = fetch
        self._chunk = chunk

    def run(self) -> None:
        """In pieces, into one buffer."""
        file, position, length = self._chunk
        buffer = memoryview(bytearray(min(length, WARMED_BYTES)))
        for at in range(position, position + length, WARMED_BYTES):
            file.read_into(buffer[: min(WARMED_BYTES, position + length - at)], at)

    def done(self, error: Exception | None) -> None:
        """An error is met again, and told, when the range is sent."""
        del error
        self._fetch.warmed()


def _failed(wanted: Wanted, code: ErrorCode) -> PartitionData:
    return PartitionData(
        wanted.partition.partition,
        code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        preferred_read_replica=NOBODY,
        records=NO_RECORDS,
    )
