"""Produce (key 0), versions 0 to 12.

Appends batches to partitions that this broker leads. With acks=0 there is no answer; with acks=1
it comes once the batches are in the file; with acks=-1 once every member of the in-sync set has
them, or with REQUEST_TIMED_OUT when the producer's time is over. Each partition of a request
succeeds or fails by itself.
v0 to v2 message sets from before Kafka 0.11, made into batches. v3 record batches, transactional
ids. v5 log start offset. v7 zstd. v8 error messages, and which records a batch is refused for
(KIP-467). v9 flexible. v10 where the leader is, when it is not here (KIP-951).
v11 TRANSACTION_ABORTABLE. v12 adds the partition to its transaction; before, a client has added it,
and the leader looks whether it has (KIP-890). A batch is taken or refused as a whole.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from odradek.broker.access.need import Each, Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.produce_one import ALL, mark, mark_rejected, quick
from odradek.broker.handlers.transactions import (
    ABORTABLE_SINCE,
    check_begins,
    question_of,
    refusal,
)
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.partitions.replicas.confirmations import Question
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.produce_rules import UNPACKED_BYTES_MAX
from odradek.broker.partitions.replicas.replica import Patience
from odradek.broker.services import Services
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, at_once, dropped
from odradek.broker.timers import Timer
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode, InvalidRecord
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import INTERNAL_TOPICS
from odradek.model.positions import Offset
from odradek.model.units import Millis, Timestamp
from odradek.records.batch import TRANSACTIONAL_BIT, BatchHeader
from odradek.records.legacy import convert_up, is_legacy
from odradek.wire.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.wire.schema import Response

NONE: Final = 0
ACKS: Final = (ALL, NONE, 1)
LEADER_SINCE: Final = 10
BATCHES_SINCE: Final = 3

Admitted: TypeAlias = tuple[bytearray | memoryview, BatchHeader, Timestamp]
"""A batch as it is to be appended, its header, and the time that it was given."""


class InvalidRequiredAcks(BrokerError):
    """Neither all, nor one, nor none."""

    code = ErrorCode.INVALID_REQUIRED_ACKS


class InternalTopic(BrokerError):
    """Its records are what coordinators remember; only they write them."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


def handle(
    services: Services, pending: PendingRequest, request: ProduceRequest
) -> Steps[None] | None:
    """Appends each batch, and answers when the slowest is done."""
    if request.acks not in ACKS:
        raise InvalidRequiredAcks(f"acks={request.acks}; -1, 0 and 1 are served")
    steps = _Production(services, pending, request).begin()
    if sum(len(topic.partition_data) for topic in request.topic_data) > ROWS_IN_A_SLICE:
        return steps
    at_once(steps)
    return None


