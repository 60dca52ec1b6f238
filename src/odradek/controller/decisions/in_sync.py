"""AlterPartition: a leader asks for another ISR (KIP-497, KIP-841, KIP-903).

What is checked, in this order: is the sender the broker that it says it is, in this life; is it
ahead of us or behind; does it lead; may the members be members. Errors of version come before
errors of contents, because a leader may work on an old state. A change that stands there already
is accepted again without a write: its first answer was lost. A leader that is ahead of us has had
a state that is not in the tree any more: somebody has put an earlier one back, or the tree itself
is one of before. It would be refused for ever, so both begin another leader epoch.

Kafka lets any broker propose any ISR if only the epochs fit. Here the sender must lead, and the
ISR must hold it, and replicas of the partition alone.
"""

from collections.abc import Mapping
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.elections import change_states, put_off, send
from odradek.controller.decisions.reassignments import advance
from odradek.controller.guarded_writes import StateWrite
from odradek.controller.leaders import same_leader, with_eligible
from odradek.controller.steps import StatesWritten, Steps, write_states
from odradek.metadata.image import PartitionImage
from odradek.metadata.nouns import PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_BROKER, BrokerId, TopicId, TopicPartition
from odradek.model.positions import FIRST_INCARNATION, Incarnation, LeaderEpoch, PartitionEpoch
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)

IDS_SINCE: Final = 2
EPOCHS_SINCE: Final = 3

Epochs = tuple[int, int]
"""Leader epoch and partition epoch."""

Proposed = tuple[PartitionState, bool]
"""The state as it shall become, and whether it stands there already."""


def on_alter_partition(
    context: ControllerContext, request: AlterPartitionRequest, version: int
) -> Steps[AlterPartitionResponse]:
    """All partitions of a request are judged, then written together."""
    sender = context.image.brokers.get(BrokerId(request.broker_id))
    if sender is None or sender.epoch != request.broker_epoch:
        return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    judged: dict[TopicPartition, Proposed | ErrorCode] = {}
    writes: list[StateWrite] = []
    named: dict[TopicPartition, Epochs] = {}  # what the leader believes to be current
    ahead: dict[TopicPartition, LeaderEpoch] = {}  # where that is more than the tree has
    for topic in request.topics:
        name = _name(context, topic, version)
        for row in topic.partitions:
            partition = TopicPartition(name or "", row.partition_index)
            verdict: Proposed | ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID
            if name is not None:
                verdict = _judge(context, partition, row, (sender.id, version))
            judged[partition] = verdict
            if isinstance(verdict, tuple) and not verdict[1]:
                writes.append(StateWrite(partition, verdict[0]))
                named[partition] = row.leader_epoch, row.partition_epoch
            elif verdict is ErrorCode.NOT_CONTROLLER:
                ahead[partition] = LeaderEpoch(row.leader_epoch)
    outcome = (yield from write_states(writes)) if writes else StatesWritten()
    context.set_states({it.partition: it.state for it in outcome.written})
    context.on_conflicts(outcome.conflicts)
    for write in outcome.written:
        _on_members(context, write)
    yield from put_off(context, outcome.failed)
    context.batch.add_update(judged)
    yield from send(context)
    for partition, found in outcome.conflicts.items():
        if (found.leader_epoch, found.partition_epoch) < named[partition]:
            ahead[partition] = LeaderEpoch(named[partition][0])
    lost = dict.fromkeys(outcome.conflicts, ErrorCode.INVALID_UPDATE_VERSION)
    undone = dict.fromkeys(outcome.failed, ErrorCode.UNKNOWN_SERVER_ERROR)  # it asks again
    verdicts = judged | lost | undone
    response = AlterPartitionResponse(
        topics=[_answer(context, topic, version, verdicts) for topic in request.topics]
    )
    for write in outcome.written:
        yield from advance(context, write.partition)
    yield from _catch_up(context, sender.id, ahead)
    return response


def _catch_up(
    context: ControllerContext, leader: BrokerId, ahead: Mapping[TopicPartition, LeaderEpoch]
) -> Steps[None]:
    """Another epoch of leaders that are ahead, unless the tree has a later state than we know."""

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        state = image.state
        if state is None or state.leader != leader or state.leader_epoch > ahead[partition]:
            return None
        behind = state._replace(leader_epoch=ahead[partition])
        return StateWrite(partition, same_leader(behind, context.lease.epoch))

    yield from change_states(context, ahead, rule)


def _name(context: ControllerContext, topic: RequestTopicData, version: int) -> str | None:
    if version >= IDS_SINCE:
        return context.image.names.get(TopicId(bytes(topic.topic_id)))
    return topic.topic_name


