"""A group of consumers whose members die, stand still, and come back."""

from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.scenario import Scenario

ALL = [TopicPartition("orders", number) for number in range(4)]


def test_the_work_of_a_member_that_dies_is_taken_over_where_it_had_committed(t: Scenario) -> None:
    """The group waits until the dead one's session is over, and no longer."""
    one, other = t.client("one"), t.client("other")
    one.make("orders", partitions=4)
    for _ in range(5):
        one.produce("orders", "order", partition=2)
    first = one.member("shop", "orders")
    assert sorted(first.joins()) == ALL
    assert first.commits("orders", 2, 3) == ErrorCode.NONE

    one.machine.kill()
    second = other.member("shop", "orders")
    positions = second.joins()
    assert sorted(positions) == ALL
    assert positions[TopicPartition("orders", 2)] == 3


def test_two_members_share_the_partitions_and_have_none_in_common(t: Scenario) -> None:
    """Who joins asks the others to join again; then everybody knows its part."""
    one, other = t.client("one"), t.client("other")
    one.make("orders", partitions=4)
    first, second = one.member("shop", "orders"), other.member("shop", "orders")
    assert sorted(first.joins()) == ALL

    joining = other.begins(second.joining())
    t.wait_until(lambda: not first.still_belongs(), "it is asked to join again")
    first.joins()
    other.ends(joining)
    assert first.generation == second.generation == 2
    assert sorted([*first.assigned, *second.assigned]) == ALL


def test_a_static_member_that_comes_back_goes_on_in_its_generation(t: Scenario) -> None:
    """Nobody has to join anew; what the process before it still says is refused."""
    one, other, again = t.client("one"), t.client("other"), t.client("again")
    one.make("orders", partitions=4)
    first = one.member("shop", "orders")
    second = other.member("shop", "orders", "till")
    first.joins()
    joining = other.begins(second.joining())
    t.wait_until(lambda: not first.still_belongs(), "it is asked to join again")
    first.joins()
    other.ends(joining)

    back = again.member("shop", "orders", "till")
    back.joins()
    assert (back.generation, back.assigned) == (second.generation, second.assigned)
    assert first.still_belongs()
    assert back.commits("orders", back.assigned[0].partition, 1) == ErrorCode.NONE
    late = second.commits("orders", second.assigned[0].partition, 2)
    assert late == ErrorCode.FENCED_INSTANCE_ID


def test_a_commit_of_an_old_generation_is_refused(t: Scenario) -> None:
    """Who was asleep while others took over may not turn the group back."""
    sleeper, other = t.client("sleeper"), t.client("other")
    sleeper.make("orders")
    for number in range(9):
        sleeper.produce("orders", str(number))
    old, new = sleeper.member("shop", "orders"), other.member("shop", "orders")
    old.joins()
    assert old.commits("orders", 0, 2) == ErrorCode.NONE

    sleeper.pause()
    new.joins()
    assert new.commits("orders", 0, 7) == ErrorCode.NONE
    sleeper.resume()
    assert old.commits("orders", 0, 3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert other.committed("shop") == {TopicPartition("orders", 0): 7}


def test_a_group_goes_on_after_its_broker_was_killed(t: Scenario) -> None:
    """Members and positions are records: the coordinator reads them back, and nobody joins anew."""
    consumer = t.client("consumer")
    consumer.make("orders")
    consumer.produce("orders", "a", "b", "c")
    member = consumer.member("shop", "orders")
    member.joins()
    assert member.commits("orders", 0, 2) == ErrorCode.NONE

    t.broker.kill()
    t.broker.start()
    assert member.still_belongs()
    assert member.commits("orders", 0, 3) == ErrorCode.NONE
    assert consumer.committed("shop") == {TopicPartition("orders", 0): 3}


def test_a_clock_that_jumps_ends_nobodys_session(t: Scenario) -> None:
    """Durations are measured by the clock that never jumps; only records show what was told."""
    consumer, keeper = t.client("consumer"), t.keeper("keeper")
    consumer.make("orders")
    member = consumer.member("shop", "orders")
    member.joins()

    for hours in (5, -5):
        t.machine("broker").clock.skew = hours * 3_600 * 1_000_000
        t.run(seconds=3)
        assert member.still_belongs()
    assert keeper.told == ["CONNECTED"]
    assert consumer.produce("orders", "late") == 0
