"""Groups over the wire: members that join, share, beat, leave; positions; operators."""

from typing import Any

import pytest

from odradek.model.errors import ErrorCode
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_groups import ListGroupsRequest
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
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.unit.broker.stage import Client, Stage

GROUP = "readers"
SESSION_MS = 6_000
GROUP_TYPE, TRANSACTION_TYPE = 0, 1


def ready(stage: Stage) -> Client:
    """A client, once the coordinator of the group is there."""
    client = stage.client()
    (found,) = client.ask(FindCoordinatorRequest(coordinator_keys=[GROUP])).coordinators
    assert found.error_code == ErrorCode.NONE, found
    while client.ask(ListGroupsRequest()).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        stage.run(seconds=0.01)
    return client


class Member:
    """A consumer with a connection of its own."""

    def __init__(self, stage: Stage, instance: str | None = None) -> None:
        self.client = stage.client("app")
        self.instance = instance
        self.id = ""
        self.generation = -1
        self.leader = ""
        self._joining = 0

    def begin_join(self) -> None:
        """Sends JoinGroup; a new dynamic member is given an id first."""
        if not self.id and self.instance is None:
            refused = self.client.ask(self._join())
            assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED, refused
            self.id = refused.member_id
        self._joining = self.client.send(self._join())

    def end_join(self) -> Any:
        """The answer, once all are there."""
        answer = self.client.answer_to(self._joining)
        assert answer.error_code == ErrorCode.NONE, answer
        self.id, self.generation = answer.member_id, answer.generation_id
        self.leader = answer.leader
        return answer

    def _join(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            GROUP,
            SESSION_MS,
            60_000,
            self.id,
            self.instance,
            "consumer",
            [JoinGroupRequestProtocol("range", b"topics")],
        )

    def begin_sync(self, shares: dict[str, bytes] | None = None) -> int:
        """Sends SyncGroup; the leader's has everybody's share."""
        assignments = [SyncGroupRequestAssignment(*share) for share in (shares or {}).items()]
        request = SyncGroupRequest(
            GROUP, self.generation, self.id, self.instance, "consumer", "range", assignments
        )
        return self.client.send(request)

    def beat(self) -> ErrorCode:
        """Heartbeat."""
        request = HeartbeatRequest(GROUP, self.generation, self.id, self.instance)
        return ErrorCode(self.client.ask(request).error_code)

    def commit(self, offset: int, **more: Any) -> ErrorCode:
        """Of `orders-0`."""
        return commit(self.client, offset, member=self.id, generation=self.generation, **more)


def commit(
    client: Client, offset: int, *, member: str = "", generation: int = -1, partition: int = 0
) -> ErrorCode:
    """What the partition was answered."""
    partitions = [OffsetCommitRequestPartition(partition, offset)]
    topics = [OffsetCommitRequestTopic("orders", partitions=partitions)]
    answer = client.ask(OffsetCommitRequest(GROUP, generation, member, topics=topics))
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def fetch(client: Client, group: str = GROUP) -> dict[str, int] | ErrorCode:
    """All that a group has committed."""
    (found,) = client.ask(
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)])
    ).groups
    if found.error_code:
        return ErrorCode(found.error_code)
    return {
        f"{topic.name}-{one.partition_index}": one.committed_offset
        for topic in found.topics
        for one in topic.partitions
    }


def stable(member: Member) -> None:
    """It is a group by itself."""
    member.begin_join()
    share(member)


def share(*members: Member) -> None:
    """Their JoinGroups are under way: they come into one generation, and each gets its id."""
    for member in members:
        member.end_join()
    shares = {member.id: member.id.encode() for member in members}
    sent = [(it, it.begin_sync(shares if it.id == it.leader else None)) for it in members]
    for member, number in sent:
        assert bytes(member.client.answer_to(number).assignment) == member.id.encode()


def test_a_group_comes_together_and_shares() -> None:
    """Who joins alone is a group; the next one makes all join anew; then both are in step."""
    with Stage() as stage:
        ready(stage)
        one, other = Member(stage), Member(stage)
        stable(one)
        assert one.beat() is ErrorCode.NONE
        other.begin_join()
        stage.run(seconds=0.1)
        assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
        one.begin_join()
        for member in (one, other):
            member.end_join()
        assert one.generation == other.generation == 2
        waiting = other.begin_sync()
        stage.run(seconds=0.1)
        assert not other.client.has_answer(waiting), "the leader has not spoken yet"
        leading = one.begin_sync({one.id: b"a", other.id: b"b"})
        assert bytes(one.client.answer_to(leading).assignment) == b"a"
        assert bytes(other.client.answer_to(waiting).assignment) == b"b"
        assert one.beat() is other.beat() is ErrorCode.NONE


