"""A second process with the id of a broker, on a machine of its own: somebody copied its settings.

While the first lives the second is refused. While the first stands still for longer than its
session, the second is the broker: with empty disks, as one whose disks were replaced. The first
wakes into a cluster that has another in its place, and may do nothing there. Then somebody sees
what is going on, ends both, and starts the first with empty disks, for they are behind by now.
"""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.worlds.cluster.misfortunes.rare_faults import ClusterFault, OfCluster

REFUSED_SECONDS: Final = (1, 10)
"""How long a second process is left alone that may never be the broker."""
HANGS_SECONDS: Final = (8, 12)
"""How long the first stands still; its session lasts six."""
BOTH_SECONDS: Final = (1, 4)
"""Then, for how long both run."""
REGISTERED: Final = "broker.registered"


class Pair(NamedTuple):
    """A broker, and another process of its number."""

    number: int
    first: BrokerMachine
    second: BrokerMachine
    life: int  # of the first
    session: int  # likewise


class SecondProcessesAreRefused(Invariant):
    """No other process has a broker's id while its process serves and has its session."""

    watches: ClassVar = frozenset({"second.registered"})

    def on(self, event: Event) -> None:
        """Whenever a second process became the broker."""
        number, lived = event.details
        assert not lived, f"broker {number} lives, and another has its number"


class SecondProcess(ClusterFault):
    """Of one broker at a time, while all others have everything."""

    name: ClassVar = "second-process"

    def __init__(self, cluster: OfCluster, make: Callable[[int, str], BrokerMachine]) -> None:
        super().__init__(cluster)
        self._make = make
        self._pair: Pair | None = None
        self._view = cluster.copies.view
        cluster.world.history.watch(self._on_line, {"log"})

    def strike(self, chance: SeededRandom) -> str | None:
        """In every other case the first stands still."""
        first = self.serving(chance)
        if first is None or self._pair is not None or not self.copies.all_are_whole():
            return None
        (number,) = (it for it, broker in self.brokers.items() if broker is first)
        if BrokerZnode.path(BrokerId(number)) not in self._view.tree.nodes:
            return None
        name = f"{first.machine.name}-again"
        self.world.machine(name).disks.clear()
        session = self._view.tree.nodes[BrokerZnode.path(BrokerId(number))].owner
        second = self._make(number, name)
        self._pair = Pair(number, first, second, first.machine.lives, session)
        self._pair.second.start()
        seconds = chance.between(*REFUSED_SECONDS)
        if chance.below(2):
            first.machine.pause()
            hangs = chance.between(*HANGS_SECONDS)
            self.world.after(hangs * SECOND, first.machine.resume)
            seconds = hangs + chance.between(*BOTH_SECONDS)
        self.world.after(seconds * SECOND, self._end)
        return first.machine.name

    def _on_line(self, event: Event) -> None:
        """The second is the broker; or the first is it again, with what it had before."""
        pair = self._pair
        if pair is None or event.details[1] != REGISTERED:
            return
        if event.who == pair.second.machine.name and pair.number not in self._view.seconds:
            self.copies.wipe(pair.first.machine.name)
            self._view.seconds[pair.number] = pair.second
            self.world.history.note("world", "second.registered", pair.number, self._lives(pair))
        elif event.who == pair.first.machine.name and pair.number in self._view.seconds:
            self.world.after(0, self._end)

    def _lives(self, pair: Pair) -> bool:
        machine = pair.first.machine
        is_awake = pair.first.serves and not machine.paused and machine.lives == pair.life
        return is_awake and pair.session in self._view.sessions

    def _end(self) -> None:
        pair, self._pair = self._pair, None
        if pair is None:
            return
        pair.second.machine.kill()
        if self._view.seconds.pop(pair.number, None) is None:
            return
        pair.first.machine.kill()
        pair.first.machine.disks.clear()
        self.copies.wipe(pair.first.machine.name)
        self.world.after(SECOND, pair.first.machine.start_if_down)

    def heal(self) -> None:
        """There is one of each number."""
        self._end()
        for machine in self.machines:
            machine.start_if_down()
