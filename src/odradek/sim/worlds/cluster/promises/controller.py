"""Where the controller may be, and what is promised about it, whatever happens to brokers.

In some worlds brokers are preferred, and in some of those no other may ever be the controller.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from odradek.broker.broker import Broker
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.controller import ControllerHistoryZnode
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import TopicPartition
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.picture import STATE
from odradek.sim.worlds.cluster.promises.insides import Copies, Looks, brokers_of
from odradek.sim.worlds.cluster.view import ClusterView

PREFERRED_ONE_IN: Final = 4  # worlds
WITHOUT_MICROS_MAX: Final = 4 * SECOND
"""While nothing goes wrong; the lease of a hand-over is two seconds."""
HEALING_MICROS: Final = 30 * SECOND
"""Until sessions of machines that were gone have ended, and sick disks were seen to."""
EPOCHS_MAX: Final = 30
"""In a second; the most that a run needs is nine."""


class Candidates(NamedTuple):
    """Who may be the controller."""

    preferred: frozenset[int] = frozenset()
    has_fallback: bool = True

    def settings(self, number: int) -> Mapping[str, str]:
        """Of one broker."""
        if not self.preferred:
            return {}
        return {
            "preferred.controller": str(number in self.preferred).lower(),
            "allow.preferred.controller.fallback": str(self.has_fallback).lower(),
            "preferred.controller.settle.ms": "3000",
        }

    def may(self, number: int) -> bool:
        """Whether this broker may be it."""
        return self.has_fallback or number in self.preferred


def draw_candidates(chance: SeededRandom, numbers: Sequence[int]) -> Candidates:
    """Mostly no broker is preferred; else two are, and perhaps no other may be the controller."""
    if not chance.one_in(PREFERRED_ONE_IN):
        return Candidates()
    return Candidates(frozenset(numbers[-2:]), has_fallback=bool(chance.below(2)))


class OneControllerInEachEpoch(Looks):
    """In one controller epoch one broker acts."""

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._brokers: dict[int, int] = {}

    def look(self) -> None:
        """Brokers that believe to be the controller."""
        for number, broker in self._view.opened():
            controller = broker.services_of_this_life.controller.controller
            if controller is not None:
                epoch = controller.context.lease.epoch
                other = self._brokers.setdefault(epoch, number)
                assert other == number, f"{other} and {number} act in controller epoch {epoch}"


class OnlyWhoMayIsTheController(Looks):
    """Where the settings allow no other than preferred brokers, no other has /controller."""

    def __init__(self, copies: Copies, candidates: Candidates) -> None:
        super().__init__(copies)
        self._candidates = candidates

    def look(self) -> None:
        """Whom the tree names."""
        node = self._view.tree.nodes.get(ControllerZnode.PATH)
        if node is not None:
            number = ControllerZnode.decode(node.data)
            assert self._candidates.may(number), f"{number} is the controller; {self._candidates}"


class ThereIsAController(Invariant):
    """Once nothing goes wrong, there is a controller while a broker serves that may be it."""

    watches: ClassVar = frozenset({"heals", "looks"})

    def __init__(self, view: ClusterView, candidates: Candidates) -> None:
        self._view, self._candidates = view, candidates
        self._healed: int | None = None
        self._without: int | None = None  # since when

    def on(self, event: Event) -> None:
        """Whenever `Copies` looks."""
        if event.what == "heals":
            self._healed = event.moment
        if self._healed is None or event.moment - self._healed < HEALING_MICROS:
            return
        able = [broker for number, broker in brokers_of(self._view) if self._candidates.may(number)]
        if not able or any(map(_decides, able)):
            self._without = None
            return
        self._without = event.moment if self._without is None else self._without
        without = event.moment - self._without
        assert without <= WITHOUT_MICROS_MAX, f"none for {without / SECOND} seconds"

    def at_end(self) -> None:
        """All have agreed, and then nothing was wanted for a while."""
        if self._healed is not None:
            able = [it for number, it in brokers_of(self._view) if self._candidates.may(number)]
            assert not able or any(map(_decides, able)), "none in the end"


def _decides(broker: Broker) -> bool:
    """It is the controller, and does not wait to be replaced."""
    controller = broker.services_of_this_life.controller.controller
    return controller is not None and not controller.context.handover.is_handing_over


class TheControllerStays(Invariant):
    """Once nothing goes wrong, it does not go to and fro, but where an operator wants it."""

    watches: ClassVar = frozenset({"heals"})

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._last = -1  # epoch under faults

    def on(self, event: Event) -> None:
        """From now on."""
        del event
        self._last = max((epoch for epoch, _ in self._elected()), default=-1)

    def at_end(self) -> None:
        """Each broker may have been restarted once more, and made the controller again."""
        moved = [it for it in self._elected() if it[0] > self._last and "operator" not in it[1]]
        assert len(moved) <= 2 * len(self._view.brokers) + 2, moved

    def _elected(self) -> list[tuple[int, str]]:
        """Epochs, and why they began."""
        node = self._view.tree.nodes.get(ControllerHistoryZnode.PATH)
        if node is None:
            return []
        try:
            history = ControllerHistoryZnode.decode(node.data)
        except MalformedZnode:
            return []
        return [(it.epoch, it.why) for it in history.controllers]


class PastControllersWriteNothing(Invariant):
    """Once a controller was elected none before it writes a state, and no leader epoch falls."""

    watches: ClassVar = frozenset({STATE})

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._epochs: dict[str, int] = {}  # of leaders, by partition
        self._life = 0  # of ZooKeeper: what it could not save before it stopped was not written

    def on(self, event: Event) -> None:
        """Whenever a state has changed, or is gone."""
        name, _, leader_epoch, isr = event.details
        if not isr:
            self._epochs.pop(name, None)
            return
        topic, _, number = name.rpartition("-")
        where = TopicPartition(topic, int(number))
        tree, state = self._view.tree, self._view.state(where)
        elected = tree.nodes[ControllerEpochZnode.PATH]
        epoch = ControllerEpochZnode.decode(elected.data)
        assert state is not None, where
        if tree.nodes[PartitionStateZnode.path(where)].mzxid > elected.mzxid:
            assert state.controller_epoch >= epoch, f"{name}: {state} in controller epoch {epoch}"
        if self._life != self._view.zookeeper_lives:
            self._life = self._view.zookeeper_lives
            self._epochs.clear()
        before = self._epochs.get(name, leader_epoch)
        assert leader_epoch >= before, f"{name}: leader epoch {leader_epoch}, it was {before}"
        self._epochs[name] = leader_epoch


class ElectionsHaveAnEnd(Invariant):
    """A partition gets a few leader epochs in a second, whatever happens meanwhile."""

    watches: ClassVar = frozenset({STATE})

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, deque[int]]] = {}  # the last one, and when each began

    def on(self, event: Event) -> None:
        """Whenever a state has changed."""
        name, _, leader_epoch, _ = event.details
        last, begun = self._known.get(name, (-1, deque[int]()))
        if leader_epoch == last:
            return
        begun.append(event.moment)
        while begun[0] < event.moment - SECOND:
            begun.popleft()
        assert len(begun) <= EPOCHS_MAX, f"{name}: {len(begun)} leader epochs within a second"
        self._known[name] = leader_epoch, begun
