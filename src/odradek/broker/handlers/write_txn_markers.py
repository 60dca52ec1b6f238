"""WriteTxnMarkers (key 27), versions 0 to 2: transactions end in partitions that this broker leads.

Sent by the coordinator of transactions, or by an operator who ends a hanging one (KIP-664).
Each partition is answered once its marker is below the high watermark; one of `__consumer_offsets`
once the offsets of the transaction are the group's, or are forgotten (KAFKA-17507). What cannot be
done now has a code with which a coordinator asks again.
v1 flexible. v2 the version of the transaction: from 2 on each has a producer epoch of its own.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from odradek.broker.access.need import Whole
from odradek.broker.coordinators.group_coordinator import GroupCoordinator
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.replica import Patience
from odradek.broker.services import Services
from odradek.broker.settings import Settings
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, at_once
from odradek.broker.timers import Timer, Timers
from odradek.config.rows.broker import REQUEST_TIMEOUT_MS
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.records.control import EndMarker, TransactionEnd
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

COORDINATOR_CODES: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Of the group's coordinator. Who sends markers knows leaders alone, and asks again."""


class EndingDeps(NamedTuple):
    """What transactions are ended with in the partitions that this broker leads."""

    settings: Settings
    timers: Timers
    groups: GroupCoordinator
    replicas: ReplicaManager

    @classmethod
    def of(cls, services: Services) -> "EndingDeps":
        """Of a request by the network."""
        return cls(services.settings, services.timers, services.groups, services.replicas)


class NoProducer(BrokerError):
    """The end of a transaction, and not whose: in the log it could not be read."""

    code = ErrorCode.INVALID_REQUEST


def handle(
    services: Services, pending: PendingRequest, request: WriteTxnMarkersRequest
) -> Steps[None] | None:
    """Appends each marker, and answers when the slowest is done."""
    if any(it.producer_id < 0 or it.producer_epoch < 0 for it in request.markers):
        raise NoProducer("a marker names a producer and its epoch")
    steps = _Ending(EndingDeps.of(services), pending).begin(request.markers)
    rows = sum(len(topic.partition_indexes) for it in request.markers for topic in it.topics)
    if rows > ROWS_IN_A_SLICE:
        return steps
    at_once(steps)
    return None


