"""The runtime, whatever machine stands on it: loading, order, bounds, and time."""

from odradek.coordinator.batches import load_batches
from odradek.coordinator.decision import Call, Caller, Ticket
from odradek.coordinator.groups.codec import decode
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.shard import Shard
from odradek.model.errors import ErrorCode
from odradek.model.positions import Offset
from odradek.wire.messages.heartbeat import HeartbeatRequest
from tests.unit.coordinator.talk import GROUP, Talk

ORDERS = ("orders", 0)


def loading(t: Talk) -> Shard:
    """Another shard for the log of this one, which has read it and not yet become active."""
    t.machine = GroupMachine(t.settings, t.random)
    t.shard = Shard(t.machine, t.settings.commit_timeout)
    load_batches(t.shard, bytes(t.log), decode)
    return t.shard


def test_while_it_loads_requests_are_refused() -> None:
    """Clients ask again; members that only say that they live are let go on."""
    t = Talk()
    (a,) = t.stable(1)
    loading(t)
    busy = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert t.said(t.join(a)).error_code == busy
    assert t.said(t.sync(a, generation_id=1)).error_code == busy
    assert t.committed(t.commit(1, a, 1)) is busy
    assert t.describe().error_code == busy
    assert t.said(t.delete()).error_code == busy
    assert t.said(t.leave(a)).error_code == busy
    assert t.said(t.delete_offsets("orders")).error_code == busy
    assert t.beat(a, 1) is ErrorCode.NONE


def test_it_shows_nothing_that_another_leader_might_not_have() -> None:
    """What was read is believed, and shown once it is below the high watermark."""
    t = Talk()
    t.commit(5)
    shard = loading(t)
    shard.loaded(t.end)
    t.held = True
    t.settle(shard.committed(Offset(t.end - 1), t.now))
    assert t.describe().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    t.settle(shard.committed(t.end, t.now))
    assert t.fetch() == {ORDERS: 5}


def test_commits_are_answered_in_the_order_of_the_log() -> None:
    """As the high watermark rises, and not before."""
    t = Talk()
    t.hold()
    tickets = [t.commit(number) for number in range(3)]
    t.append()
    for number in range(3):
        t.settle(t.shard.committed(Offset(number + 1), t.now))
        assert not t.waits(tickets[number])
        assert t.waits(*tickets[number + 1 :])
        assert t.fetch() == {ORDERS: number}


def test_a_refused_append_leaves_those_behind_it_alone() -> None:
    """They belong to other people, who are answered as ever."""
    t = Talk()
    t.hold()
    first, second = t.commit(1), t.commit(2)
    t.fail_append(ErrorCode.REQUEST_TIMED_OUT)
    assert t.committed(first) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert t.committed(second) is ErrorCode.NONE


def test_as_many_requests_wait_as_may() -> None:
    """Beyond that clients try again later; what is answered at once is still answered."""
    t = Talk(waiting_max=3)
    t.hold()
    tickets = [t.commit(number) for number in range(4)]
    assert t.committed(tickets[3]) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert t.waits(*tickets[:3])
    request = HeartbeatRequest(GROUP, 1, "a")
    assert t.call(request).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    t.flow()
    assert t.committed(t.commit(9)) is ErrorCode.NONE


def test_a_shard_without_work_has_no_deadline_of_its_own() -> None:
    """Only the search for expired offsets comes round."""
    t = Talk()
    t.commit(1)
    interval = t.settings.retention_check_interval
    assert t.shard.next_deadline() == t.now.monotonic + interval


def test_resigning_answers_everybody_once() -> None:
    """Whoever waited has heard it, and nobody waits here any more."""
    t = Talk()
    t.enter()
    t.hold()
    t.commit(1, group_id="other")
    effects = t.shard.resign()
    codes = {type(answer.response).__name__ for answer in effects.answer}
    assert codes == {"JoinGroupResponse", "OffsetCommitResponse"}
    assert not t.shard.resign().answer


def test_a_call_has_one_ticket() -> None:
    """The shell's numbers are its own, and the answers come back under them."""
    t = Talk()
    call = Call(Ticket(99), HeartbeatRequest(GROUP, 1, "a"), 4, Caller("", ""))
    effects = t.shard.on_call(call, t.now)
    assert [answer.ticket for answer in effects.answer] == [99]
