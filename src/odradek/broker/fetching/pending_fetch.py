"""One fetch under way: what is there is gathered; where that is too little, it waits.

Its session looks at the partitions that have changed, and at no other: the replicas of the rest
wake it when there is more. However many of them do so in a turn, it looks once, at the end of the
turn, when those who brought the news were answered.

The first batch comes whole, whatever its size, or a reader could never pass it. What is read is a
range of a file, and goes out as the client takes it.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, Protocol, TypeAlias

from odradek.broker.access.authorizer import Authorizer
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.fetching.checked_reads import CheckedRead, OnCorrupt, ReadRange
from odradek.broker.fetching.fetch_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION,
    FetchSessions,
    Session,
    Slot,
)
from odradek.broker.fetching.moved_leaders import endpoints, name_leader
from odradek.broker.fetching.partition_reading import (
    NO_RECORDS,
    Found,
    Look,
    NotReadable,
    PartitionReading,
    failed,
)
from odradek.broker.fetching.reader import Follower, Reader
from odradek.broker.fetching.sought_reads import SoughtRead
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.slices import Steps
from odradek.broker.timers import Timer, Timers
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Bytes, Millis
from odradek.ports import Clock, FileRange
from odradek.replication.throttle import ReplicationThrottle
from odradek.storage.logs.log import PartitionLog
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    NodeEndpoint,
)

LEADERS_SINCE: Final = 16
MOVED: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
WARMING_PATIENCE: Final = Millis(2 * SECOND)
"""So long at least a fetch waits for what is not in the page cache."""
LOOKS_PER_TURN: Final = 500
"""So many partitions are looked at before others have their turn of the loop."""
Topics: TypeAlias = dict[str | bytes, FetchableTopicResponse]
NOTHING_LEFT: Final[Iterator[Slot]] = iter(())


class FetchDeps(NamedTuple):
    """What fetches are served with."""

    replicas: ReplicaManager
    cluster: MetadataCache
    timers: Timers
    clock: Clock
    bytes_max: Bytes  # of one response
    on_corrupt: OnCorrupt  # a batch failed its checksum
    throttle: ReplicationThrottle  # of what this broker sends as a leader
    selector_class: str | None
    access: Authorizer | None
    on_follower_gone: Callable[[BrokerId], None]  # a connection by which it fetched has ended


class LookedAt:
    """What one look at the partitions of a fetch has brought."""

    __slots__ = ("_bytes_min", "cold", "is_urgent", "partial", "rows", "size", "sought")

    def __init__(self, bytes_min: int) -> None:
        self.size = 0
        self.is_urgent = False  # an error, for instance: it is told at once
        self.rows: list[Found] = []  # for the answer
        self.partial: list[Found] = []  # those with records
        self.cold: list[ReadRange] = []  # not in the page cache, or asked for again
        self.sought: dict[Slot, SoughtRead] = {}  # for which memory does not know the way
        self._bytes_min = bytes_min

    @property
    def is_enough(self) -> bool:
        """Whether to answer now."""
        return self.is_urgent or self.size >= self._bytes_min


class FetchHost(Protocol):
    """All fetches, as far as one of them uses the rest."""

    deps: FetchDeps
    sessions: FetchSessions
    reading: PartitionReading
    loop: asyncio.AbstractEventLoop
    waiting: int  # how many fetches wait

    def waits_for_leader(self, slot: Slot) -> bool:
        """Whether a partition that is not led here yet is looked at again, not refused."""
        ...


def _right(access: Authorizer, pending: PendingRequest, reader: Reader) -> Callable[[str], bool]:
    """Whether a client may read a topic, at the time it is asked."""
    client = pending.connection
    if isinstance(reader, Follower):
        return lambda _: access.may_on_cluster(client, Operation.CLUSTER_ACTION)
    return partial(access.may, client, Operation.READ, ResourceType.TOPIC)


class Fetch:
    """One request of a session, which may last for this request alone."""

    __slots__ = (
        "_bytes_max",
        "_cold_left",
        "_fetches",
        "_found",
        "_how",
        "_is_arrival",
        "_is_full",
        "_is_over",
        "_is_parked",
        "_is_warm",
        "_may_read",
        "_named",
        "_pending",
        "_request",
        "_round",
        "_session",
        "_sought",
        "_timer",
        "_to_look_at",
        "_wants_answer",
        "_will_look",
    )

    def __init__(
        self, fetches: FetchHost, pending: PendingRequest, request: FetchRequest, session: Session
    ) -> None:
        self._fetches = fetches
        self._pending = pending
        self._request = request
        self._session = session
        self._named = session.update(request, fetches.deps.cluster.image.names)
        self._to_look_at = NOTHING_LEFT
        self._found = LookedAt(request.min_bytes)
        self._bytes_max = min(request.max_bytes, fetches.deps.bytes_max)
        if pending.charge is not None:
            self._bytes_max = min(self._bytes_max, pending.charge.fetch_max())
        self._timer: Timer | None = None
        self._is_full = request.session_epoch in {FIRST_EPOCH, FINAL_EPOCH}  # it names every row
        self._is_arrival = True  # until every partition was looked at once
        self._is_parked = False  # waits for more
        self._will_look = False
        self._is_over = False
        self._is_warm = False  # what was cold has been read once
        self._cold_left = 0  # jobs of this round
        self._round = 0  # of jobs
        self._sought: dict[Slot, SoughtRead] = {}  # what jobs have looked for
        access = fetches.deps.access
        self._may_read = None if access is None else _right(access, pending, session.reader)
        self._how = Look(session.reader, self._may_read)
        self._wants_answer = False  # however little there is

    # Looking, some partitions in each turn of the loop

    def begin(self) -> None:
        """Takes over what the request changes in its session, and looks."""
        self._session.waiting = self
        for _ in islice(self._named, LOOKS_PER_TURN):
            pass
        if next(self._named, None) is not None:
            self._fetches.loop.call_soon(self._begin_on)
        else:
            self._look()

    def _begin_on(self) -> None:
        if not self._is_gone():
            self.begin()

    def _look(self) -> None:
        session = self._session
        if not self._is_arrival:
            session.look_again(found.slot for found in self._found.rows)
            self._found = LookedAt(self._request.min_bytes)
        slots = tuple(session if self._is_full else session.ready)
        for slot in slots[:LOOKS_PER_TURN]:
            self._look_at(slot)
        if len(slots) <= LOOKS_PER_TURN:
            self._is_arrival = False
            self._on_looked()
            return
        self._to_look_at = iter(slots[LOOKS_PER_TURN:])
        self._look_on_soon()

    def _look_on_soon(self) -> None:
        self._will_look = True
        self._fetches.loop.call_soon(self._look_on)

    def _look_on(self) -> None:
        self._will_look = False
        if self._is_gone():
            return
        for slot in islice(self._to_look_at, LOOKS_PER_TURN):
            self._look_at(slot)
        further = next(self._to_look_at, None)
        if further is None:
            self._is_arrival = False
            self._on_looked()
            return
        self._look_at(further)
        self._look_on_soon()

    def _look_at(self, slot: Slot) -> None:
        if slot.is_forgotten:
            return
        found, session, how = self._found, self._session, self._how
        how.bytes_left = self._bytes_max - found.size
        how.is_first = not found.size
        how.is_arrival = self._is_arrival or slot in session.early
        how.sought = self._sought.get(slot) if self._sought else None
        one = self._fetches.reading.read(slot, how)
        if one.is_early and not self._is_full and self._fetches.waits_for_leader(slot):
            session.ready.pop(slot, None)
            return
        if session.early:
            session.early.pop(slot, None)
        if one.sought is not None and not self._is_stuck(one.sought.log):
            found.sought[slot] = one.sought
        if one.size and not (self._is_at_hand() or self._look_at_cache(one)):
            one.row.records = NO_RECORDS
            one.size, one.was_read = 0, False
        if one.size:
            found.size += one.size
            found.partial.append(one)
        elif one.was_read and not one.is_urgent:
            session.ready.pop(slot, None)
            if one.replica is not None:
                slot.await_more(one.replica)
        found.is_urgent |= one.is_urgent
        row = one.row
        if (
            self._is_full
            or one.size
            or one.is_urgent
            or slot.is_news(row.high_watermark, row.log_start_offset)
        ):
            found.rows.append(one)

    def _is_at_hand(self) -> bool:
        """Whether it was read, or is new: a fetch is woken for that."""
        is_new = self._is_warm or self._timer is not None
        return is_new and not self._fetches.deps.replicas.logs.stuck

    def _look_at_cache(self, one: Found) -> bool:
        """Whether its records can be sent; what a disk that hangs must read first is left out."""
        is_asked_again = one.slot.is_asked_again
        for chunk in one.row.records or ():
            if not isinstance(chunk, FileRange):
                continue
            assert one.replica is not None, one
            is_cold = not chunk.file.is_cached(*chunk[1:])
            if self._is_stuck(one.replica.log):
                if is_cold:
                    return False
            elif (is_cold or is_asked_again) and not self._is_warm and one.slot not in self._sought:
                self._found.cold.append(ReadRange(one.replica.log, one.segment_base, chunk))
        return True

    def _on_looked(self) -> None:
        found = self._found
        if found.cold or found.sought:
            self._warm(found.cold, found.sought)
        elif found.is_enough or self._wants_answer or self._request.max_wait_ms <= 0:
            self._answer()
        else:
            self._park()

    def _is_stuck(self, log: PartitionLog) -> bool:
        """Whether its disk hangs: then nothing is looked for there."""
        return log.folder.disk.name in self._fetches.deps.replicas.logs.stuck

    def _warm(self, cold: list[ReadRange], sought: dict[Slot, SoughtRead]) -> None:
        """The loop never waits for a disk: its worker reads first, and then we look again."""
        self._is_warm = self._is_warm or bool(cold)
        self._cold_left = len(cold) + len(sought)
        self._round += 1
        self._sought |= sought
        on_corrupt, logs = self._fetches.deps.on_corrupt, self._fetches.deps.replicas.logs
        warmed = partial(self._warmed, self._round)
        for read in cold:
            logs.worker_of(read.log).submit(CheckedRead(read, on_corrupt, warmed))
        for job in sought.values():
            logs.worker_of(job.log).submit(job.then(on_corrupt, warmed))
        found = [*(read.log for read in cold), *(job.log for job in sought.values())]
        self._look_out(self._round, {log.folder.disk.name for log in found})

    def _look_out(self, number: int, dirs: set[str]) -> None:
        """One of the dirs may hang: then the answer goes without what lies there."""
        deps = self._fetches.deps
        deadline = Millis(deps.clock.monotonic() + max(self._request.max_wait_ms, WARMING_PATIENCE))
        deps.timers.at(deadline, partial(self._on_slow_disk, number, dirs))

    def _on_slow_disk(self, number: int, dirs: set[str]) -> None:
        if number != self._round or not self._cold_left or self._is_gone():
            return
        if dirs & self._fetches.deps.replicas.logs.stuck.keys():
            self._round += 1
            self._look()
        else:
            self._look_out(number, dirs)

    def _warmed(self, number: int) -> None:
        """One of the ranges has been read; what is still cold by now is read as it is sent."""
        if number != self._round:
            return  # it was given up
        self._cold_left -= 1
        if not self._cold_left and not self._is_gone():
            self._look()

    # Waiting

    def _park(self) -> None:
        deps = self._fetches.deps
        self._is_parked = True
        self._sought.clear()  # there will be more
        if self._timer is None:
            deadline = Millis(deps.clock.monotonic() + self._request.max_wait_ms)
            self._timer = deps.timers.at(deadline, self._on_time)
            self._pending.wait(self._stop)
            self._fetches.waiting += 1
        for one in self._found.partial:
            if one.replica is not None and not one.slot.is_forgotten:
                one.slot.await_more(one.replica)

    def wake(self) -> None:
        """There is more in one of the partitions, or its leader is another."""
        if self._is_parked and not self._will_look:
            self._will_look = True
            self._fetches.loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        self._will_look = False
        if not self._is_gone():
            self._is_parked = False
            self._look()

    def _on_time(self) -> None:
        """The client's patience ends: it gets what there is."""
        self._wants_answer = True
        if self._is_parked and not self._will_look:
            self._look_again()

    def end(self) -> None:
        """The client asks again, or its session is given up: it gets what was found before."""
        self._wants_answer = True
        if self._is_parked:
            if not self._is_full:
                self._session.look_again(found.slot for found in self._found.rows)
                self._found = LookedAt(self._request.min_bytes)
            self._answer()

    def _stop(self, *, closes: bool = True) -> None:
        """Nothing is to be woken any more."""
        if self._is_over:
            return
        self._is_over = True
        if self._timer is not None:
            self._fetches.waiting -= 1
            self._timer.cancel()
        session = self._session
        if session.waiting is self:
            session.waiting = None
        if closes and session.id == NO_SESSION:
            session.close()

    def _is_gone(self) -> bool:
        """Whether the client is gone."""
        if self._is_over:
            return True
        if self._pending.connection.is_over:
            self._stop()
            return True
        return False

    # The answer

    def _answer(self) -> None:
        charge = self._pending.charge
        if charge is not None and not charge.may_fetch(sum(one.size for one in self._found.rows)):
            self._answer_nothing()
            return
        rows = self._found.rows if self._may_read is None else self._still_allowed()
        slices, client = self._pending.slices, self._pending.connection
        if slices is not None and len(self._found.rows) > LOOKS_PER_TURN:
            self._stop(closes=False)
            slices.begin(self._answer_in_slices(iter(rows)), lambda: client.is_over)
            return
        response = FetchResponse(session_id=self._session.id, responses=[])
        if self._found.rows:
            topics: Topics = {}
            self._add(rows, topics, response)
            response.responses = list(topics.values())
        self._stop()
        self._pending.answer(response)

    def _answer_in_slices(self, rows: Iterator[Found]) -> Steps[None]:
        """A client that goes meanwhile is not answered, and its session ends."""
        session, topics = self._session, Topics()
        response = FetchResponse(session_id=session.id)
        try:
            while some := list(islice(rows, LOOKS_PER_TURN)):
                self._add(some, topics, response)
                yield
            if session.id == NO_SESSION:
                yield from session.closing()
        finally:
            if session.id == NO_SESSION:
                session.close()
        response.responses = list(topics.values())
        self._pending.answer(response)

    def _add(self, rows: Iterable[Found], topics: Topics, response: FetchResponse) -> None:
        """Takes rows over into the answer, and notes what its client is told."""
        session = self._session
        moved: dict[BrokerId, None] = {}
        for one in rows:
            slot, row = one.slot, one.row
            slot.told(row.high_watermark, row.log_start_offset)
            if one.size and slot in session.ready:
                session.served(slot)
            key = slot.topic_id if session.by_id else slot.name
            if key not in topics:
                topics[key] = FetchableTopicResponse(slot.name, slot.topic_id, [])
            topics[key].partitions.append(row)  # type: ignore[attr-defined]  # made here, as a list
            self._count(one)
            if row.error_code in MOVED and self._pending.version >= LEADERS_SINCE:
                name_leader(self._fetches.deps.cluster.image, one, moved)
        if moved:
            known = {it.node_id for it in response.node_endpoints}
            new = [it for it in self._endpoints(moved) if it.node_id not in known]
            response.node_endpoints = [*response.node_endpoints, *new]

    def _answer_nothing(self) -> None:
        """The client is above its limit; a full fetch is asked for again as such."""
        session, number = self._session, NO_SESSION
        self._stop()
        if self._is_full:
            self._fetches.sessions.end(session.id)
        else:
            number = session.id
            session.look_again(one.slot for one in self._found.rows)
        self._pending.answer(FetchResponse(session_id=number))

    def _still_allowed(self) -> Iterator[Found]:
        """A right may be taken away between the reading and the answer."""
        for one in self._found.rows:
            if one.row.error_code or self._may_read is None or self._may_read(one.slot.name):
                yield one
            else:
                yield Found(one.slot, failed(one.slot, NotReadable.code), is_urgent=True)

    def _endpoints(self, moved: Mapping[BrokerId, None]) -> list[NodeEndpoint]:
        image, listener = self._fetches.deps.cluster.image, self._pending.connection.listener
        return endpoints(image, moved, listener)

    def _count(self, one: Found) -> None:
        if self._how.follower is not None:
            if self._fetches.deps.throttle.rate is not None:
                self._fetches.reading.copied(one, self._how.follower)
            return
        traffics = self._fetches.deps.replicas.traffics
        if one.replica is None:
            traffics.refused.failed_fetches += 1
            return
        traffic = traffics.of(one.slot.name)
        traffic.fetches += 1
        traffic.bytes_out += one.size
