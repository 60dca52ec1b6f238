"""What is promised of leaders whose disks are full."""

from collections.abc import Callable, Iterator
from typing import ClassVar, Final, NamedTuple

from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.metadata.nouns import PartitionState
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.cluster.promises.insides import Copies
from odradek.sim.worlds.cluster.view import Place
from odradek.storage.files.names import LOG
from odradek.storage.logs.log import PartitionLog

PATIENCE_MICROS: Final = 3 * SECOND
"""Until a leader, too, knows what everybody else does."""


class _Leadership(NamedTuple):
    number: int
    life: int
    place: Place
    leader_epoch: int


class WhoHasRoomLeads(Invariant):
    """A leader whose disk is full leads no longer while enough of those in sync have room.

    Looked at while nothing else is wrong. The first append that is refused then tells the leader;
    one that it still refuses some seconds later is one too many.
    """

    watches: ClassVar = frozenset({"looks"})

    def __init__(self, copies: Copies, is_calm: Callable[[], bool]) -> None:
        self._copies, self._view = copies, copies.view
        self._is_calm = is_calm
        self._since: dict[_Leadership, int] = {}  # the first one, as long as that is so
        self._refused: dict[_Leadership, int] = {}  # appends, at the last look

    def on(self, event: Event) -> None:
        """Whenever `Copies` has looked."""
        refused = dict(self._without_room()) if self._is_calm() else {}
        self._since = {it: moment for it, moment in self._since.items() if it in refused}
        for leadership, count in refused.items():
            if count <= self._refused.get(leadership, count):
                continue
            since = self._since.setdefault(leadership, event.moment)
            assert event.moment - since <= PATIENCE_MICROS, (
                f"{leadership.place}: broker {leadership.number} has no room, and leads on"
            )
        self._refused = refused

    def _without_room(self) -> Iterator[tuple[_Leadership, int]]:
        """Leaders that others could replace, with how many of their appends found no room."""
        for number, broker in self._view.opened():
            machine = self._view.acting(number).machine
            if all(disk.faults.capacity is None for disk in machine.disks.values()):
                continue
            life = machine.lives
            for replica in broker.services_of_this_life.replicas.all_led():
                disk = self._disk_of(number, replica.log)
                place = Place(replica.topic_id, replica.partition)
                state = self._copies.states.get(place)
                if disk.faults.capacity is None or state is None:
                    continue
                if (state.leader, state.leader_epoch) != (number, replica.leader_epoch):
                    continue
                if self._others_with_room(place, state) >= _enough(replica):
                    leadership = _Leadership(number, life, place, replica.leader_epoch)
                    yield leadership, _refused(disk, replica.log)

    def _others_with_room(self, place: Place, state: PartitionState) -> int:
        logs = [
            self._disk_of(number, found)
            for number, broker in self._view.opened()
            if number in state.isr and number != state.leader
            if (found := self._view.log(broker, place)) is not None
        ]
        return sum(disk.faults.capacity is None for disk in logs)

    def _disk_of(self, number: int, found: PartitionLog) -> SimulatedDisk:
        machine = self._view.acting(number).machine
        return machine.disks[found.folder.disk.name.rpartition("/")[2]]


def _enough(replica: LeadingReplica) -> int:
    return max(replica.leader.min_isr, 1)


def _refused(disk: SimulatedDisk, found: PartitionLog) -> int:
    """Only the active segment grows."""
    inside = f"{found.folder.name}/"
    return sum(
        count
        for path, count in disk.refused.items()
        if path.startswith(inside) and path.endswith(LOG)
    )
