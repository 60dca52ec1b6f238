"""Plans of reassignment: even, in different racks, and with as few moves as that takes."""

from collections import Counter

import pytest

from odradek.client.admin.reassignment_plan import (
    Placement,
    Room,
    TooFewBrokers,
    drained,
    planned,
)
from odradek.model.ids import TopicPartition


def topic(*replicas: tuple[int, ...]) -> Placement:
    """A topic as it lies."""
    return {TopicPartition("orders", number): it for number, it in enumerate(replicas)}


def room(*brokers: int) -> Room:
    """Brokers that say nothing of racks."""
    return Room(dict.fromkeys(brokers))


def test_what_is_even_stays() -> None:
    """A second call moves nothing."""
    even = topic((1, 2), (2, 3), (3, 1))
    assert planned(even, room(1, 2, 3)) == even


def test_a_new_broker_gets_its_share() -> None:
    """And nothing moves but what goes to it."""
    before = topic((1, 2), (2, 3), (3, 1), (1, 3), (2, 1), (3, 2), (1, 2), (2, 3))
    after = planned(before, room(1, 2, 3, 4))
    load = Counter(it for replicas in after.values() for it in replicas)
    assert set(load.values()) == {4}
    for partition, replicas in after.items():
        assert set(replicas) - set(before[partition]) <= {4}
        assert len(set(replicas)) == 2


def test_a_broker_that_leaves_is_replaced_and_others_stay() -> None:
    """Each partition loses only what was there; preferred leaders are spread again."""
    before = topic((4, 1), (4, 2), (4, 3), (1, 2), (2, 3), (3, 1))
    after = planned(before, room(1, 2, 3))
    for partition, replicas in after.items():
        assert set(before[partition]) - {4} <= set(replicas)
        assert 4 not in replicas
    assert Counter(it[0] for it in after.values()) == {1: 2, 2: 2, 3: 2}


def test_a_preferred_leader_that_stays_is_preferred() -> None:
    """Leadership moves only where it must."""
    before = topic((1, 4), (2, 4), (3, 4))
    assert [it[0] for it in planned(before, room(1, 2, 3)).values()] == [1, 2, 3]


def test_racks_are_kept_apart() -> None:
    """Also where that leaves one broker fuller than the others."""
    racks = Room({1: "a", 2: "a", 3: "b", 4: "b"})
    after = planned(topic((1,), (2,), (3,), (4,)), racks, factor=2)
    for replicas in after.values():
        assert {racks.rack(it) for it in replicas} == {"a", "b"}


def test_more_and_fewer_replicas() -> None:
    """The preferred leader is the last to go."""
    assert planned(topic((1, 2, 3)), room(1, 2, 3), factor=1) == topic((1,))
    assert {*planned(topic((1,)), room(1, 2, 3), factor=3)[TopicPartition("orders", 0)]} == {
        1,
        2,
        3,
    }
    with pytest.raises(
        TooFewBrokers, match="orders-0: replication factor 3 needs 3 brokers; 2 may be used"
    ):
        planned(topic((1,)), room(1, 2), factor=3)


def test_a_cordoned_broker_keeps_what_it_has_and_gets_no_more() -> None:
    """Where more replicas are wanted, or others have more than it."""
    room_of_three = Room(dict.fromkeys((1, 2, 3)), frozenset({3}))
    before = topic((1,), (2,), (1, 3), (2, 3), (1, 2))
    after = planned(before, room_of_three, factor=2)
    assert [{*it} for it in after.values()] == [{1, 2}, {1, 2}, {1, 3}, {2, 3}, {1, 2}]
    assert planned(topic((3,)), Room({3: None}, frozenset({3}))) == topic((3,))
    with pytest.raises(TooFewBrokers, match="replication factor 3 needs 3 brokers; 2 may be used"):
        planned(topic((1,)), room_of_three, factor=3)


def test_only_what_a_broker_has_moves_when_it_goes() -> None:
    """Each replica to its own place, so that no leader but the broker's own changes."""
    current = {TopicPartition("a", 0): (3, 1), TopicPartition("a", 1): (1, 2)}
    room = Room({1: None, 2: None, 4: None})
    assert drained(current, room, 3) == {TopicPartition("a", 0): (4, 1)}
    with pytest.raises(
        TooFewBrokers, match="replication factor 2 needs 2 brokers; 1 may be used without broker 3"
    ):
        drained(current, Room({1: None}), 3)