async def serve_own(deps: EndingDeps, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    """Of this broker's own coordinator."""
    own = _Own()
    at_once(_Ending(deps, own).begin(request.markers))
    return await own.future


class _Asker(Protocol):
    """Who has sent markers."""

    def wait(self, on_gone: Callable[[], None]) -> None:
        """The answer comes later; `on_gone` where it is waited for no more."""
        ...

    def answer(self, response: WriteTxnMarkersResponse) -> None:
        """Once."""
        ...


class _Own:
    """This broker itself, which never goes."""

    __slots__ = ("future",)

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[WriteTxnMarkersResponse] = loop.create_future()

    def wait(self, on_gone: Callable[[], None]) -> None:
        """It waits."""

    def answer(self, response: WriteTxnMarkersResponse) -> None:
        """Unless the broker has stopped meanwhile."""
        if not self.future.done():
            self.future.set_result(response)


class _Ending:
    """One request, and what has become of its markers."""

    __slots__ = ("_deps", "_left", "_pending", "_results", "_timer", "_waiting")

    def __init__(self, deps: EndingDeps, pending: _Asker) -> None:
        self._deps = deps
        self._pending = pending
        self._results: dict[int, WritableTxnMarkerResult] = {}  # one for each producer, as in Kafka
        self._waiting: dict[_Row, None] = {}  # those without an outcome
        self._left = 1  # of these; and one more until all were looked at
        self._timer: Timer | None = None

    def begin(self, markers: Iterable[WritableTxnMarker]) -> Steps[None]:
        """Appends all that can be; answers at once if nothing was."""
        seen = 0
        for marker in markers:
            end = _end_of(marker)
            result = self._results.setdefault(
                marker.producer_id, WritableTxnMarkerResult(marker.producer_id, [])
            )
            for topic in marker.topics:
                rows: list[WritableTxnMarkerPartitionResult] = []
                for number in topic.partition_indexes:
                    rows.append(WritableTxnMarkerPartitionResult(number))
                    self._append(TopicPartition(topic.name, number), end, rows[-1])
                    seen += 1
                    if not seen % ROWS_IN_A_SLICE:
                        yield
                result.topics = [*result.topics, WritableTxnMarkerTopicResult(topic.name, rows)]
        if self._waiting:
            pause = self._deps.settings.broker[REQUEST_TIMEOUT_MS]
            self._timer = self._deps.timers.after(pause, self._on_timeout)
            self._pending.wait(self._give_up)
        self._on_outcome()

    def _append(
        self,
        partition: TopicPartition,
        end: TransactionEnd,
        result: WritableTxnMarkerPartitionResult,
    ) -> None:
        row = _Row(self, result)
        self._waiting[row] = None
        self._left += 1
        if partition.topic == GROUP_METADATA_TOPIC:
            self._deps.groups.end(partition.partition, end, row.on_end)
            return
        try:
            row.append(self._deps.replicas.led(partition), end)
        except BrokerError as error:
            row.on_end(error.code)

    def awaits(self, row: "_Row") -> bool:
        """Whether anybody still wants its outcome."""
        return row in self._waiting

    def on_row(self, row: "_Row") -> None:
        """One marker has come to its end."""
        if row in self._waiting:
            del self._waiting[row]
            self._on_outcome()

    def _on_outcome(self) -> None:
        self._left -= 1
        if not self._left:
            if self._timer is not None:
                self._timer.cancel()
            self._pending.answer(WriteTxnMarkersResponse([*self._results.values()]))

    def _on_timeout(self) -> None:
        """What is not committed may be yet; a coordinator asks again."""
        for row in [*self._waiting]:
            row.on_end(ErrorCode.REQUEST_TIMED_OUT)

    def _give_up(self) -> None:
        """The connection has ended."""
        for row in self._waiting:
            row.give_up()
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()


class _Row:
    """One marker in one partition: the writer of its append, and its ticket at the leader."""

    __slots__ = ("_end_offset", "_ending", "_led", "_result", "give_up")

    def __init__(self, ending: _Ending, result: WritableTxnMarkerPartitionResult) -> None:
        self._ending = ending
        self._result = result
        self.give_up: Callable[[], None] = _nothing  # waiting for the other replicas

    def append(self, led: LeadingReplica, end: TransactionEnd) -> None:
        """To the log; a BrokerError if it may not be there."""
        self._led = led
        self._end_offset = led.append_end(end, self, 0)

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """It is in the file, or will never be."""
        del place
        if error is not None:
            self.on_end(error.code)
        elif self._ending.awaits(self):
            self.give_up = self._led.await_commit(self._end_offset, self) or _nothing

    def on_stuck(self, place: int, patience: Patience) -> None:
        """The disk hangs: the request's own time counts."""
        del place, patience

    def on_verdict(self, error: ErrorCode | None) -> None:
        """All replicas in sync have it, or it is not known whether they ever will."""
        self.on_end(error or ErrorCode.NONE)

    def on_end(self, code: ErrorCode) -> None:
        """The outcome."""
        self.give_up()
        is_ours = code in COORDINATOR_CODES
        self._result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER if is_ours else code
        self._ending.on_row(self)


def _nothing() -> None:
    """There is no waiting to end."""


def _end_of(marker: WritableTxnMarker) -> TransactionEnd:
    return TransactionEnd(
        marker.producer_id,
        marker.producer_epoch,
        EndMarker(marker.transaction_result, marker.coordinator_epoch),
        marker.transaction_version,
    )


def refuse(
    request: WriteTxnMarkersRequest, _version: int, code: ErrorCode, _text: str
) -> WriteTxnMarkersResponse:
    """The code for each partition."""
    results = []
    for marker in request.markers:
        topics = [
            WritableTxnMarkerTopicResult(
                topic.name,
                [WritableTxnMarkerPartitionResult(it, code) for it in topic.partition_indexes],
            )
            for topic in marker.topics
        ]
        results.append(WritableTxnMarkerResult(marker.producer_id, topics))
    return WriteTxnMarkersResponse(results)


API: Final = Api(
    key=27,
    versions=range(3),
    handle=handle,
    refuse=refuse,
    needs=(Whole(Operation.CLUSTER_ACTION, instead=Operation.ALTER),),  # KIP-1037
)