def test_who_is_silent_is_removed_by_time_alone() -> None:
    """Its connection may even be open: what counts is that it does not say anything."""
    with Stage() as stage:
        client = ready(stage)
        one, other = Member(stage), Member(stage)
        stable(one)
        other.begin_join()
        one.begin_join()
        share(one, other)
        for _ in range(3):
            stage.run(seconds=3)
            one.beat()
        assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
        one.begin_join()
        assert [it.member_id for it in one.end_join().members] == [one.id]
        assert other.beat() is ErrorCode.UNKNOWN_MEMBER_ID
        (group,) = client.ask(DescribeGroupsRequest([GROUP])).groups
        assert group.group_state == "CompletingRebalance"


def test_members_leave_by_themselves_or_by_an_operators_hand() -> None:
    """A static member is removed by its name; the group is empty then, and can be deleted."""
    with Stage() as stage:
        client = ready(stage)
        one = Member(stage, instance="desk-1")
        stable(one)
        (refused,) = client.ask(DeleteGroupsRequest([GROUP])).results
        assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
        answer = client.ask(LeaveGroupRequest(GROUP, members=[MemberIdentity("", "desk-1")]))
        assert [it.error_code for it in answer.members] == [ErrorCode.NONE]
        assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID
        results = client.ask(DeleteGroupsRequest([GROUP, GROUP, "nix"])).results
        assert [it.error_code for it in results] == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]


def test_positions_are_those_of_the_generation() -> None:
    """A member of the past cannot move them; nor can a stranger while there are members."""
    with Stage() as stage:
        client = ready(stage)
        stage.make("orders", partitions=2)
        one = Member(stage)
        stable(one)
        assert one.commit(5) is ErrorCode.NONE
        assert commit(client, 9) is ErrorCode.UNKNOWN_MEMBER_ID
        one.generation -= 1
        assert one.commit(9) is ErrorCode.ILLEGAL_GENERATION
        assert fetch(client) == {"orders-0": 5}


def test_positions_in_what_does_not_exist_are_refused() -> None:
    """That partition alone: the others are committed, and all are answered."""
    with Stage() as stage:
        client = ready(stage)
        stage.make("orders")
        partitions = [OffsetCommitRequestPartition(number, 7) for number in (0, 1)]
        topics = [
            OffsetCommitRequestTopic("orders", partitions=partitions),
            OffsetCommitRequestTopic("nix", partitions=[OffsetCommitRequestPartition(0, 7)]),
        ]
        answer = client.ask(OffsetCommitRequest(GROUP, topics=topics))
        codes = {
            f"{topic.name}-{one.partition_index}": one.error_code
            for topic in answer.topics
            for one in topic.partitions
        }
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes == {"orders-0": ErrorCode.NONE, "orders-1": unknown, "nix-0": unknown}
        assert fetch(client) == {"orders-0": 7}
        answer = client.ask(OffsetCommitRequest(GROUP, topics=topics[1:]))
        assert answer.topics[0].partitions[0].error_code == unknown


def test_positions_and_members_outlive_the_broker() -> None:
    """A commit that was answered is there after a crash, and the generation goes on."""
    with Stage() as stage:
        ready(stage)
        stage.make("orders")
        one = Member(stage)
        stable(one)
        assert one.commit(5) is ErrorCode.NONE
        stage.kill()
        stage.start()
        client = ready(stage)
        assert fetch(client) == {"orders-0": 5}
        one.client = stage.client("app")
        assert one.beat() is ErrorCode.NONE
        assert one.commit(6) is ErrorCode.NONE


def test_a_topic_takes_its_positions_with_it() -> None:
    """Whoever reads a new topic of the same name begins anew."""
    with Stage() as stage:
        client = ready(stage)
        stage.make("orders")
        commit(client, 5)
        client.ask(DeleteTopicsRequest([DeleteTopicState("orders")], timeout_ms=5_000))
        stage.run(seconds=1)
        assert fetch(client) == {}


