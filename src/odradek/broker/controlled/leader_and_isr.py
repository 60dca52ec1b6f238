"""LeaderAndIsr becomes roles of the replicas that this broker hosts."""

from collections.abc import Awaitable
from itertools import islice

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.broker.partitions.roles import RoleChanges
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, in_turns
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import Incarnation, LeaderEpoch, PartitionEpoch
from odradek.replication.leadership import Leadership
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)


def refuse(
    _request: LeaderAndIsrRequest, _version: int, code: ErrorCode, _text: str
) -> LeaderAndIsrResponse:
    """The whole request."""
    return LeaderAndIsrResponse(error_code=code)


def apply(
    replicas: ReplicaManager, request: LeaderAndIsrRequest
) -> Steps[Awaitable[LeaderAndIsrResponse]]:
    """Begins and ends leaderships, some in each step; the answer waits for the disks.

    Another request of a controller is carried out before the first step, or behind the last.
    """
    rows = (
        _state(topic, state) for topic in request.topic_states for state in topic.partition_states
    )
    changes = RoleChanges()
    while states := list(islice(rows, ROWS_IN_A_SLICE)):
        replicas.change_roles(states, changes)
        yield
    return _answer(request, replicas, changes)


async def _answer(
    request: LeaderAndIsrRequest, replicas: ReplicaManager, changes: RoleChanges
) -> LeaderAndIsrResponse:
    errors = await replicas.changed(changes)
    return await in_turns(_told(request, replicas, errors))


def _told(
    request: LeaderAndIsrRequest,
    replicas: ReplicaManager,
    errors: dict[TopicPartition, ErrorCode],
) -> Steps[LeaderAndIsrResponse]:
    topics, count = [], 0
    for topic in request.topic_states:
        rows: list[LeaderAndIsrPartitionError] = []
        for state in topic.partition_states:
            rows.append(_outcome(topic, state, replicas, errors))
            count += 1
            if not count % ROWS_IN_A_SLICE:
                yield
        topics.append(LeaderAndIsrTopicError(topic.topic_id, rows))
    return LeaderAndIsrResponse(topics=topics)


def _state(topic: LeaderAndIsrTopicState, state: LeaderAndIsrPartitionState) -> LeaderAndIsrState:
    leadership = Leadership(
        LeaderEpoch(state.leader_epoch),
        PartitionEpoch(state.partition_epoch),
        tuple(map(BrokerId, state.replicas)),
        tuple(map(BrokerId, state.isr)),
        state.eligible_min_isr,
        tuple((BrokerId(it.broker_id), Incarnation(it.incarnation)) for it in state.incarnations),
        tuple(map(BrokerId, state.adding_replicas)),
        tuple(map(BrokerId, state.eligible)),
    )
    return LeaderAndIsrState(
        TopicPartition(topic.topic_name, state.partition_index),
        TopicId(bytes(topic.topic_id)),
        BrokerId(state.leader) if state.leader >= 0 else None,
        leadership,
        is_new=state.is_new,
        must_be_whole=state.must_be_whole,
        removing=tuple(map(BrokerId, state.removing_replicas)),
    )


def _outcome(
    topic: LeaderAndIsrTopicState,
    state: LeaderAndIsrPartitionState,
    replicas: ReplicaManager,
    errors: dict[TopicPartition, ErrorCode],
) -> LeaderAndIsrPartitionError:
    partition = TopicPartition(topic.topic_name, state.partition_index)
    return LeaderAndIsrPartitionError(
        partition_index=state.partition_index,
        error_code=errors.get(partition, ErrorCode.NONE),
        is_unclean=replicas.is_unclean(partition),
        incarnation=replicas.incarnation(partition),
        is_leading=replicas.is_leading(partition),
    )