class _Production:
    """One request and what has become of its batches. It is the writer of each of them."""

    __slots__ = (
        "_is_answered",
        "_is_begun",
        "_is_late",
        "_is_stuck",
        "_left",
        "_parts",
        "_pending",
        "_request",
        "_response",
        "_services",
        "_timer",
        "_unconfirmed",
        "_waiting",
    )

    def __init__(
        self, services: Services, pending: PendingRequest, request: ProduceRequest
    ) -> None:
        self._services = services
        self._pending = pending
        self._request = request
        self._parts: list[
            tuple[LeadingReplica, Offset, PartitionProduceResponse, BatchHeader]
        ] = []  # that were appended
        self._response = ProduceResponse()
        self._left = 1  # of these, without an outcome; and one more until all were looked at
        self._is_begun = False  # all were
        self._is_late = False  # the time was over before
        self._is_answered = False  # the time was over before all were written
        self._is_stuck = False  # a disk hangs
        self._timer: Timer | None = None
        self._waiting: list[Callable[[], None]] = []  # how to give up waiting
        self._unconfirmed: dict[_Unconfirmed, None] = {}  # for a coordinator's word

    def begin(self) -> Steps[None]:
        """Appends all that can be, and answers at once if nothing was."""
        responses, failed, seen = [], False, 0
        for topic in self._request.topic_data:
            rows = []
            for data in topic.partition_data:
                seen += 1
                if not seen % ROWS_IN_A_SLICE:
                    yield
                row = PartitionProduceResponse(data.index)
                rows.append(row)
                partition = TopicPartition(topic.name, data.index)
                try:
                    self._append(partition, data, row)
                except BrokerError as error:
                    failed = True
                    self._reject(partition, data.records, row, error)
            responses.append(TopicProduceResponse(topic.name, partition_responses=rows))
        if self._request.acks == NONE:
            self._end_unheard(failed=failed)
            return
        self._response = ProduceResponse(responses)
        self._is_begun = True
        if self._is_late:
            self._on_timeout()
        else:
            self.on_outcome()
        if seen > ROWS_IN_A_SLICE:
            yield from dropped(self._request)

    def _append(
        self, partition: TopicPartition, data: PartitionProduceData, row: PartitionProduceResponse
    ) -> None:
        if partition.topic in INTERNAL_TOPICS:
            raise InternalTopic(f"{partition.topic} is internal: only coordinators write to it")
        led = self._services.replicas.led(partition)
        if self._request.acks == ALL:
            led.leader.check_enough_replicas()
        if not data.records:
            raise InvalidRecord("no batch")
        assert isinstance(data.records, memoryview), "a decoder gives views into the frame"
        now = self._services.doors.clock.wall()
        records, version = data.records, self._pending.version
        if version < BATCHES_SINCE:
            if not is_legacy(records):
                raise InvalidRecord(f"no message set in version {version}")
            records = memoryview(convert_up(records, limit=UNPACKED_BYTES_MAX))
        batch, header, stamp = led.produce_rules.admit(records, version, now)
        if self._pending.connection.refused:
            self._pending.connection.refused.check(partition, header)
        if header.attributes & TRANSACTIONAL_BIT or self._request.transactional_id is not None:
            if self._request.acks == NONE:
                raise InvalidRequiredAcks("acks=0 within a transaction")
            transactional_id, version = self._request.transactional_id, self._pending.version
            question = question_of(self._services, led, transactional_id, header, version=version)
            if question is not None:
                self._confirm(question, _Unconfirmed(self, led, (batch, header, stamp), row))
                return
        self._take(led, (batch, header, stamp), row)

    def _confirm(self, question: Question, batch: "_Unconfirmed") -> None:
        self._unconfirmed[batch] = None
        self._left += 1
        give_up = batch.led.confirm_batch(
            batch.header, question, batch.on_answer, self._services.questions
        )
        self._wait(give_up)

    def on_confirmed(self, batch: "_Unconfirmed", code: ErrorCode) -> None:
        """A coordinator has answered, or there was no answer in time."""
        del self._unconfirmed[batch]
        version = self._pending.version
        try:
            if code:
                raise refusal(code, knows_abortable=version >= ABORTABLE_SINCE)
            check_begins(batch.led, batch.header, version=version)
            if self._request.acks == ALL:
                batch.led.leader.check_enough_replicas()
            self._take(batch.led, batch.batch, batch.row)
        except BrokerError as error:
            self._reject(batch.led.partition, batch.batch[0], batch.row, error)
        self.on_outcome()

    def _reject(
        self,
        partition: TopicPartition,
        records: object,
        row: PartitionProduceResponse,
        error: BrokerError,
    ) -> None:
        """Nothing of the batch is appended."""
        self._services.replicas.traffics.refused.failed_produces += 1
        self._pending.connection.refused.note(partition, records, error)
        mark_rejected(row, error, self._pending.version)

    def _take(self, led: LeadingReplica, admitted: Admitted, row: PartitionProduceResponse) -> None:
        batch, header, stamp = admitted
        now = self._services.doors.clock.wall()
        appended = led.append(batch, header, self, len(self._parts), now=now)
        row.base_offset = appended.base_offset
        row.log_append_time_ms = stamp
        row.log_start_offset = led.log.log_start_offset
        self._parts.append((led, Offset(appended.last_offset + 1), row, header))
        self._left += 1
        traffic = led.traffic
        traffic.produces += 1
        traffic.messages_in += header.record_count
        traffic.bytes_in += header.size

    # What comes of it

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """One batch is in the file, or will never be."""
        led, end_offset, row, header = self._parts[place]
        if error is not None:
            self._pending.connection.refused.note_unwritten(led.partition, header, error)
            mark_rejected(row, error, self._pending.version)
        elif self._request.acks == ALL:
            give_up = led.await_commit(end_offset, _Commit(self, row))
            if give_up is not None:
                self._wait(give_up)
            return
        self.on_outcome()

    def on_stuck(self, place: int, patience: Patience) -> None:
        """The producer's time counts, although nothing is written."""
        del place
        if not self._is_stuck and self._request.acks != NONE:
            self._is_stuck = True
            patience.after(Millis(max(self._request.timeout_ms, 0)), self._on_timeout)

    def on_outcome(self, row: PartitionProduceResponse | None = None, code: int = 0) -> None:
        """One batch has come to its end."""
        if row is not None and code:
            mark(row, ErrorCode(code), ErrorCode(code).sentence, self._pending.version)
        self._left -= 1
        if not self._left and self._request.acks != NONE:
            self._answer()

    def _wait(self, give_up: Callable[[], None]) -> None:
        """For others, until the producer's patience ends."""
        self._waiting.append(give_up)
        if self._timer is None:
            pause = Millis(max(self._request.timeout_ms, 0))
            self._timer = self._services.timers.after(pause, self._on_timeout)
            self._pending.wait(self._give_up)

    def _on_timeout(self) -> None:
        """What is not committed may be yet; who asked does not wait for it any longer."""
        if not self._is_begun:
            self._is_late = True
            return
        if self._is_answered:
            return
        self._give_up()
        is_replicated, code = self._request.acks == ALL, ErrorCode.REQUEST_TIMED_OUT
        for led, end_offset, row, _ in self._parts:
            reached = led.leader.high_watermark if is_replicated else led.log.log_end_offset
            if not row.error_code and end_offset > reached:
                mark(row, code, code.sentence, self._pending.version)
        for batch in self._unconfirmed:
            mark(batch.row, code, code.sentence, self._pending.version)
        self._answer()

    def _give_up(self) -> None:
        for give_up in self._waiting:
            give_up()
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _answer(self) -> None:
        if self._is_answered:
            return
        self._is_answered = True
        if self._timer is not None:
            self._timer.cancel()
        if self._pending.version >= LEADER_SINCE:
            client = self._pending.connection
            self._pending.rewrite = partial(_name_leaders, self._services, client)
        self._pending.answer(self._response)

    def _end_unheard(self, *, failed: bool) -> None:
        """A producer that wants no answer learns of a failure by the end of its connection."""
        if failed:
            self._pending.connection.hang_up("an append with acks=0 has failed")
        else:
            self._pending.answer_nothing()


