"""Where partitions shall lie on a given set of brokers, moving as little as possible.

Replicas on those brokers stay. What is missing goes to the broker with the fewest replicas, in a
rack that the partition has none in where there is one; then single replicas move from the fullest
to the emptiest broker until they differ by one at most. The preferred leader stays if it can;
otherwise the replica that is preferred least often takes its place.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.model.counting import counted
from odradek.model.ids import TopicPartition

Placement = dict[TopicPartition, tuple[int, ...]]


class Room(NamedTuple):
    """The brokers that may be used, with their racks."""

    racks: Mapping[int, str | None]
    cordoned: frozenset[int] = frozenset()  # of these: they keep what they have, and get no more

    @property
    def open(self) -> list[int]:
        """Those that may get replicas."""
        return [it for it in self.racks if it not in self.cordoned]

    def rack(self, broker: int) -> str | None:
        """Where a broker is, if it says so."""
        return self.racks.get(broker)


class TooFewBrokers(ValueError):
    """A partition would need more brokers than there are: so many."""

    def __init__(self, partition: TopicPartition, text: str, brokers: int) -> None:
        super().__init__(f"{partition}: {text}")
        self.partition, self.brokers = partition, brokers


def planned(
    current: Mapping[TopicPartition, Sequence[int]], room: Room, factor: int | None = None
) -> Placement:
    """The target of every partition, those that stay included."""
    plan: dict[TopicPartition, list[int]] = {}
    load: Counter[int] = Counter(dict.fromkeys(room.racks, 0))
    for partition, replicas in current.items():
        count = len(replicas) if factor is None else factor
        may = len({*room.open, *room.cordoned.intersection(replicas)})
        if count > may:
            needs = f"replication factor {count} needs {counted(count, 'broker')}"
            raise TooFewBrokers(partition, f"{needs}; {may} may be used", may)
        plan[partition] = [it for it in replicas if it in room.racks][:count]
        load.update(plan[partition])
    for partition, replicas in current.items():
        count = len(replicas) if factor is None else factor
        while len(plan[partition]) < count:
            _add(plan[partition], load, room)
    _even_out(plan, load, room, current)
    _choose_leaders(plan, current)
    return {partition: tuple(replicas) for partition, replicas in plan.items()}


def drained(current: Mapping[TopicPartition, Sequence[int]], room: Room, gone: int) -> Placement:
    """What `gone` has moves to others, each replica to its place; nothing else moves."""
    load = Counter(dict.fromkeys(room.racks, 0))
    for replicas in current.values():
        load.update(it for it in replicas if it in room.racks)
    plan: Placement = {}
    for partition, replicas in current.items():
        if gone not in replicas:
            continue
        stay = [it for it in replicas if it != gone]
        if len(set(room.racks) - set(stay)) < 1:
            count = len(replicas)
            needs = f"replication factor {count} needs {counted(count, 'broker')}"
            may = f"{len(room.racks)} may be used without broker {gone} and cordoned ones"
            raise TooFewBrokers(partition, f"{needs}; {may}", len(room.racks))
        _add(stay, load, room)
        chosen = stay[-1]
        plan[partition] = tuple(chosen if it == gone else it for it in replicas)
    return plan


def _add(replicas: list[int], load: Counter[int], room: Room) -> None:
    used = {room.rack(it) for it in replicas} - {None}
    free = [it for it in room.open if it not in replicas]
    chosen = min(free, key=lambda it: (room.rack(it) in used, load[it], it))
    replicas.append(chosen)
    load[chosen] += 1


def _even_out(
    plan: dict[TopicPartition, list[int]],
    load: Counter[int],
    room: Room,
    current: Mapping[TopicPartition, Sequence[int]],
) -> None:
    """What is new there anyway moves first, preferred leaders last."""
    for _ in range(sum(map(len, plan.values())) if room.open else 0):
        full, empty = (f(room.open, key=lambda it: (load[it], it)) for f in (max, min))
        if load[full] - load[empty] <= 1:
            return
        may = [it for it in plan if _may_move(plan[it], full, empty, room)]
        move = min(may, key=lambda it: (full in current[it], plan[it][0] == full), default=None)
        if move is None:
            return
        replicas = plan[move]
        replicas[replicas.index(full)] = empty
        load[full] -= 1
        load[empty] += 1


def _may_move(replicas: Sequence[int], source: int, target: int, room: Room) -> bool:
    """Nothing may come into a rack that holds another replica, unless it stays in its own."""
    if source not in replicas or target in replicas:
        return False
    others = {room.rack(it) for it in replicas if it != source} - {None}
    return room.rack(target) not in others or room.rack(target) == room.rack(source)


def _choose_leaders(
    plan: dict[TopicPartition, list[int]], current: Mapping[TopicPartition, Sequence[int]]
) -> None:
    preferred = Counter(plan[it][0] for it in plan if plan[it][0] == current[it][0])
    for partition, replicas in plan.items():
        if replicas[0] != current[partition][0]:
            first = min(replicas, key=lambda it: (preferred[it], replicas.index(it)))
            replicas.remove(first)
            replicas.insert(0, first)
            preferred[first] += 1
