"""A group coordinator's partition to talk to."""

from collections.abc import Iterable, Sequence
from typing import Any

from odradek.coordinator.batches import to_batches
from odradek.coordinator.decision import Append, Ticket
from odradek.coordinator.groups.codec import decode, encode
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.groups.requests import DeleteGroup, DescribeGroup, FetchOffsets
from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.shard import WAITING_MAX, Shard
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId, TopicPartition
from odradek.records.control import EndMarker, TransactionEnd
from odradek.sim.doors.chance import SeededRandom
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.prefixed import write_prefixed
from tests.unit.coordinator.shard_talk import BATCH_BYTES, SECOND, ShardTalk

GROUP = "readers"


def subscribed(*topics: str, user_data: bytes | None = None) -> bytes:
    """What a consumer of these topics puts into JoinGroup."""
    return write_prefixed(ConsumerProtocolSubscription(topics, user_data), 1)


class Talk(ShardTalk):
    """One partition of a coordinator of groups."""

    decode = staticmethod(decode)
    version = 9

    def __init__(
        self, settings: GroupSettings | None = None, *, waiting_max: int = WAITING_MAX
    ) -> None:
        self.settings = settings or GroupSettings()
        self.waiting_max = waiting_max
        self.random = SeededRandom(7, "members")
        self.topics: dict[str, TopicId] = {}  # ids that this broker has heard of
        super().__init__()

    def new_shard(self) -> Shard:
        """Around a new machine."""
        self.machine = GroupMachine(self.settings, self.random, self.topics.get)
        return Shard(self.machine, self.settings.commit_timeout, self.waiting_max)

    def batches(self, append: Append) -> Iterable[bytearray]:
        """Records, or the end of a transaction in their place."""
        if append.end is not None:
            return [append.end.batch(self.now.wall)]
        return to_batches(
            append.records,
            encode,
            self.now.wall,
            bytes_max=BATCH_BYTES,
            within=append.within,
        )

    def fail_append(self, code: ErrorCode) -> None:
        """And the rest flows."""
        self.held = False
        super().fail_append(code)

    # -- requests ---------------------------------------------------------------------------------

    def call(self, request: Any, version: int = 9) -> Any:
        """Sends a request that is answered at once."""
        return self.said(self.ask(request, version))

    def join(
        self,
        member: str = "",
        *,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = (("range", b""),),
        **more: Any,
    ) -> Ticket:
        """JoinGroup."""
        version = more.pop("version", 9)
        fields: dict[str, Any] = {
            "group_id": GROUP,
            "session_timeout_ms": 10 * SECOND,
            "rebalance_timeout_ms": 60 * SECOND,
            "protocol_type": "consumer",
        } | more
        request = JoinGroupRequest(
            member_id=member,
            group_instance_id=instance,
            protocols=[JoinGroupRequestProtocol(*protocol) for protocol in protocols],
            **fields,
        )
        return self.ask(request, version)

    def enter(self, **more: Any) -> tuple[str, Ticket]:
        """A new dynamic member: asks for an id, and joins with it."""
        refused = self.said(self.join(**more))
        assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED, refused
        return refused.member_id, self.join(refused.member_id, **more)

    def sync(self, member: str, shares: dict[str, bytes] | None = None, **more: Any) -> Ticket:
        """SyncGroup of the current generation."""
        fields: dict[str, Any] = {
            "group_id": GROUP,
            "generation_id": self.generation() if GROUP in self.machine.groups.live else 0,
            "assignments": [SyncGroupRequestAssignment(*share) for share in (shares or {}).items()],
        } | more
        return self.ask(SyncGroupRequest(member_id=member, **fields), 5)

    def beat(self, member: str, generation: int | None = None, **more: Any) -> ErrorCode:
        """Heartbeat; what it is answered."""
        number = self.generation() if generation is None else generation
        fields: dict[str, Any] = {"group_id": GROUP} | more
        request = HeartbeatRequest(generation_id=number, member_id=member, **fields)
        return ErrorCode(self.call(request, 4).error_code)

    def leave(self, *members: str | MemberIdentity, version: int = 5, group: str = GROUP) -> Ticket:
        """LeaveGroup of these members."""
        identities = [
            MemberIdentity(member) if isinstance(member, str) else member for member in members
        ]
        if version < 3:
            return self.ask(LeaveGroupRequest(group, identities[0].member_id), version)
        return self.ask(LeaveGroupRequest(group, members=identities), version)

    def commit(self, offset: int, member: str = "", generation: int = -1, **more: Any) -> Ticket:
        """OffsetCommit of one partition."""
        version = more.pop("version", 8)
        topic = more.pop("topic", "orders")
        metadata = more.pop("metadata", "")
        partition = OffsetCommitRequestPartition(
            more.pop("partition", 0),
            offset,
            more.pop("leader_epoch", -1),
            committed_metadata=metadata,
        )
        fields = {"group_id": GROUP} | more
        request = OffsetCommitRequest(
            generation_id_or_member_epoch=generation,
            member_id=member,
            topics=[OffsetCommitRequestTopic(topic, partitions=[partition])],
            **fields,
        )
        return self.ask(request, version)

    def committed(self, ticket: Ticket) -> ErrorCode:
        """What a commit of one partition was answered."""
        return ErrorCode(self.said(ticket).topics[0].partitions[0].error_code)

    def fetch(
        self, *partitions: tuple[str, int], group: str = GROUP, stable: bool = False
    ) -> dict[tuple[str, int], int | ErrorCode]:
        """Offsets, or errors, of these partitions; of all if none is named."""
        about = [TopicPartition(*partition) for partition in partitions] or None
        answer = self.call(FetchOffsets(group, about, stable))
        return {
            (topic.name, found.partition_index): ErrorCode(found.error_code)
            if found.error_code
            else found.committed_offset
            for topic in answer.topics
            for found in topic.partitions
        }

    def end_transaction(self, producer: int, *, committed: bool, coordinator: int = 0) -> Ticket:
        """The end of a producer's transaction, from its coordinator."""
        return self.ask(TransactionEnd(producer, 0, EndMarker(committed, coordinator)), 0)

    def delete_offsets(self, *topics: str) -> Ticket:
        """OffsetDelete of partition 0 of these topics."""
        request = OffsetDeleteRequest(
            GROUP,
            [
                OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])
                for topic in topics
            ],
        )
        return self.ask(request, 0)

    def delete(self, group: str = GROUP) -> Ticket:
        """DeleteGroups of one."""
        return self.ask(DeleteGroup(group), 2)

    def describe(self, group: str = GROUP, version: int = 5) -> Any:
        """DescribeGroups of one."""
        return self.call(DescribeGroup(group), version)

    # -- what is behind it ------------------------------------------------------------------------

    @property
    def group(self) -> Group:
        """The living group."""
        return self.machine.groups.live[GROUP]

    def generation(self) -> int:
        """The number of its generation."""
        return self.group.generation

    def state(self) -> str:
        """The state that an operator sees."""
        state = self.describe().group_state
        assert isinstance(state, str)
        return state

    def stable(self, count: int = 2, **more: Any) -> list[str]:
        """A stable group of so many dynamic members; the first leads, each has its id as share."""
        members = []
        for _ in range(count):
            member, _ticket = self.enter(**more)
            members.append(member)
        self.run(3 * count)
        for member in reversed(members):
            shares = {one: one.encode() for one in members} if member == members[0] else None
            self.sync(member, shares)
        assert self.state() == "Stable", self.group.state
        return members
