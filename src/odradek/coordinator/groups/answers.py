"""Responses: what a member is told when all went well, and the form of every refusal."""

from typing import Any

from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.members import Member
from odradek.coordinator.groups.requests import DeleteGroup, DescribeGroup, FetchOffsets
from odradek.model.errors import ErrorCode
from odradek.wire.messages.delete_groups import DeletableGroupResult
from odradek.wire.messages.describe_groups import DescribedGroup
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from odradek.wire.messages.offset_fetch import OffsetFetchResponseGroup
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.wire.schema import Struct


def joined(
    group: Group, member: Member, *, leader: str | None = None, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The generation that the member is in. Its leader learns who else is.

    Another leader is named to a process that took over the leader's place and shall assign nothing.
    """
    leader = group.leader if leader is None else leader
    assert leader is not None, group.id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=leader,
        skip_assignment=skip_assignment,
        member_id=member.id,
        members=[
            JoinGroupResponseMember(one.id, one.instance_id, one.metadata(group.protocol))
            for one in group.members.values()
        ]
        if leader == member.id
        else [],
    )


def join_refused(code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """No generation; with MEMBER_ID_REQUIRED, the id to come back with."""
    return JoinGroupResponse(error_code=code, member_id=member_id)


def synced(group: Group, member: Member) -> SyncGroupResponse:
    """The member's share."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        assignment=member.assignment,
    )


def sync_refused(code: ErrorCode) -> SyncGroupResponse:
    """No share."""
    return SyncGroupResponse(error_code=code)


def refusal(request: Any, code: ErrorCode) -> Struct:
    """The response to this request that says nothing but the code."""
    match request:
        case JoinGroupRequest():
            unknown = code is ErrorCode.GROUP_MAX_SIZE_REACHED
            return join_refused(code, "" if unknown else request.member_id)
        case SyncGroupRequest():
            return sync_refused(code)
        case HeartbeatRequest():
            # A coordinator that still loads cannot know better: the member shall go on.
            loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return HeartbeatResponse(error_code=ErrorCode.NONE if loading else code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case OffsetCommitRequest():
            return _commit_refused(request, code)
        case TxnOffsetCommitRequest():
            return _transactional_commit_refused(request, code)
        case FetchOffsets():
            return OffsetFetchResponseGroup(request.group_id, error_code=code)
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=code)
        case DescribeGroup():
            return DescribedGroup(error_code=code, group_id=request.group_id)
        case DeleteGroup():
            return DeletableGroupResult(request.group_id, code)
        case _:
            raise AssertionError(request)


def _commit_refused(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponsePartition(partition.partition_index, code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _transactional_commit_refused(
    request: TxnOffsetCommitRequest, code: ErrorCode
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(partition.partition_index, code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