def test_positions_are_forgotten_by_hand() -> None:
    """But not of a partition that does not exist, and not of a group that does not."""
    with Stage() as stage:
        client = ready(stage)
        stage.make("orders", partitions=2)
        commit(client, 5)
        commit(client, 6, partition=1)
        partitions = [OffsetDeleteRequestPartition(number) for number in (0, 7)]
        topics = [OffsetDeleteRequestTopic("orders", partitions)]
        answer = client.ask(OffsetDeleteRequest(GROUP, topics))
        codes = {one.partition_index: one.error_code for one in answer.topics[0].partitions}
        assert codes == {0: ErrorCode.NONE, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert fetch(client) == {"orders-1": 6}
        answer = client.ask(OffsetDeleteRequest("nobody", topics))
        assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_many_groups_are_asked_at_once() -> None:
    """They live in different partitions; the answer has them in the order of the question."""
    with Stage() as stage:
        client = ready(stage)
        stage.make("orders")
        commit(client, 5)
        names = [f"group-{number}" for number in range(9)] + [GROUP]
        wanted = [
            OffsetFetchRequestGroup(
                name, topics=[OffsetFetchRequestTopics("orders", partition_indexes=[0])]
            )
            for name in names
        ]
        groups = client.ask(OffsetFetchRequest(groups=wanted)).groups
        assert [group.group_id for group in groups] == names
        offsets = [group.topics[0].partitions[0].committed_offset for group in groups]
        assert offsets == [-1] * 9 + [5]
        found = client.ask(FindCoordinatorRequest(coordinator_keys=names)).coordinators
        assert [(one.key, one.node_id, one.port) for one in found] == [
            (name, 1, 9_092) for name in names
        ]
        question = DescribeGroupsRequest(names, include_authorized_operations=True)
        described = client.ask(question, 5).groups
        assert [one.group_state for one in described] == ["Dead"] * 9 + ["Empty"]
        assert described[-1].authorized_operations == 0b101001000


@pytest.mark.parametrize("version", range(1, 10))
def test_every_version_says_the_same(version: int) -> None:
    """Positions of old and new clients; before version 2 a partition carries the group's error."""
    with Stage() as stage:
        client = stage.client()
        topics = [OffsetFetchRequestTopic("orders", [0])]
        request = OffsetFetchRequest(GROUP, topics)
        if version >= 8:
            wanted = [OffsetFetchRequestTopics("orders", partition_indexes=[0])]
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=wanted)])
        refused = client.ask(request, version)
        code = (
            refused.groups[0].error_code
            if version >= 8
            else refused.error_code
            if version >= 2
            else refused.topics[0].partitions[0].error_code
        )
        assert code == ErrorCode.NOT_COORDINATOR
        ready(stage)
        stage.make("orders")
        commit(client, 5)
        answer = client.ask(request, version)
        found = (answer.groups[0] if version >= 8 else answer).topics[0].partitions[0]
        assert (found.error_code, found.committed_offset) == (ErrorCode.NONE, 5)


@pytest.mark.parametrize("version", range(7))
def test_who_asks_for_a_coordinator_of_each_kind(version: int) -> None:
    """Of transactions since version 1; another kind is refused for good."""
    with Stage() as stage:
        client = stage.client()
        kind = TRANSACTION_TYPE if version else GROUP_TYPE
        request = FindCoordinatorRequest("pay", kind)
        if version >= 4:
            request = FindCoordinatorRequest("", kind, ["pay"])
        answer = client.ask(request, version)
        code = answer.coordinators[0].error_code if version >= 4 else answer.error_code
        assert code == ErrorCode.NONE
        if version:
            request.key_type = 7
            answer = client.ask(request, version)
            code = answer.coordinators[0].error_code if version >= 4 else answer.error_code
            assert code == ErrorCode.INVALID_REQUEST


def test_a_member_must_say_which_protocol_it_means() -> None:
    """From version 5 of SyncGroup on; who says nothing is refused before the group is asked."""
    with Stage() as stage:
        client = ready(stage)
        answer = client.ask(SyncGroupRequest(GROUP, 1, "somebody"), 5)
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        answer = client.ask(SyncGroupRequest(GROUP, 1, "somebody"), 4)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