class _Unconfirmed:
    """A batch that is taken once a coordinator has confirmed its transaction."""

    __slots__ = ("_production", "batch", "led", "row")

    def __init__(
        self,
        production: _Production,
        led: LeadingReplica,
        batch: Admitted,
        row: PartitionProduceResponse,
    ) -> None:
        self._production = production
        self.led = led
        self.batch = batch
        self.row = row

    @property
    def header(self) -> BatchHeader:
        """The batch's."""
        return self.batch[1]

    def on_answer(self, code: ErrorCode) -> None:
        """Of the coordinator."""
        self._production.on_confirmed(self, code)


class _Commit:
    """Waits for one batch to be committed: a ticket at the leader."""

    __slots__ = ("_production", "_row")

    def __init__(self, production: _Production, row: PartitionProduceResponse) -> None:
        self._production = production
        self._row = row

    def on_verdict(self, error: ErrorCode | None) -> None:
        """The leader has decided."""
        self._production.on_outcome(self._row, error or ErrorCode.NONE)


def _name_leaders(services: Services, client: Client, response: Response) -> Steps[None]:
    """Where this broker does not lead, so that the producer needs not ask (KIP-951)."""
    assert isinstance(response, ProduceResponse)
    image, leaders = services.cluster.image, dict[BrokerId, None]()
    seen = 0
    for topic in response.responses:
        for row in topic.partition_responses:
            seen += 1
            if not seen % ROWS_IN_A_SLICE:
                yield
            if row.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                continue
            known = image.partition(TopicPartition(topic.name, row.index))
            state = None if known is None else known.state
            if state is None or state.leader is None or state.leader == services.broker_id:
                continue
            row.current_leader = LeaderIdAndEpoch(state.leader, state.leader_epoch)
            leaders[state.leader] = None
    nodes = []
    for leader in leaders:
        broker = image.brokers.get(leader)
        at = (
            None if broker is None else services.socket_server.endpoint(client, broker, is_me=False)
        )
        if broker is not None and at is not None:
            nodes.append(NodeEndpoint(broker.id, at.host, at.port, broker.rack))
    response.node_endpoints = nodes


def refuse(
    request: ProduceRequest, version: int, code: ErrorCode, message: str
) -> ProduceResponse | None:
    """Every partition of the request, with the code."""
    if request.acks == NONE:
        return None
    responses = []
    for topic in request.topic_data:
        rows = [PartitionProduceResponse(data.index) for data in topic.partition_data]
        for row in rows:
            mark(row, code, message, version)
        responses.append(TopicProduceResponse(topic.name, partition_responses=rows))
    return ProduceResponse(responses)


API: Final = Api(
    key=0,
    versions=range(13),
    handle=handle,
    refuse=refuse,
    needs=(
        Whole(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id"),
        Each(Operation.WRITE, ResourceType.TOPIC, "topic_data", "name", "responses"),
    ),
    quick=quick,
    quick_from=BATCHES_SINCE,
)
