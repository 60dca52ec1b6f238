"""What goes wrong in some worlds of several brokers only: of these each world has a few.

They are rarer than those of `faults`, cost more, or need that everything is whole before
they strike: what happens where two replicas lack something is not promised.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.faults import MILLI, Fault
from odradek.sim.history import Event
from odradek.sim.picture import STATE
from odradek.sim.stage.broker_machine import OTHER_PORT, PORT, BrokerMachine
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER, ZooKeeperMachine
from odradek.sim.worlds.cluster.misfortunes.hands import Hands
from odradek.sim.worlds.cluster.promises.insides import Copies
from odradek.zookeeper.client.errors import NoNode

CHANGES_MAX: Final = 6
DELAY_BITS: Final = 13  # microseconds, up to some milliseconds
ROLL_SECONDS_MAX: Final = 15
"""For each broker of a rolling restart: the operator goes on even so."""
LATE_SECONDS: Final = (1, 8)
HELD_UP_SECONDS: Final = 6
HESITATION_MILLIS: Final = (20, 400)
ABSENCE_SECONDS: Final = (10, 40)
BEHIND_MILLIS: Final = (300, 2_000)
"""How late the controller hears that it was replaced: its session lasts six seconds."""


class OfCluster(NamedTuple):
    """Whom these faults strike, and what they know."""

    world: World
    zookeeper: ZooKeeperMachine
    brokers: Mapping[int, BrokerMachine]
    copies: Copies
    hands: Hands

    @property
    def names(self) -> list[str]:
        """Of the brokers' machines."""
        return [broker.machine.name for broker in self.brokers.values()]


class ClusterFault(Fault):
    """One that knows the cluster."""

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster.world, cluster.names)
        self.brokers, self.copies, self.hands = cluster.brokers, cluster.copies, cluster.hands

    def serving(self, chance: SeededRandom) -> BrokerMachine | None:
        """A broker that serves and is awake."""
        candidates = [it for it in self.brokers.values() if it.serves and not it.machine.paused]
        return candidates[chance.below(len(candidates))] if candidates else None

    def number_of(self, broker: BrokerMachine) -> int:
        """The id of the broker on a machine."""
        return next(it for it, known in self.brokers.items() if known is broker)

    def controller(self) -> int | None:
        """Whom the tree names."""
        node = self.copies.view.tree.nodes.get(ControllerZnode.PATH)
        return None if node is None else int(ControllerZnode.decode(node.data))


class KilledController(ClusterFault):
    """The controller's process is killed in the middle of what it decides.

    That is some time after a few of the states that it writes have changed: before or after it has
    heard of that, told the brokers, or begun with the next. What it has told one broker may still
    be under way when its successor decides.
    """

    name = "killed-controller"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._changes = 0  # left, until it is killed
        self._delay = self._outage = 0
        cluster.world.history.watch(self._on_change, {STATE})

    def strike(self, chance: SeededRandom) -> str | None:
        """Whichever broker decides then."""
        if self._changes:
            return None
        self._changes = 1 + chance.below(CHANGES_MAX)
        self._delay, self._outage = 1 << chance.below(DELAY_BITS), self.later(chance)
        number = self.controller()
        if number is not None and chance.below(2):
            self._hold_up(chance, number)
        return f"{self._changes} changes {self._delay}us"

    def _hold_up(self, chance: SeededRandom, number: int) -> None:
        """What it tells another from now on arrives seconds later."""
        others = [it for it in self.brokers if it != number]
        other = self.brokers[others[chance.below(len(others))]].machine
        link = self.world.wires.link(self.brokers[number].machine.host, other.host)
        delay = chance.between(*LATE_SECONDS) * SECOND
        link.delay = (delay, delay)
        self.world.after(HELD_UP_SECONDS * SECOND, link.quicken)

    def _on_change(self, event: Event) -> None:
        del event
        if self._changes:
            self._changes -= 1
            if not self._changes:
                self.world.after(self._delay, self._kill)

    def _kill(self) -> None:
        number = self.controller()
        if number is not None:
            machine = self.brokers[number].machine
            machine.kill()
            self.world.after(self._outage, machine.start_if_down)

    def heal(self) -> None:
        """Nothing is killed any more, and machines that are down start."""
        self._changes = 0
        for machine in self.machines:
            machine.start_if_down()


