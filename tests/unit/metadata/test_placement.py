"""Placement against what Kafka 3.9's AdminUtils answered, and its refusals."""

from collections import Counter

import pytest

from odradek.metadata.nouns import Assignment, Broker
from odradek.metadata.placement import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    checked,
    placed,
)
from odradek.model.ids import BrokerId

RACKS = ("r2", "r1", "r3")


class Always:
    """Chance that always says the same."""

    def __init__(self, answer: int) -> None:
        self._answer = answer

    def below(self, bound: int) -> int:
        """The answer, whatever is asked."""
        assert self._answer < bound
        return self._answer

    def bytes(self, count: int) -> bytes:
        """Nothing here draws bytes."""
        raise NotImplementedError


def brokers(count: int, *, racks: bool) -> list[Broker]:
    """So many, over three racks or none; the seventh makes the racks uneven."""
    rack = {6: "r1"} if count == 7 else {}
    return [
        Broker(BrokerId(it), (), rack.get(it, RACKS[it % 3]) if racks else None)
        for it in range(count)
    ]


def ids(*replicas: int) -> tuple[BrokerId, ...]:
    """Brokers by number."""
    return tuple(map(BrokerId, replicas))


@pytest.mark.parametrize(
    ("count", "factor", "start", "racks", "kafka"),
    [
        (5, 3, 0, False, "012 123 234 340 401 023 134 240 301 412"),
        (6, 3, 2, True, "231 450 312 504 123 045 204 423 345 531 150 012"),
        (3, 3, 1, False, "102 210 021 120 201 012 102"),
        (
            7,
            4,
            3,
            True,
            "4023 3245 5436 6351 1356 0561 2604 4356 3561 5602 6024 1024 0243 2435 4023",
        ),
        (6, 4, 5, True, "5102 1024 0243 2435 4351 3510 5431 1350 0512 2104 4023 3245 5043"),
        (1, 1, 0, False, "0 0"),
    ],
)
def test_replicas_are_placed_as_kafka_places_them(
    *, count: int, factor: int, start: int, racks: bool, kafka: str
) -> None:
    """An operator who knows Kafka's spread finds it here, with racks and without."""
    expected = [ids(*map(int, replicas)) for replicas in kafka.split()]
    found = placed(
        brokers(count, racks=racks), partitions=len(expected), factor=factor, random=Always(start)
    )
    assert [it.replicas for it in found.values()] == expected
    assert list(found) == list(range(len(expected)))


def test_more_partitions_go_on_where_the_first_ones_ended() -> None:
    """A topic that grew is spread as one that was made so large (and Kafka does the same)."""
    cluster = brokers(5, racks=False)
    whole = placed(cluster, partitions=12, factor=3, random=Always(0))
    grown = placed(
        cluster,
        partitions=9,
        factor=3,
        random=Always(4),  # asked, but without say
        existing={number: whole[number] for number in range(3)},
    )
    assert grown == {number: whole[number] for number in range(3, 12)}


def test_a_leader_that_is_gone_still_says_where_to_go_on() -> None:
    """The next broker stands in for one that no longer exists."""
    cluster = [it for it in brokers(4, racks=False) if it.id != 1]
    grown = placed(
        cluster, partitions=1, factor=2, random=Always(0), existing={0: Assignment(ids(1, 2))}
    )
    assert grown == {1: Assignment(ids(3, 2))}


def test_a_failed_brokers_load_falls_on_all_the_others() -> None:
    """Followers of one leader are shifted round by round, so no neighbour inherits everything."""
    found = placed(brokers(5, racks=False), partitions=100, factor=2, random=Always(2))
    heirs = Counter(it.replicas[1] for it in found.values() if it.replicas[0] == 3)
    assert sorted(heirs) == [0, 1, 2, 4]
    assert set(heirs.values()) == {5}


def test_racks_count_only_where_all_brokers_have_one() -> None:
    """While racks are being rolled out topics can be made, as if there were none."""
    mixed = [*brokers(4, racks=True)[:3], Broker(BrokerId(3), ())]
    plain = brokers(4, racks=False)
    assert placed(mixed, partitions=8, factor=3, random=Always(1)) == placed(
        plain, partitions=8, factor=3, random=Always(1)
    )


def test_what_cannot_be_placed_is_refused() -> None:
    """Each refusal has Kafka's code, so a client's library knows what to say."""
    cluster = brokers(3, racks=False)
    for count in (0, -1, 10_001):
        with pytest.raises(InvalidPartitions):
            placed(cluster, partitions=count, factor=1, random=Always(0))
    for factor in (0, 4):
        with pytest.raises(InvalidReplicationFactor):
            placed(cluster, partitions=1, factor=factor, random=Always(0))


@pytest.mark.parametrize(
    "assignments",
    [
        {},
        {1: ids(0)},
        {0: ids(0), 2: ids(1)},
        {0: ()},
        {0: ids(0, 0)},
        {0: ids(0, 1), 1: ids(2)},
        {0: ids(0, 9)},
    ],
)
def test_an_assignment_by_hand_must_be_whole(assignments: dict[int, tuple[BrokerId, ...]]) -> None:
    """Holes, repetitions, uneven or unknown replicas would make a topic that cannot work."""
    known = {it.id: it for it in brokers(3, racks=False)}
    with pytest.raises(InvalidReplicaAssignment):
        checked(assignments, known)


def test_an_assignment_by_hand_continues_what_exists() -> None:
    """New partitions have the replication factor of the old ones, and the next numbers."""
    known = {it.id: it for it in brokers(3, racks=False)}
    old = {0: Assignment(ids(0, 1, 2), adding=ids(2), removing=ids(0))}
    assert checked({1: ids(2, 0)}, known, old) == {1: Assignment(ids(2, 0))}
    with pytest.raises(InvalidReplicaAssignment):
        checked({1: ids(2, 0, 1)}, known, old)


@pytest.mark.parametrize(("count", "says"), [(1, "1 broker"), (2, "2 brokers")])
def test_too_few_brokers_are_counted_in_words(count: int, says: str) -> None:
    """One broker is not several."""
    brokers = [Broker(BrokerId(number), ()) for number in range(count)]
    with pytest.raises(InvalidReplicationFactor, match=f"factor 3; new replicas can go to {says}$"):
        placed(brokers, partitions=1, factor=3, random=Always(0))
