"""Markers on their way: a queue for each leader, and what was not taken is sent again.

What is decided at a time for one leader is one request, for all transactions together; the next one
leaves when it is answered. What is for a partition that has not taken its last marker travels
apart, on other connections: one whose disk hangs holds up the others for one request, and no more.
A marker that its leader does not have below the high watermark goes back to the queue of the broker
that leads the partition by then, however often that takes: nothing but the end of this broker's
leadership over the transaction ends it. A partition is passed over only where its topic is gone
from ZooKeeper. One of the same name that was made since gets a marker that ends nothing there: the
records of transactions name no topic ids.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeAlias

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.jobs import begin
from odradek.broker.timers import Timers
from odradek.coordinator.coordinator import Place
from odradek.coordinator.transactions.values import Ending
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.peers.versions import NegotiatedVersions
from odradek.records.control import EPOCH_FOR_EACH_SINCE
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.wire.schema import Request, Response

PAUSE: Final = Millis(20)
PAUSE_MAX: Final = Millis(SECOND)
"""Each pause before a marker is sent again is twice the last one, up to this."""
TOLD_AFTER: Final = 8
"""After so many attempts a person is told: about four seconds."""
BATCH_MAX: Final = 256
"""Of one request, how many markers."""
DONE: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT})
"""In a log of an old format there is no record of any transaction."""
V1: Final = 1
"""Of WriteTxnMarkers, as Kafka 3.9 knows it: the version of the transaction is not said."""
V2: Final = 2

Local: TypeAlias = Callable[[WriteTxnMarkersRequest], Awaitable[WriteTxnMarkersResponse]]
Marked: TypeAlias = Callable[[Place, Ending, Iterable[TopicPartition]], None]

log = structlog.get_logger()


class Leaders(Protocol):
    """Connections to the other brokers."""

    async def ask(self, broker: BrokerId, request: Request, version: int) -> Response:
        """The answer; a BrokerError if there is none."""
        ...


class MarkersDeps(NamedTuple):
    """What markers need of their broker."""

    cluster: MetadataCache
    brokers: Leaders  # by connections of their own: an answer may take long
    late: Leaders  # by others, for partitions that have not taken their last marker
    timers: Timers
    tasks: asyncio.TaskGroup
    there: Callable[[str], Awaitable[frozenset[int] | None]]  # a topic's partitions in ZooKeeper
    local: Local  # for partitions that this broker leads
    level: Callable[[], int]  # `transaction.version` of the cluster: above 0 no leader is a Kafka


class Destination(NamedTuple):
    """A leader, to which one request at a time is on its way, and another one of late markers."""

    leader: BrokerId
    is_late: bool  # for partitions that have not taken their last marker


class Marker:
    """The end of one transaction for one partition."""

    __slots__ = ("attempts", "ending", "is_over", "partition", "place")

    def __init__(self, place: Place, ending: Ending, partition: TopicPartition) -> None:
        self.place = place
        self.ending = ending
        self.partition = partition
        self.attempts = 0
        self.is_over = False  # it is there, or this broker does not decide any more


class UnknownTopic:
    """A topic, or some partitions of it, that this broker has not heard of."""

    __slots__ = ("looks", "markers")

    def __init__(self) -> None:
        self.markers: dict[Marker, None] = {}  # that wait for the next look at ZooKeeper
        self.looks = 0


class TransactionMarkers:
    """All markers that this broker's coordinators have sent and leaders have not taken."""

    def __init__(self, deps: MarkersDeps) -> None:
        self.on_marked: list[Marked] = []
        self._deps = deps
        self._open: dict[int, dict[Marker, None]] = {}  # by partition of the state topic
        self._queues: dict[Destination, list[Marker]] = {}
        self._busy: dict[Destination, None] = {}  # those that have not answered yet
        self._without_leader: dict[Marker, None] = {}  # no leader is known
        self._unknown: dict[str, UnknownTopic] = {}
        self._late: dict[TopicPartition, None] = {}  # what was sent last was not taken
        self._is_scheduled = False

    @property
    def without_leader(self) -> int:
        """How many wait for their partition to have a leader."""
        return len(self._without_leader)

    def send(self, place: Place, sent: Ending) -> None:
        """To the leader of each partition."""
        for partition in sorted(sent.partitions):
            marker = Marker(place, sent, partition)
            self._open.setdefault(place.partition, {})[marker] = None
            self._route(marker)

    def stop(self, partition: int) -> None:
        """This broker does not decide in this partition of the state topic any more."""
        for marker in self._open.pop(partition, ()):
            marker.is_over = True
            self._without_leader.pop(marker, None)
            self._late.pop(marker.partition, None)

    def _route(self, marker: Marker) -> None:
        known = self._deps.cluster.image.partition(marker.partition)
        leader = None if known is None or known.state is None else known.state.leader
        if leader is None:
            self._without_leader[marker] = None
            if known is None:
                self._await_look(marker)
            else:
                self._later(marker)
            return
        to = Destination(leader, marker.partition in self._late)
        self._queues.setdefault(to, []).append(marker)
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _await_look(self, marker: Marker) -> None:
        """One look tells for all partitions of a topic, however many markers wait for it."""
        topic = marker.partition.topic
        unknown = self._unknown.get(topic)
        if unknown is None:
            unknown = self._unknown[topic] = UnknownTopic()
            begin(self._deps.tasks, self._look(topic, unknown))
        unknown.markers[marker] = None

    async def _look(self, topic: str, unknown: UnknownTopic) -> None:
        there = await self._deps.there(topic)
        gone = []
        if there is not None:
            gone = [it for it in unknown.markers if it.partition.partition not in there]
        for marker in gone:
            del unknown.markers[marker]
            if not marker.is_over:
                log.info(
                    "transaction.partition_gone",
                    transactional_id=marker.ending.transactional_id,
                    partition=str(marker.partition),
                )
        self._done(gone)
        pause = _pause(unknown.looks)
        self._deps.timers.after(pause, lambda: self._look_again(topic, unknown))

    def _look_again(self, topic: str, unknown: UnknownTopic) -> None:
        del self._unknown[topic]
        for marker in unknown.markers:
            self._again(marker)
        if topic in self._unknown:
            self._unknown[topic].looks = unknown.looks + 1

    def _later(self, marker: Marker) -> None:
        """Sent again after a pause, wherever the partition is led by then."""
        if marker.is_over:
            return
        pause = _pause(marker.attempts)
        marker.attempts += 1
        self._deps.timers.after(pause, lambda: self._again(marker))

    def _again(self, marker: Marker) -> None:
        if not marker.is_over:
            self._without_leader.pop(marker, None)
            self._route(marker)

    def _flush(self) -> None:
        self._is_scheduled = False
        for to in [it for it in self._queues if it not in self._busy]:
            batch, rest = _batch(self._queues.pop(to))
            if rest:
                self._queues[to] = rest
            if not batch:
                continue
            self._busy[to] = None
            if begin(self._deps.tasks, self._deliver(to, batch)) is None:
                return  # the broker stops

    async def _deliver(self, to: Destination, batch: list[Marker]) -> None:
        codes: dict[tuple[int, str, int], ErrorCode] = {}
        reason = ""
        try:
            codes = _codes(await self._ask(to, _request(batch)))
        except BrokerError as error:
            reason = str(error)
        finally:
            del self._busy[to]
        done = []
        for marker in batch:
            partition = marker.partition
            code = codes.get((marker.ending.identity.producer_id, *partition))
            if code in DONE:
                done.append(marker)
                continue
            if not marker.is_over:
                self._late[partition] = None
            if marker.attempts == TOLD_AFTER and not marker.is_over:
                log.warning(
                    "transaction.marker_late",
                    transactional_id=marker.ending.transactional_id,
                    partition=str(partition),
                    leader=to.leader,
                    reason=reason or (code.name if code is not None else "no answer"),
                )
            self._later(marker)
        self._done(done)
        if self._queues.get(to) and not self._is_scheduled:
            self._flush()

    async def _ask(
        self, to: Destination, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse:
        if to.leader == self._deps.cluster.me:
            return await self._deps.local(request)
        brokers = self._deps.late if to.is_late else self._deps.brokers
        version = await self._version(brokers, to.leader, request)
        response = await brokers.ask(to.leader, request, version)
        assert isinstance(response, WriteTxnMarkersResponse), response
        return response

    async def _version(
        self, brokers: Leaders, leader: BrokerId, request: WriteTxnMarkersRequest
    ) -> int:
        """At level 0 a leader may be a Kafka, and a producer be in version 2 nevertheless.

        It has heard of the level before we have, or not yet of a lower one. Without the version an
        end of its transaction that comes late would end the next one, so the leader is asked.
        """
        if self._deps.level():
            return V2
        if all(it.transaction_version < EPOCH_FOR_EACH_SINCE for it in request.markers):
            return V1
        answer = await brokers.ask(leader, ApiVersionsRequest(), 0)
        assert isinstance(answer, ApiVersionsResponse), answer
        return NegotiatedVersions.of(answer, {}).newest(request.KEY, at_most=V2)

    def _done(self, markers: Iterable[Marker]) -> None:
        """Those of one transaction are told of at once."""
        told: dict[tuple[Place, Ending], list[TopicPartition]] = {}
        for marker in markers:
            if not marker.is_over:
                marker.is_over = True
                self._without_leader.pop(marker, None)
                self._late.pop(marker.partition, None)
                self._open[marker.place.partition].pop(marker, None)
                told.setdefault((marker.place, marker.ending), []).append(marker.partition)
        for (place, ending), partitions in told.items():
            for marked in self.on_marked:
                marked(place, ending, partitions)


def _pause(attempts: int) -> Millis:
    return Millis(min(PAUSE << min(attempts, TOLD_AFTER), PAUSE_MAX))


def _batch(queue: list[Marker]) -> tuple[list[Marker], list[Marker]]:
    """Those that leave now. An answer names producers: of each, one transaction is asked about."""
    batch: list[Marker] = []
    rest: list[Marker] = []
    endings: dict[int, Ending] = {}
    for marker in queue:
        if marker.is_over:
            continue
        ending = endings.setdefault(marker.ending.identity.producer_id, marker.ending)
        is_now = ending is marker.ending and len(batch) < BATCH_MAX
        (batch if is_now else rest).append(marker)
    return batch, rest


def _request(batch: Iterable[Marker]) -> WriteTxnMarkersRequest:
    found: dict[tuple[Place, Ending], dict[str, list[int]]] = {}
    for marker in batch:
        topics = found.setdefault((marker.place, marker.ending), {})
        topics.setdefault(marker.partition.topic, []).append(marker.partition.partition)
    return WriteTxnMarkersRequest(
        [
            WritableTxnMarker(
                *ending.identity,
                ending.is_committed,
                [WritableTxnMarkerTopic(*it) for it in topics.items()],
                place.leader_epoch,
                ending.version,
            )
            for (place, ending), topics in found.items()
        ]
    )


def _codes(response: WriteTxnMarkersResponse) -> dict[tuple[int, str, int], ErrorCode]:
    return {
        (result.producer_id, topic.name, row.partition_index): ErrorCode(row.error_code)
        for result in response.markers
        for topic in result.topics
        for row in topic.partitions
    }