class DeletedController(ClusterFault):
    """An operator deletes /controller, and the controller, whose session lives, hears of it late.

    Meanwhile another broker stops: both the old controller and the new one decide on its leaders.
    What the old one writes, or what ZooKeeper answers, is late, or the old one stands still.
    """

    name = "deleted-controller"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._is_over = False

    def strike(self, chance: SeededRandom) -> str | None:
        """The one that the tree names, while it serves."""
        number = self.controller()
        if number is None or not self.brokers[number].serves:
            return None
        controller = self.brokers[number]
        if controller.machine.paused:
            return None
        delay = chance.between(*BEHIND_MILLIS) * MILLI
        how = self._fall_behind(chance, controller.machine, delay)
        self._stop_another(chance, number)
        self.world.after(chance.below(2 * delay), lambda: self.hands.in_tree(self._delete))
        return f"{controller.machine.name} {how} {delay}us"

    def _fall_behind(self, chance: SeededRandom, machine: Machine, delay: int) -> str:
        wires = self.world.wires
        writes, answers = wires.both_ways(machine.host, self.world.machine(ZOOKEEPER).host)
        shapes = {"writes": (writes,), "answers": (answers,), "both": (writes, answers), "": ()}
        how = [*shapes][chance.below(len(shapes))]
        for link in shapes[how]:
            link.delay = (delay, delay)
            self.world.after(HELD_UP_SECONDS * SECOND, link.quicken)
        if not how:
            machine.pause()
            self.world.after(2 * delay, machine.resume)
        return how or "paused"

    def _stop_another(self, chance: SeededRandom, number: int) -> None:
        """In good order, which the controller hears at once, or not."""
        others = [it for key, it in self.brokers.items() if key != number and it.serves]
        if not others:
            return
        other = others[chance.below(len(others))]
        if chance.below(2) and other.broker is not None:
            other.broker.stop()
        else:
            other.machine.kill()
            self.world.after(self.later(chance), other.machine.start_if_down)

    async def _delete(self, client: ZooKeeperClient) -> None:
        if self._is_over:  # it waited for ZooKeeper
            return
        try:
            await client.delete(ControllerZnode.PATH)
        except NoNode:
            return

    def heal(self) -> None:
        """Nothing is deleted any more, and all go on."""
        self._is_over = True
        for machine in self.machines:
            machine.resume()
            machine.start_if_down()


class BouncedFollower(ClusterFault):
    """A follower loses power when it has just joined an ISR, and is back at once in another life.

    What leaders have to say of its former life is still on its way to the controller then.
    """

    name = "bounced-follower"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._awaited: int | None = None  # to join
        self._isr: dict[str, frozenset[int]] = {}
        cluster.world.history.watch(self._on_change, {STATE})

    def strike(self, chance: SeededRandom) -> str | None:
        """One that serves; twice: so that it has to join again, and when it does."""
        numbers = [it for it, broker in self.brokers.items() if broker.serves]
        controller = self.controller()
        if not numbers or self._awaited is not None or controller is None:
            return None
        self._awaited = numbers[chance.below(len(numbers))]
        target = self.brokers[controller].machine.host
        delay = chance.between(*HESITATION_MILLIS) * MILLI
        links = [
            self.world.wires.link(broker.machine.host, target)
            for number, broker in self.brokers.items()
            if number not in {controller, self._awaited}
        ]
        for link in links:
            link.delay = (delay, delay)
            self.world.after(HELD_UP_SECONDS * SECOND, link.quicken)
        self.world.after(HELD_UP_SECONDS * SECOND, self._await_nobody)
        machine = self.brokers[self._awaited].machine
        self._bounce(machine)
        return machine.name

    def _await_nobody(self) -> None:
        self._awaited = None

    def _bounce(self, machine: Machine) -> None:
        machine.cut_power()
        machine.start_if_down()

    def _on_change(self, event: Event) -> None:
        partition, _, _, isr = event.details
        before, now = self._isr.get(partition, frozenset()), frozenset(isr)
        self._isr[partition] = now
        awaited = self._awaited
        if before and awaited is not None and awaited in now - before:
            self._awaited = None
            self.world.after(0, partial(self._bounce, self.brokers[awaited].machine))


class RollingRestart(ClusterFault):
    """Every broker in turn is told to stop, and is started; the next once all are in sync again."""

    name = "rolling-restart"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._left: list[BrokerMachine] = []
        self._patience = 0

    def strike(self, chance: SeededRandom) -> str | None:
        """All of them, in some order, unless that is being done."""
        if self._left:
            return None
        left = list(self.brokers.values())
        self._left = [left.pop(chance.below(len(left))) for _ in range(len(left))]
        self._go_on()
        return ",".join(it.machine.name for it in self._left)

    def _go_on(self) -> None:
        if not self._left:
            return
        self._patience -= 1
        if self._patience <= 0 or self.copies.all_are_whole():
            self._patience = ROLL_SECONDS_MAX
            broker = self._left.pop()
            if broker.serves and not broker.machine.paused and broker.broker is not None:
                broker.broker.stop()
        self.world.after(SECOND, self._go_on)

    def heal(self) -> None:
        """The others are not restarted."""
        self._left.clear()


class OtherAddress(ClusterFault):
    """A broker is stopped, and comes back at another port."""

    name = "other-address"

    def strike(self, chance: SeededRandom) -> str | None:
        """In good order or not."""
        broker = self.serving(chance)
        if broker is None or broker.broker is None:
            return None
        broker.port = PORT if broker.port == OTHER_PORT else OTHER_PORT
        if chance.below(2):
            broker.broker.stop()
        else:
            broker.machine.kill()
            self.world.after(self.later(chance), broker.machine.start_if_down)
        return f"{broker.machine.name}:{broker.port}"

    def heal(self) -> None:
        """Machines that are down start, where they listen now."""
        for machine in self.machines:
            machine.start_if_down()


class LongAbsence(ClusterFault):
    """A broker is away for so long that what it hosts may be gone when it is back."""

    name = "long-absence"

    def strike(self, chance: SeededRandom) -> str | None:
        """One, while all others have everything."""
        broker = self.serving(chance)
        if broker is None or not self.copies.all_are_whole():
            return None
        broker.machine.kill()
        self.world.after(chance.between(*ABSENCE_SECONDS) * SECOND, broker.machine.start_if_down)
        return broker.machine.name

    def heal(self) -> None:
        """It is back."""
        for machine in self.machines:
            machine.start_if_down()
