"""Which brokers shall hold which partition: Kafka's placement, racks and all (KIP-36).

Without racks, the leaders go around the brokers, and the followers of one leader are shifted
further with each round, so that a broker's failure spreads its load over all the others. With
racks, the brokers are listed so that neighbours are in different racks; a replica avoids the racks
that have one while there are others, then the brokers. Chance decides only where to begin.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from odradek.metadata.nouns import Assignment, Broker
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.ports import Random

PARTITIONS_MAX: Final = 10_000
"""In one request: what a controller can bring online without holding the others up for long."""


class InvalidPartitions(BrokerError):
    """A number of partitions that cannot be."""

    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactor(BrokerError):
    """More replicas than brokers, or none."""

    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignment(BrokerError):
    """An assignment given by hand that cannot be."""

    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


def placed(
    brokers: Sequence[Broker],
    *,
    partitions: int,
    factor: int,
    random: Random,
    existing: Mapping[int, Assignment] | None = None,
) -> dict[int, Assignment]:
    """Assignments for so many new partitions, behind those that exist.

    Where there are partitions, the first new one continues after the first one's leader.
    """
    if not 0 < partitions <= PARTITIONS_MAX:
        raise InvalidPartitions(
            f"{counted(partitions, 'partition')}; allowed are 1 to {PARTITIONS_MAX}"
        )
    if not 0 < factor <= len(brokers):
        raise InvalidReplicationFactor(
            f"replication factor {factor}; new replicas can go to {counted(len(brokers), 'broker')}"
        )
    layout = _Layout(brokers)
    around = len(layout.order)
    start, shift, first = random.below(around), random.below(around), 0
    if existing:
        leader = existing[min(existing)].replicas[0]
        start = shift = next((at for at, it in enumerate(layout.order) if it >= leader), 0)
        first = max(existing) + 1
    shift -= max(first - 1, 0) // around  # the rounds that are over
    return {
        number: Assignment(
            layout.replicas(factor, leader=number + start, shift=shift + number // around)
        )
        for number in range(first, first + partitions)
    }


def checked(
    assignments: Mapping[int, Sequence[BrokerId]],
    brokers: Mapping[BrokerId, Broker],
    existing: Mapping[int, Assignment] | None = None,
) -> dict[int, Assignment]:
    """Assignments given by hand, if they can be: whole, even, of brokers that are known."""
    existing = existing or {}
    first = len(existing)
    if not assignments or sorted(assignments) != list(range(first, first + len(assignments))):
        raise InvalidReplicaAssignment(f"partitions must be numbered from {first} without holes")
    factor = len(existing[min(existing)].target) if existing else len(assignments[first])
    for number, replicas in sorted(assignments.items()):
        if not replicas or len(set(replicas)) != len(replicas):
            raise InvalidReplicaAssignment(f"partition {number}: {list(replicas)} has repetitions")
        if len(replicas) != factor:
            raise InvalidReplicaAssignment(
                f"partition {number} has {counted(len(replicas), 'replica')}, others have {factor}"
            )
        if unknown := sorted(set(replicas) - brokers.keys()):
            raise InvalidReplicaAssignment(f"partition {number}: unknown brokers {unknown}")
    return {number: Assignment(tuple(it)) for number, it in sorted(assignments.items())}


class _Layout:
    """The brokers in the order in which they take turns: alternating between the racks.

    Unless all brokers have a rack, each counts as one of its own.
    """

    def __init__(self, brokers: Sequence[Broker]) -> None:
        racked = all(broker.rack is not None for broker in brokers)
        self._racks = {it.id: (it.rack or "") if racked else f"{it.id:010}" for it in brokers}
        self._racks_count = len(set(self._racks.values()))
        self._stride = self._racks_count if racked else 1
        seen: dict[str, int] = {}
        place: dict[BrokerId, tuple[int, str]] = {}
        for broker, rack in sorted(self._racks.items()):
            seen[rack] = seen.get(rack, 0) + 1
            place[broker] = (seen[rack], rack)
        self.order = sorted(place, key=place.__getitem__)

    def replicas(self, factor: int, *, leader: int, shift: int) -> tuple[BrokerId, ...]:
        """The leader, then who fits among those behind it, from the shift on and around."""
        chosen = [self.order[leader % len(self.order)]]
        racks = {self._racks[chosen[0]]}
        behind = self._behind(leader, shift * self._stride)
        while len(chosen) < factor:
            broker = next(behind)
            rack = self._racks[broker]
            if broker not in chosen and (rack not in racks or len(racks) == self._racks_count):
                chosen.append(broker)
                racks.add(rack)
        return tuple(chosen)

    def _behind(self, leader: int, step: int) -> Iterator[BrokerId]:
        others = len(self.order) - 1
        for turn in count(step):
            yield self.order[(leader + 1 + turn % others) % len(self.order)]
