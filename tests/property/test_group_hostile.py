"""Clients that say anything at any time: each is answered, and nothing kept is out of joint."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.coordinator.groups.requests import DeleteGroup, DescribeGroup, FetchOffsets
from odradek.coordinator.groups.settings import GroupSettings
from odradek.model.ids import TopicPartition
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
from tests.property.group_model import check_soft
from tests.unit.coordinator.talk import GROUP, Talk, subscribed

MEMBERS = 4  # the last so many ids that were given out may be named by anybody
GROUPS = st.sampled_from([GROUP, GROUP, GROUP, "other", ""])
WHO = st.integers(-2, MEMBERS - 1)
NAMES = st.sampled_from([None, None, "one", "two", ""])
NUMBERS = st.sampled_from([-2, -1, 0, 1, 2, 3, 2**31 - 1])
TIMES = st.sampled_from([-1, 0, 1, 6000, 10_000, 2**31 - 1])
HUGE = bytes(33 << 20)
BYTES = st.sampled_from(
    [b"", HUGE, b"\0", b"\0\1\x7f\xff\xff\xff", subscribed("t"), subscribed("u")]
)
PROTOCOLS = st.lists(
    st.builds(JoinGroupRequestProtocol, st.sampled_from(["range", "sticky", ""]), BYTES), max_size=3
)
TOPICS = st.sampled_from(["t", "u", ""])


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Any, int, int]:
    """What is done, with which request, in which version, in whose name."""
    group, who, number = draw(GROUPS), draw(WHO), draw(NUMBERS)
    name, partition = draw(NAMES), draw(NUMBERS)
    match draw(st.integers(0, 11)):
        case 0 | 1 | 2:
            kind = draw(st.sampled_from(["consumer", "consumer", "connect", ""]))
            session = draw(st.sampled_from([6000, 6000, 10_000, 0]))
            times = session, draw(TIMES)
            join = JoinGroupRequest(group, *times, "", name, kind, draw(PROTOCOLS))
            return "ask", join, draw(st.integers(0, 9)), who
        case 3 | 4:
            shares = [SyncGroupRequestAssignment("ghost", b"x")]
            return "ask", SyncGroupRequest(group, number, "", name, None, None, shares), 5, who
        case 5:
            return "ask", HeartbeatRequest(group, number, "", name), 4, who
        case 6:
            version = draw(st.integers(0, 5))
            return "ask", LeaveGroupRequest(group, "", [MemberIdentity("", name)]), version, who
        case 7:
            one = OffsetCommitRequestPartition(partition, number, number, number, None)
            topic = OffsetCommitRequestTopic(draw(TOPICS), partitions=[one])
            commit = OffsetCommitRequest(group, number, "", name, draw(TIMES), [topic])
            return "ask", commit, draw(st.integers(0, 9)), who
        case 8:
            gone = OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(partition)])
            return "ask", OffsetDeleteRequest(group, [gone]), 0, who
        case 9:
            about = [TopicPartition("t", partition)]
            fetch = FetchOffsets(group, draw(st.sampled_from([None, about])), require_stable=True)
            return (
                "ask",
                draw(st.sampled_from([fetch, DeleteGroup(group), DescribeGroup(group)])),
                6,
                who,
            )
        case 10:
            return "run", draw(st.sampled_from([1, 4, 20, 700])), 0, who
        case _:
            return draw(st.sampled_from(["hold", "append", "flow", "fail_over"])), None, 0, who


def named(t: Talk, request: Any, who: int) -> Any:
    """The request in the name of somebody: an id that was given out, one that was not, or none."""
    ids = [getattr(answer, "member_id", "") for answer in t.answers.values()]
    given_out = [one for one in ids if one][-MEMBERS:]
    member = "" if who == -1 else "ghost" if who >= len(given_out) or who < 0 else given_out[who]
    if isinstance(request, LeaveGroupRequest):
        request.member_id = request.members[0].member_id = member
    elif hasattr(request, "member_id"):
        request.member_id = member
    if isinstance(request, SyncGroupRequest):
        request.assignments[0].member_id = member
    return request


@settings(max_examples=300)
@given(st.lists(requests(), min_size=10, max_size=60))
def test_whatever_is_said_the_groups_are_whole(script: list[tuple[str, Any, int, int]]) -> None:
    """No assertion of ours fails, and every request is answered in the end."""
    t = Talk(GroupSettings(members_max=3))
    for what, subject, version, who in script:
        match what:
            case "ask":
                t.ask(named(t, subject, who), version)
            case "run":
                t.run(subject)
            case _:
                getattr(t, what)()
        check_soft(t)
    t.flow()
    t.fail_over()
    assert len(t.answers) == t.tickets
    check_soft(t)
