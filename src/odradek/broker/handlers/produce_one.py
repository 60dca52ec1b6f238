"""Produce of one batch to one partition: the commonest request, served with the least work.

It is decoded by hand (ADR 12), appended in the turn in which it came, and answered by hand once it
is written, or with acks=all once this leader, if it still leads, says that it is committed: with
one replica as with three, for there may be others by then. Everything else goes the general way
(`produce`).
"""

from collections.abc import Callable
from typing import Final

from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.replica import Patience
from odradek.broker.services import Services
from odradek.broker.timers import Timer, Timers
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode, RejectedBatch
from odradek.model.ids import TopicPartition
from odradek.model.names import INTERNAL_TOPICS
from odradek.model.positions import Offset
from odradek.model.units import Millis
from odradek.records.batch import TRANSACTIONAL_BIT, BatchHeader
from odradek.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.wire.quick import one_batch_answer, read_one_batch

ALL: Final = -1
WRITTEN: Final = (ALL, 1)
MESSAGE_SINCE: Final = 8


def quick(services: Services, pending: PendingRequest, frame: bytearray, at: int) -> bool:
    """One batch for one partition: the least that can be done."""
    found = read_one_batch(frame, at, pending.version)
    if found is None:
        return False
    acks, timeout_ms, name, number, records = found
    led = services.replicas.find_led((name, number))
    if led is None or acks not in WRITTEN or led.partition.topic in INTERNAL_TOPICS:
        return False
    access, topic = services.access, led.partition.topic
    if access is not None and not access.may(
        pending.connection, Operation.WRITE, ResourceType.TOPIC, topic
    ):
        return False
    try:
        now = services.doors.clock.wall()
        if acks == ALL:
            led.leader.check_enough_replicas()
        batch, header, stamp = led.produce_rules.admit(records, pending.version, now)
        if header.attributes & TRANSACTIONAL_BIT:
            return False
        if pending.connection.refused:
            pending.connection.refused.check(led.partition, header)
        if acks == ALL:
            one: _One = _OneCommitted(
                pending, (name, number), timeout_ms, led=led, timers=services.timers
            )
        else:
            one = _One(pending, (name, number), timeout_ms)
        one.header = header
        appended = led.append(batch, header, one, 0, now=now)
        one.where = (appended.base_offset, stamp, led.log.log_start_offset)
        one.end_offset = Offset(appended.last_offset + 1)
    except BrokerError as error:
        services.replicas.traffics.refused.failed_produces += 1
        pending.connection.refused.note(led.partition, records, error)
        _reject_one(pending, (name, number), error)
        return True
    traffic = led.traffic
    traffic.produces += 1
    traffic.messages_in += header.record_count
    traffic.bytes_in += header.size
    return True


class _One:
    """A single batch, answered once it is in the file."""

    __slots__ = ("about", "end_offset", "header", "is_answered", "pending", "timeout_ms", "where")

    header: BatchHeader
    where: tuple[int, int, int]  # its base offset, its append time, and where the log begins
    end_offset: Offset

    def __init__(self, pending: PendingRequest, about: tuple[bytes, int], timeout_ms: int) -> None:
        self.pending = pending
        self.about = about  # the topic's name and the partition's number
        self.timeout_ms = timeout_ms
        self.is_answered = False  # before it was written: the disk hangs

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """It is in the file, or will never be."""
        del place
        if error is not None:
            partition = TopicPartition(self.about[0].decode(), self.about[1])
            self.pending.connection.refused.note_unwritten(partition, self.header, error)
        if self.is_answered:
            return
        if error is not None:
            self.is_answered = True
            _reject_one(self.pending, self.about, error)
        else:
            self.answer()

    def on_stuck(self, place: int, patience: Patience) -> None:
        """The producer's time counts, although nothing is written."""
        del place
        patience.after(Millis(max(self.timeout_ms, 0)), self._on_still_stuck)

    def _on_still_stuck(self) -> None:
        if not self.is_answered:
            self.is_answered = True
            code = ErrorCode.REQUEST_TIMED_OUT
            _refuse_one(self.pending, self.about, code, code.sentence)

    def answer(self) -> None:
        """All went well."""
        self.is_answered = True
        pending = self.pending
        version, number = pending.version, pending.correlation_id
        pending.send([one_batch_answer(version, number, self.about, self.where)])


class _OneCommitted(_One):
    """A single batch, answered once every member of the in-sync set has it."""

    __slots__ = ("_give_up", "_led", "_timer", "_timers")

    def __init__(  # it does what the other does: a call for each request
        self,
        pending: PendingRequest,
        about: tuple[bytes, int],
        timeout_ms: int,
        *,
        led: LeadingReplica,
        timers: Timers,
    ) -> None:
        self.pending = pending
        self.about = about
        self.timeout_ms = timeout_ms
        self.is_answered = False
        self._led = led
        self._timers = timers
        self._give_up: Callable[[], None] | None = None
        self._timer: Timer | None = None

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """The other replicas, if there are any, fetch it now."""
        if error is not None or self.is_answered:
            super().on_written(place, error)
            return
        self._give_up = self._led.await_commit(self.end_offset, self)
        if self._give_up is not None:
            pause = Millis(max(self.timeout_ms, 0))
            self._timer = self._timers.after(pause, self._on_timeout)
            self.pending.wait(self._stop_waiting)

    def on_verdict(self, error: ErrorCode | None) -> None:
        """They have it, or it is not known whether they ever will."""
        if self._timer is not None:
            self._timer.cancel()
        if error is None:
            self.answer()
        else:
            self.is_answered = True
            _refuse_one(self.pending, self.about, error, error.sentence)

    def _on_still_stuck(self) -> None:
        if not self.is_answered:
            self._on_timeout()

    def _on_timeout(self) -> None:
        """It may be committed yet, but the producer does not wait for it any longer."""
        self.is_answered = True
        self._stop_waiting()
        code = ErrorCode.REQUEST_TIMED_OUT
        _refuse_one(self.pending, self.about, code, code.sentence)

    def _stop_waiting(self) -> None:
        if self._give_up is not None:
            self._give_up()
        if self._timer is not None:
            self._timer.cancel()


def _refuse_one(
    pending: PendingRequest, about: tuple[bytes, int], code: ErrorCode, text: str
) -> None:
    row = PartitionProduceResponse(about[1])
    mark(row, code, text, pending.version)
    _answer_one(pending, about[0], row)


def _reject_one(pending: PendingRequest, about: tuple[bytes, int], error: BrokerError) -> None:
    row = PartitionProduceResponse(about[1])
    mark_rejected(row, error, pending.version)
    _answer_one(pending, about[0], row)


def _answer_one(pending: PendingRequest, name: bytes, row: PartitionProduceResponse) -> None:
    topic = TopicProduceResponse(name.decode(), partition_responses=[row])
    pending.answer(ProduceResponse([topic]))


def mark_rejected(row: PartitionProduceResponse, error: BrokerError, version: int) -> None:
    """This partition's batch was not taken, perhaps for some of its records alone."""
    mark(row, error.code, str(error), version)
    if version >= MESSAGE_SINCE and isinstance(error, RejectedBatch):
        row.record_errors = [
            BatchIndexAndErrorMessage(place, text) for place, text in error.records.items()
        ]


def mark(row: PartitionProduceResponse, code: ErrorCode, text: str, version: int) -> None:
    """This partition's batch was not taken."""
    row.error_code = code
    row.base_offset = row.log_append_time_ms = row.log_start_offset = -1
    if version >= MESSAGE_SINCE:
        row.error_message = text
