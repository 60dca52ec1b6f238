"""The shards of one broker."""

from odradek.coordinator.coordinator import Coordinator, CoordinatorSpec, Place
from odradek.coordinator.decision import NO_EFFECTS, Call, Caller, Entry, Moment, Ticket
from odradek.coordinator.groups.answers import refusal
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.groups.requests import DescribeGroup
from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.groups.steps.admin import list_groups
from odradek.coordinator.groups.values import CommittedOffset, OffsetKey
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Millis, Timestamp
from odradek.sim.doors.chance import SeededRandom
from odradek.wire.messages.describe_groups import DescribedGroup
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

GROUP = "readers"
NOW = Moment(Millis(0), Timestamp(1_700_000_000_000))
CALLER = Caller("app", "/h")


def coordinator(partitions: int = 50) -> tuple[Coordinator[GroupMachine], Place]:
    """One that is about to lead the partition of the group."""
    settings, random = GroupSettings(), SeededRandom(1, "members")
    spec = CoordinatorSpec(
        lambda: partitions,
        lambda: GroupMachine(settings, random),
        refusal,
        settings.commit_timeout,
    )
    found = Coordinator(spec)
    return found, Place(found.partition_of(GROUP) or 0, LeaderEpoch(3))


def leading() -> tuple[Coordinator[GroupMachine], Place]:
    """One that leads it, with an empty log."""
    found, place = coordinator()
    shard, _ = found.elected(place)
    shard.loaded(Offset(0))
    found.committed(place, Offset(0), NOW)
    return found, place


def commit(ticket: int) -> Call:
    """A commit of a simple consumer."""
    partition = OffsetCommitRequestPartition(0, 5)
    request = OffsetCommitRequest(
        GROUP, topics=[OffsetCommitRequestTopic("t", partitions=[partition])]
    )
    return Call(Ticket(ticket), request, 8, CALLER)


def test_another_brokers_group_is_refused() -> None:
    """The client must look for the coordinator anew."""
    found, _ = coordinator()
    place, effects = found.on_call(GROUP, Call(Ticket(1), DescribeGroup(GROUP), 5, CALLER), NOW)
    assert place is None
    (answer,) = effects.answer
    assert answer.response == DescribedGroup(error_code=ErrorCode.NOT_COORDINATOR, group_id=GROUP)


def test_without_a_topic_there_is_no_coordinator() -> None:
    """Nobody knows yet where the group will belong."""
    found, _ = coordinator(partitions=0)
    assert found.partition_of(GROUP) is None
    place, effects = found.on_call(GROUP, Call(Ticket(1), DescribeGroup(GROUP), 5, CALLER), NOW)
    assert place is None
    (answer,) = effects.answer
    assert answer.response == DescribedGroup(error_code=ErrorCode.NOT_COORDINATOR, group_id=GROUP)


def test_a_commit_finds_its_partition() -> None:
    """It is appended there, and answered when it is committed there."""
    found, place = leading()
    where, effects = found.on_call(GROUP, commit(1), NOW)
    assert where == place
    (append,) = effects.append
    found.appended(place, append.number, Offset(0))
    (answer,) = found.committed(place, Offset(1), NOW).answer
    assert answer.ticket == 1
    listed = [group for machine in found.machines() for group in list_groups(machine.groups)]
    assert [group.group_id for group in listed] == [GROUP]


def test_news_of_an_earlier_leadership_are_none() -> None:
    """Its appends were made in another life of the log."""
    found, place = leading()
    _, effects = found.on_call(GROUP, commit(1), NOW)
    again, answered = found.elected(Place(place.partition, LeaderEpoch(4)))
    assert [answer.ticket for answer in answered.answer] == [1]
    found.appended(place, effects.append[0].number, Offset(0))
    assert not found.append_failed(
        place, effects.append[0].number, (ErrorCode.REQUEST_TIMED_OUT, NOW)
    ).answer
    assert not found.committed(place, Offset(9), NOW).answer
    assert not again.active
    assert found.loading


def test_who_resigns_answers_and_forgets() -> None:
    """A second time there is nothing to do."""
    found, place = leading()
    found.on_call(GROUP, commit(1), NOW)
    assert [answer.ticket for answer in found.resigned(place.partition).answer] == [1]
    assert not found.resigned(place.partition).answer
    assert not list(found.machines())
    assert found.next_deadline() is None


def test_time_is_told_where_something_is_due() -> None:
    """A commit that takes too long is answered by the clock alone."""
    found, place = leading()
    found.on_call(GROUP, commit(1), NOW)
    assert found.next_deadline() == 5000
    assert not list(found.tick(Moment(Millis(4999), NOW.wall)))
    ((where, effects),) = found.tick(Moment(Millis(5000), NOW.wall))
    assert where == place
    assert [answer.ticket for answer in effects.answer] == [1]


def test_what_concerns_all_is_done_everywhere() -> None:
    """A topic's end, in every partition that has been read."""
    found, place = leading()
    _, effects = found.on_call(GROUP, commit(1), NOW)
    found.appended(place, effects.append[0].number, Offset(0))
    found.committed(place, Offset(1), NOW)
    found.elected(Place((place.partition + 1) % 50, LeaderEpoch(0)))
    (where, effects), (_, others) = found.carry_out(
        lambda machine, now: machine.forget_topics(["t"], now), NOW
    )
    assert where == place
    assert [entry.value for entry in effects.append[0].records] == [None]
    assert not others.append


def test_what_happens_while_a_log_is_read_is_not_missed() -> None:
    """A topic ends before its offsets were read: they are forgotten when they have been."""
    found, place = coordinator()
    shard, _ = found.elected(place)
    offset = CommittedOffset(Offset(5), None, "", NOW.wall)
    shard.load(Offset(0), Entry(OffsetKey(GROUP, TopicPartition("t", 0)), offset))
    ((_, effects),) = found.carry_out(lambda machine, now: machine.forget_topics(["t"], now), NOW)
    assert effects == NO_EFFECTS
    shard.loaded(Offset(1))
    (append,) = found.committed(place, Offset(1), NOW).append
    assert [entry.value for entry in append.records] == [None]