def _judge(
    context: ControllerContext,
    partition: TopicPartition,
    row: RequestPartitionData,
    sender: tuple[BrokerId, int],
) -> Proposed | ErrorCode:
    leader, version = sender
    image = context.image.partition(partition)
    if image is None or image.state is None or context.is_deleting(partition.topic):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    state = image.state
    if row.leader_epoch > state.leader_epoch or row.partition_epoch > state.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # this controller is behind
    if row.leader_epoch < state.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    isr = _members(row, version)
    recovering = bool(row.leader_recovery_state)
    seen = _incarnations(context, (partition, state), row, sender)
    wanted = state._replace(isr=isr, recovering=recovering, incarnations=_with(state, isr, seen))
    is_same = set(isr) == set(state.isr) and wanted.incarnations == state.incarnations
    if is_same and recovering == state.recovering and leader == state.leader:
        return state, True
    if row.partition_epoch < state.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if leader != state.leader:
        return ErrorCode.INVALID_REQUEST
    if (recovering and (len(isr) > 1 or not state.recovering)) or leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if not set(isr) <= set(image.assignment.replicas):
        return ErrorCode.INVALID_REQUEST
    if not _may_be_members(context, context.online(image), isr, _epochs(row, version)):
        since_841 = version >= IDS_SINCE
        return ErrorCode.INELIGIBLE_REPLICA if since_841 else ErrorCode.OPERATION_NOT_ATTEMPTED
    if not _are_these_logs(context, partition, isr, seen):
        return ErrorCode.INELIGIBLE_REPLICA
    after = wanted._replace(
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        controller_epoch=context.lease.epoch,
    )
    return with_eligible(after, state, context.terms(partition, image)), False


def _members(row: RequestPartitionData, version: int) -> tuple[BrokerId, ...]:
    if version >= EPOCHS_SINCE:
        return tuple(dict.fromkeys(BrokerId(it.broker_id) for it in row.new_isr_with_epochs))
    return tuple(dict.fromkeys(map(BrokerId, row.new_isr)))


def _epochs(row: RequestPartitionData, version: int) -> dict[BrokerId, int]:
    if version < EPOCHS_SINCE:
        return {}
    return {BrokerId(it.broker_id): it.broker_epoch for it in row.new_isr_with_epochs}


def _may_be_members(
    context: ControllerContext,
    online: frozenset[BrokerId],
    isr: tuple[BrokerId, ...],
    epochs: Mapping[BrokerId, int],
) -> bool:
    """Alive, on a disk that serves, and in the very life in which the leader saw them catch up."""
    for broker in isr:
        if broker not in online:
            return False
        seen = epochs.get(broker, -1)
        if seen >= 0 and seen != context.image.brokers[broker].epoch:
            return False
    return True


def _incarnations(
    context: ControllerContext,
    of: tuple[TopicPartition, PartitionState],
    row: RequestPartitionData,
    sender: tuple[BrokerId, int],
) -> dict[BrokerId, Incarnation]:
    """As which the leader saw their logs; a broker of Kafka does not know."""
    (leader, version), (partition, state) = sender, of
    if version >= EPOCHS_SINCE and context.image.brokers[leader].mark is not None:
        rows = row.new_isr_with_epochs
        return {BrokerId(it.broker_id): Incarnation(it.incarnation) for it in rows}
    known = context.incarnations
    return {
        it: known.get(it, {}).get(partition, state.incarnation_of(it))
        for it in _members(row, version)
    }


def _with(
    state: PartitionState, isr: tuple[BrokerId, ...], seen: Mapping[BrokerId, Incarnation]
) -> tuple[tuple[BrokerId, Incarnation], ...]:
    """Those of the others stay as they are."""
    found = {broker: number for broker, number in state.incarnations if broker not in isr}
    found |= {broker: seen[broker] for broker in isr if seen.get(broker, FIRST_INCARNATION)}
    return tuple(sorted(found.items()))


def _are_these_logs(
    context: ControllerContext,
    partition: TopicPartition,
    isr: tuple[BrokerId, ...],
    seen: Mapping[BrokerId, Incarnation],
) -> bool:
    """Whether they have lost nothing since the leader saw them, as far as they have said.

    One that may say something else by now is asked again.
    """
    others = [
        broker
        for broker in isr
        if partition in context.incarnations.get(broker, ())
        and context.incarnations[broker][partition] != seen.get(broker, FIRST_INCARNATION)
    ]
    image = context.image.partition(partition)
    assert image is not None, partition
    for broker in others:
        context.tell_one(broker, partition, image)
    return not others


def _on_members(context: ControllerContext, write: StateWrite) -> None:
    """Who has caught up has everything again, whatever its log had lost."""
    for broker in write.state.isr:
        logs = context.unclean_logs.get(broker)
        if logs is not None and write.partition in logs:
            del logs[write.partition]
            if not logs:
                del context.unclean_logs[broker]


def _answer(
    context: ControllerContext,
    topic: RequestTopicData,
    version: int,
    verdicts: Mapping[TopicPartition, Proposed | ErrorCode],
) -> ResponseTopicData:
    name = _name(context, topic, version) or ""
    rows = []
    for row in topic.partitions:
        partition = TopicPartition(name, row.partition_index)
        verdict = verdicts[partition]
        image = context.image.partition(partition)
        if isinstance(verdict, ErrorCode) or image is None or image.state is None:
            code = verdict if isinstance(verdict, ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
            rows.append(ResponsePartitionData(row.partition_index, code))
            continue
        state = image.state
        rows.append(
            ResponsePartitionData(
                partition_index=row.partition_index,
                leader_id=NO_BROKER if state.leader is None else state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                leader_recovery_state=int(state.recovering),
                partition_epoch=state.partition_epoch,
                eligible_min_isr=state.eligible_min_isr,
                eligible=state.eligible,
            )
        )
    return ResponseTopicData(topic.topic_name, topic.topic_id, rows)
