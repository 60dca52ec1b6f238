"""TxnOffsetCommit (key 28), versions 0 to 5: positions that a transaction commits with its records.

They are written to `__consumer_offsets` in the producer's transaction, and are the group's from its
marker on. v2 leader epochs. v3 flexible; member, generation and instance, which fence a consumer
that a rebalance has left behind (KIP-447). v4 TRANSACTION_ABORTABLE. v5 adds the group's partition
to the transaction; before, a client has done that by AddOffsetsToTxn, and the leader looks whether
it has (KIP-890).
A partition that does not exist is refused, the others are committed.
"""

from typing import Final

from odradek.broker.access.need import Each, Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import (
    Unknown,
    go_on,
    in_slices,
    put_together,
    refuse_one,
    take_out_unknown,
)
from odradek.broker.handlers.transactions import is_asked, refusal
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.confirmations import AGAIN, Question
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.broker.slices import Steps
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.replication.errors import NotLeaderOrFollower
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ABORTABLE_SINCE: Final = 4
ADDS_SINCE: Final = 5
LOADING_SINCE: Final = 2
"""Before, producers did not expect to hear of a coordinator that loads (KAFKA-7296)."""
KINDS: Final = (
    lambda name: TxnOffsetCommitResponseTopic(name=name),
    TxnOffsetCommitResponsePartition,
)


def handle(
    services: Services, pending: PendingRequest, request: TxnOffsetCommitRequest
) -> Steps[None] | None:
    """Once what could be written is."""
    return in_slices(_steps(services, pending, request), request)


def _steps(
    services: Services, pending: PendingRequest, request: TxnOffsetCommitRequest
) -> Steps[None]:
    unknown = yield from take_out_unknown(services.cluster.image, request)

    def answer(found: list[TxnOffsetCommitResponse]) -> None:
        go_on(pending, _finish(pending, found[0] if found else TxnOffsetCommitResponse(), unknown))

    def ask(code: ErrorCode = ErrorCode.NONE) -> None:
        if code:
            answer([refuse_one(request, pending.version, _told(code, pending.version), "")])
            return
        parts = ((request.group_id, request),) if request.topics else ()
        services.groups.ask(pending, parts, answer)

    led, question = _led(services, request), _question(request, pending.version)
    if (
        led is None
        or not request.topics
        or not is_asked(services, question)
        or led.log.has_open(request.producer_id, request.producer_epoch)
    ):
        ask()
    else:
        pending.wait(led.confirm(question, ask, services.questions))


def _led(services: Services, request: TxnOffsetCommitRequest) -> LeadingReplica | None:
    """The group's partition, if this broker leads it; if not, its coordinator is elsewhere."""
    partition = services.groups.partition_of(request.group_id)
    if partition is None:
        return None
    try:
        return services.replicas.led(partition)
    except BrokerError:
        return None


def _question(request: TxnOffsetCommitRequest, version: int) -> Question:
    return Question(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        version >= ADDS_SINCE,
    )


def _told(code: ErrorCode, version: int) -> ErrorCode:
    """A client looks for its coordinator, where a leader of records asks to be sent them again."""
    if code is NotLeaderOrFollower.code:
        return ErrorCode.NOT_COORDINATOR
    if code in AGAIN:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return refusal(code, knows_abortable=version >= ABORTABLE_SINCE).code


def _finish(
    pending: PendingRequest, response: TxnOffsetCommitResponse, unknown: list[Unknown]
) -> Steps[None]:
    response.topics = yield from put_together(response.topics, unknown, KINDS)
    if pending.version < LOADING_SINCE:
        _say_not_available(response)
    pending.answer(response)


def _say_not_available(response: TxnOffsetCommitResponse) -> None:
    for topic in response.topics:
        for row in topic.partitions:
            if row.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                row.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE


API: Final = Api(
    key=28,
    versions=range(6),
    handle=handle,
    refuse=refuse_one,
    needs=(
        Whole(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id"),
        Whole(Operation.READ, ResourceType.GROUP, "group_id"),
        Each(Operation.READ, ResourceType.TOPIC, "topics", "name", "topics"),
    ),
)
