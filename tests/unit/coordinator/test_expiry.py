"""What is forgotten with time, and what must not be."""

from odradek.coordinator.decision import Entry
from odradek.coordinator.groups.settings import SWEEP_GROUPS, GroupSettings
from odradek.coordinator.groups.values import OffsetKey
from odradek.model.errors import ErrorCode
from odradek.model.ids import ProducerId, TopicId
from odradek.model.positions import Offset
from odradek.model.units import DAY, MINUTE, Millis
from tests.unit.coordinator.talk import GROUP, Talk, subscribed

HOURLY = GroupSettings(retention=Millis(60 * MINUTE), retention_check_interval=Millis(MINUTE))
HOUR = 3600
ORDERS = ("orders", 0)
BILLS = ("bills", 0)


def test_an_offset_of_a_simple_consumer_is_kept_from_its_commit_on() -> None:
    """With the last of them the group is gone."""
    t = Talk(HOURLY)
    t.commit(1)
    t.run(HOUR // 2)
    t.commit(1, topic="bills")
    t.run(HOUR // 2 + 61)
    assert t.fetch() == {BILLS: 1}
    t.run(HOUR // 2)
    assert t.fetch() == {}
    assert t.state() == "Dead"


def test_offsets_of_members_are_kept_from_the_end_of_the_group_on() -> None:
    """However old a commit is: nobody has read anything since, or it would be newer."""
    t = Talk(HOURLY)
    (a,) = t.stable(1, protocols=(("range", subscribed("orders")),))
    t.commit(1, a, 1)
    for _ in range(HOUR * 2 // 9):
        t.run(9)
        t.beat(a)
    t.leave(a)
    t.run(HOUR - 61)
    assert t.fetch() == {ORDERS: 1}
    t.fail_over()
    assert t.fetch() == {ORDERS: 1}
    t.run(122)
    assert t.state() == "Dead"
    assert GROUP not in t.machine.groups.ledger.groups


def test_offsets_of_topics_that_members_no_longer_read_go() -> None:
    """The others stay as long as there are members."""
    t = Talk(HOURLY)
    (a,) = t.stable(1, protocols=(("range", subscribed("orders")),))
    t.commit(1, a, 1)
    t.commit(1, a, 1, topic="bills")
    for _ in range(HOUR * 2 // 9):
        t.run(9)
        t.beat(a)
    assert t.fetch() == {ORDERS: 1}


def test_where_subscriptions_cannot_be_read_nothing_expires() -> None:
    """Neither during a rebalance, nor in groups of a kind that we do not know."""
    t = Talk(HOURLY)
    (a,) = t.stable(1, protocols=(("range", b"?"),))
    t.commit(1, a, 1)
    for _ in range(HOUR * 2 // 9):
        t.run(9)
        t.beat(a)
    assert t.fetch() == {ORDERS: 1}


def test_an_empty_group_without_offsets_is_gone_at_the_next_look() -> None:
    """Its record is deleted too: the log shall not remember groups that hold nothing."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    assert t.state() == "Empty"
    t.run(600)
    assert t.state() == "Dead"
    t.fail_over()
    assert t.state() == "Dead"


def test_a_commit_in_flight_is_not_overtaken_by_a_tombstone() -> None:
    """The old offset has expired, but a new one is on its way: it must survive."""
    t = Talk(HOURLY)
    t.commit(1)
    t.run(HOUR - 1)
    t.hold()
    ticket = t.commit(2)
    t.run(120)
    t.flow()
    assert t.committed(ticket) is ErrorCode.COORDINATOR_NOT_AVAILABLE  # it took too long
    t.run(61)
    assert t.fetch() == {ORDERS: 2}


def test_an_old_client_says_itself_how_long_its_offset_is_kept() -> None:
    """Versions 2 to 4 carry a retention time, which the record keeps."""
    t = Talk()
    t.commit(1, retention_time_ms=HOUR * 1000, version=3)
    t.commit(1, topic="bills", retention_time_ms=-1, version=3)
    t.fail_over()
    t.run(HOUR + 601)
    assert t.fetch() == {BILLS: 1}


def test_many_groups_are_looked_through_in_parts() -> None:
    """Nobody has to wait until all groups have been searched."""
    t = Talk(HOURLY)
    count = 2 * SWEEP_GROUPS + 1
    for number in range(count):
        t.commit(1, group_id=f"group-{number}")
    t.run(HOUR - 1)
    left = [count]
    while left[-1]:
        t.step()
        left.append(len(t.machine.groups.ledger.offsets))
    assert [left[-3], left[-2], left[-1]] == [count - SWEEP_GROUPS, count - 2 * SWEEP_GROUPS, 0]


def test_a_deleted_topic_takes_its_offsets_with_it() -> None:
    """Also those that are being written, or belong to a transaction."""
    t = Talk()
    t.commit(5)
    t.commit(5, topic="bills")
    t.commit(5, group_id="others")
    t.hold()
    t.commit(6, group_id="late")
    t.settle(t.shard.on_event(lambda now: t.machine.forget_topics(["orders"], now), t.now))
    t.flow()
    assert t.fetch() == {BILLS: 5}
    assert t.fetch(group="others") == {}
    assert t.fetch(group="late") == {}


def test_an_offset_of_an_open_transaction_keeps_the_one_before() -> None:
    """Until it is decided, nothing of the partition expires."""
    t = Talk(HOURLY)
    t.commit(1)
    ledger = t.machine.groups.ledger
    key, value = next(iter(ledger.offsets[GROUP].items()))
    producer = ProducerId(9)
    ledger.replay(Offset(77), Entry(OffsetKey(GROUP, key), value.committed, producer))
    t.run(DAY // 1000)
    assert t.fetch() == {ORDERS: 1}
    assert t.fetch(stable=True) == {ORDERS: ErrorCode.UNSTABLE_OFFSET_COMMIT}
    ledger.replay_end(producer, committed=False)
    t.run(61)
    assert t.fetch() == {}


def test_a_group_into_which_somebody_commits_is_not_gone() -> None:
    """What is written of it stays, for the offset that is on its way."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    t.hold()
    t.commit(1)
    t.run(600)
    t.flow()
    assert (t.state(), t.describe().protocol_type) == ("Empty", "consumer")


def test_an_offset_of_an_earlier_topic_of_the_name_is_none_and_goes() -> None:
    """No coordinator was there to remove it when that was deleted."""
    t = Talk(HOURLY)
    t.topics["orders"] = TopicId(bytes(15) + b"1")
    t.commit(7)
    del t.topics["orders"]
    t.fail_over()
    assert t.fetch() == {ORDERS: 7}  # it may be a topic that cannot be read
    t.topics["orders"] = TopicId(bytes(15) + b"2")
    assert t.fetch() == {}
    t.run(61)
    assert not t.machine.groups.ledger.offsets
    t.commit(1)
    assert t.fetch() == {ORDERS: 1}
