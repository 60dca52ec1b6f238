"""What transactions meet where several things go wrong at a time, each at its worst moment.

A copier that has put its records everywhere, and has not asked for the end yet, says so; what is to
strike waits for that. Drawn by themselves the parts of these faults would meet in one run of
hundreds.
"""

import json
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from odradek.coordinator.placement import partition_of
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.doors.stream import SimulatedStream
from odradek.sim.doors.wires import Pipe
from odradek.sim.faults import MILLI, Fault
from odradek.sim.history import Event
from odradek.sim.stage.broker_machine import PORT, BrokerMachine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZooKeeperMachine
from odradek.sim.worlds.transactions.readers import TARGETS

STATE_PARTITIONS: Final = 3
HESITATES: Final = "txn.hesitates"
"""An id, whose transaction has its records everywhere."""
EXPIRES_MILLIS: Final = (300, 1_500)
STALLED_SECONDS: Final = (1, 4)
STALLED_SECONDS_MAX: Final = 12
ALONE_MILLIS: Final = (300, 2_500)
"""Less than `replica.lag.time.max.ms`: the other one is in sync for all that time."""
CUT_SECONDS: Final = 9
"""Longer than a session: who comes back hears nothing of what the dead one still sent."""


class _AtTheEnd(Fault):
    """Strikes when a copier is about to end its transaction, and every broker serves."""

    def __init__(
        self, world: World, brokers: Sequence[BrokerMachine], zookeeper: ZooKeeperMachine
    ) -> None:
        super().__init__(world, [broker.machine.name for broker in brokers])
        self.zookeeper = zookeeper
        self._brokers = {BrokerId(at): broker for at, broker in enumerate(brokers, start=1)}
        self._waits: SeededRandom | None = None
        world.history.watch(self._on_hesitates, {HESITATES})

    def strike(self, chance: SeededRandom) -> str | None:
        """Later."""
        if self._waits is not None:
            return None
        self._waits = chance
        return self.name

    def _on_hesitates(self, event: Event) -> None:
        self.on_hesitates(*event.details)
        chance = self._waits
        if chance is None or not all(
            it.serves and not it.machine.paused for it in self._brokers.values()
        ):
            return
        (name,) = event.details
        state = TopicPartition(TRANSACTION_STATE_TOPIC, partition_of(name, STATE_PARTITIONS))
        coordinator = self._leader(state)
        if coordinator is not None:
            self._waits = None
            self.world.after(0, lambda: self.begin(chance, name, coordinator))

    def on_hesitates(self, name: str) -> None:
        """Whoever it is."""

    def begin(self, chance: SeededRandom, name: str, coordinator: BrokerMachine) -> None:
        """Does it, to a transactional id and its coordinator."""
        raise NotImplementedError

    def leaders(self) -> list[BrokerMachine]:
        """Those of what copiers write to."""
        return [it for it in map(self._leader, TARGETS) if it is not None]

    def all_but(self, *them: BrokerMachine) -> list[BrokerMachine]:
        """The other brokers."""
        return [it for it in self._brokers.values() if it not in them]

    def expire(self, broker: BrokerMachine) -> None:
        """Its session with ZooKeeper, if there is one."""
        number = next(it for it, one in self._brokers.items() if one is broker)
        node = self._node(BrokerZnode.path(number))
        if node is not None:
            self.zookeeper.expire(node[1])

    def _leader(self, partition: TopicPartition) -> BrokerMachine | None:
        node = self._node(PartitionStateZnode.path(partition))
        return None if node is None else self._brokers.get(json.loads(node[0])["leader"])

    def _node(self, path: str) -> tuple[bytes, int] | None:
        server = self.zookeeper.server
        if not self.zookeeper.serves or self.zookeeper.machine.paused or server is None:
            return None
        node = server.core.database.tree.nodes.get(path)
        return None if node is None else (bytes(node.data or b""), node.owner)

    def heal(self) -> None:
        """No more of them."""
        self._waits = None


class LateMarkers(_AtTheEnd):
    """What a coordinator asks of others is stuck on its way, and arrives in a later transaction.

    Only what it sends on connections that it has made: as where one of several paths is bad. So
    others fetch from it, and it decides; then its session ends, and another coordinates.
    """

    name: ClassVar = "late-markers"

    def __init__(
        self, world: World, brokers: Sequence[BrokerMachine], zookeeper: ZooKeeperMachine
    ) -> None:
        super().__init__(world, brokers, zookeeper)
        self._stalled: dict[str, list[Pipe]] = {}  # by the transactional id
        self._ripe: dict[str, None] = {}  # those whose markers may arrive now

    def begin(self, chance: SeededRandom, name: str, coordinator: BrokerMachine) -> None:
        """All that it asks of others."""
        ends = coordinator.machine.host.ends.values()
        asking = [it for it in ends if isinstance(it, SimulatedStream) and it.peer[1] == PORT]
        pipes = self._stalled.setdefault(name, [])
        pipes += [it.pipe for it in asking if it.pipe is not None]
        for pipe in pipes:
            pipe.stall()
        expires = chance.between(*EXPIRES_MILLIS) * MILLI
        ripe = expires + chance.between(*STALLED_SECONDS) * SECOND
        self.world.after(expires, lambda: self.expire(coordinator))
        self.world.after(ripe, lambda: self._ripe.setdefault(name))
        self.world.after(STALLED_SECONDS_MAX * SECOND, lambda: self._go_on(name))

    def on_hesitates(self, name: str) -> None:
        """Another one of its transactions is open."""
        if name in self._ripe:
            self.world.after(0, lambda: self._go_on(name))

    def _go_on(self, name: str) -> None:
        self._ripe.pop(name, None)
        for pipe in self._stalled.pop(name, ()):
            pipe.go_on()

    def heal(self) -> None:
        """All arrives."""
        super().heal()
        for name in [*self._stalled]:
            self._go_on(name)


class LonelyEnd(_AtTheEnd):
    """A leader that one follower cannot reach when a transaction ends, and that is killed then.

    The follower is still in sync and may lead next: all that the two others have, and it has not,
    was not committed.
    """

    name: ClassVar = "lonely-end"

    def begin(self, chance: SeededRandom, name: str, coordinator: BrokerMachine) -> None:
        """The follower is not the coordinator, which could decide nothing without the leader."""
        del name
        leaders = [it for it in self.leaders() if it is not coordinator]
        if not leaders:
            return
        leader = leaders[chance.below(len(leaders))]
        (follower,) = self.all_but(leader, coordinator)
        names = leader.machine.name, follower.machine.name
        for source, target in (names, names[::-1]):
            self.world.wires.cut(source, target)
        alone = chance.between(*ALONE_MILLIS) * MILLI
        back = alone + CUT_SECONDS * SECOND
        self.world.after(alone, leader.machine.kill)
        self.world.after(back, self._mending(names))
        self.world.after(back, leader.machine.start_if_down)

    def _mending(self, names: tuple[str, str]) -> Callable[[], None]:
        def mend() -> None:
            for source, target in (names, names[::-1]):
                self.world.wires.mend(source, target)

        return mend
