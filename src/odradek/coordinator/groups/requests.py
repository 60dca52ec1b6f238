"""Requests about one group, cut out of wire requests that may be about many.

Groups live in different partitions: the handler of the whole request sends each group to where it
belongs, and puts the answers together again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.model.ids import TopicPartition
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.offset_commit import OffsetCommitRequest
from odradek.wire.messages.offset_delete import OffsetDeleteRequest
from odradek.wire.messages.sync_group import SyncGroupRequest
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitRequest


@dataclass(frozen=True, slots=True)
class FetchOffsets:
    """Part of OffsetFetch; answered with an `OffsetFetchResponseGroup`."""

    group_id: str
    partitions: Sequence[TopicPartition] | None  # None: all that the group has committed
    require_stable: bool = False  # rather no offset than one that is about to change (KIP-447)


@dataclass(frozen=True, slots=True)
class DescribeGroup:
    """Part of DescribeGroups; answered with a `DescribedGroup`."""

    group_id: str


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Part of DeleteGroups; answered with a `DeletableGroupResult`."""

    group_id: str


GroupRequest = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | TxnOffsetCommitRequest
    | OffsetDeleteRequest
    | FetchOffsets
    | DescribeGroup
    | DeleteGroup
)
MAY_WAIT = (
    JoinGroupRequest,
    SyncGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    TxnOffsetCommitRequest,
    OffsetDeleteRequest,
    DeleteGroup,
)
"""Those that are answered when others have come, or when something is committed."""
