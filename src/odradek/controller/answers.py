"""What brokers answer to the controller's messages, and what follows from it.

An answer counts for the life of the broker that gave it: one of an earlier life, which comes after
the bounce, would mark replicas that are fine. A top-level error says that the broker had heard of
another controller or of a later life of its own; the tree will tell us, too.

Of the errors of single partitions four mean something: KAFKA_STORAGE_ERROR (the log dir has
failed), REPLICA_NOT_AVAILABLE (it does not lead what lacks records, which others may have),
STALE_CONTROLLER_EPOCH (it had obeyed before: the answer that said so may have been lost), and none
at all. Others are old news. That a replica has stopped says that it is deleted only if
that was asked for.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.broker_changes import ReplicaReport, on_replica_report
from odradek.controller.decisions.deletions import on_stopped
from odradek.controller.decisions.reassignments import complete_proven
from odradek.controller.events import BrokerAnswered
from odradek.controller.steps import Note, Steps
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, Incarnation
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from odradek.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from odradek.wire.messages.update_metadata import UpdateMetadataResponse

AVAILABLE: Final = frozenset({ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH})
"""A failed dir is told before any epoch is compared."""


def on_answer(context: ControllerContext, answered: BrokerAnswered) -> Steps[None]:
    """One answer of one broker."""
    broker, epoch, request, response = answered
    known = context.image.brokers.get(broker)
    if known is None or known.epoch != epoch:
        return
    assert isinstance(
        response, LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse
    ), response
    if response.error_code != ErrorCode.NONE:
        code = ErrorCode(response.error_code).name
        kind = type(response).__name__
        yield Note("controller.message_refused", {"broker": broker, "kind": kind, "code": code})
    elif isinstance(response, LeaderAndIsrResponse):
        assert isinstance(request, LeaderAndIsrRequest), request
        report = _report(context, broker, epoch, list(_rows(context, response)))
        if report.offline or broker in context.cannot_lead:
            report = report._replace(no_other_led=_led_by_no_other(broker, request))
        yield from on_replica_report(context, report)
        obeyed = {it for it in report.online if it in context.reassigning}
        if obeyed:
            yield from complete_proven(context, broker, obeyed, request.topic_states)
    elif isinstance(response, StopReplicaResponse):
        assert isinstance(request, StopReplicaRequest), request
        yield from _on_stopped(context, broker, request, response)


def _rows(
    context: ControllerContext, response: LeaderAndIsrResponse
) -> Iterable[tuple[TopicPartition, LeaderAndIsrPartitionError]]:
    """By topic ids; before version 5 by names."""
    for topic in response.topics:
        name = context.image.names.get(TopicId(bytes(topic.topic_id)))
        if name is not None:
            for row in topic.partition_errors:
                yield TopicPartition(name, row.partition_index), row
    for row in response.partition_errors:
        yield TopicPartition(row.topic_name, row.partition_index), row


def _led_by_no_other(broker: BrokerId, request: LeaderAndIsrRequest) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.topic_name, row.partition_index)
        for topic in request.topic_states
        for row in topic.partition_states
        if row.leader in {broker, NO_BROKER}
    )


def _has_joined_since(
    context: ControllerContext,
    broker: BrokerId,
    partition: TopicPartition,
    row: LeaderAndIsrPartitionError,
) -> bool:
    """Whether its log is a member as what it is now: it has caught up, and may not know it yet."""
    image = context.image.partition(partition)
    if image is None or image.state is None or not row.incarnation:
        return False
    return image.state.incarnation_of(broker) == row.incarnation


def _report(
    context: ControllerContext,
    broker: BrokerId,
    epoch: BrokerEpoch,
    rows: Sequence[tuple[TopicPartition, LeaderAndIsrPartitionError]],
) -> ReplicaReport:
    fine = [(it, row) for it, row in rows if row.error_code == ErrorCode.NONE]
    unclean = {
        it: None
        for it, row in rows
        if row.is_unclean and not _has_joined_since(context, broker, it, row)
    }
    return ReplicaReport(
        broker,
        epoch,
        offline=[it for it, row in rows if row.error_code == ErrorCode.KAFKA_STORAGE_ERROR],
        online=[it for it, row in rows if row.error_code in AVAILABLE],
        unclean=list(unclean),
        whole=[it for it, _ in fine if it not in unclean],
        incarnations={it: Incarnation(row.incarnation) for it, row in rows if row.incarnation},
        leading=[it for it, row in rows if row.is_leading],
        refused=frozenset(
            it for it, row in rows if row.error_code == ErrorCode.REPLICA_NOT_AVAILABLE
        ),
    )


def _on_stopped(
    context: ControllerContext,
    broker: BrokerId,
    request: StopReplicaRequest,
    response: StopReplicaResponse,
) -> Steps[None]:
    asked = frozenset(_to_delete(context, request))
    rows = [
        (TopicPartition(row.topic_name, row.partition_index), row.error_code)
        for row in response.partition_errors
    ]
    deleted = [it for it, code in rows if code == ErrorCode.NONE and it in asked]
    failed = [it for it, code in rows if code != ErrorCode.NONE and it in asked]
    yield from on_stopped(context, broker, deleted, failed)


def _to_delete(context: ControllerContext, request: StopReplicaRequest) -> Iterable[TopicPartition]:
    """Of topics that are being deleted; a replica of an earlier topic of the name is another."""
    for topic in request.topic_states:
        known = context.image.topics.get(topic.topic_name)
        if known is None or topic.topic_name not in context.deletions:
            continue
        if bytes(topic.topic_id) == (known.topic_id or NO_TOPIC_ID):
            for row in topic.partition_states:
                if row.delete_partition:
                    yield TopicPartition(topic.topic_name, row.partition_index)
