"""What can go wrong in any world, each as a class: it strikes, and in the end it heals.

Here are machines, clocks and networks; `disk_misfortunes` has disks and journals.

A fault draws what it needs from the chance that it is given, and says what it did, or None where
there was nothing to harm: only effective strikes count. Most faults end by themselves after a
while; `heal` ends those that have not.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.doors.wires import WINDOW_BYTES, Link
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World

MILLI: Final = SECOND // 1_000
OUTAGE_MILLIS: Final = (1, 30_000)  # how long things stay broken; short ones are likelier
HOUR_MICROS: Final = 3_600 * SECOND


class Fault:
    """One way in which the world misbehaves, on the machines that it is given."""

    name: ClassVar[str] = ""

    def __init__(self, world: World, machines: Sequence[str]) -> None:
        self.world = world
        self.machines = [world.machine(name) for name in machines]

    def strike(self, chance: SeededRandom) -> str | None:
        """Does its harm; says to whom, or None if there was none to do."""
        raise NotImplementedError

    def heal(self) -> None:
        """Undoes what has not ended by itself."""

    def running(self, chance: SeededRandom) -> Machine | None:
        """One of its machines that is up."""
        candidates = [machine for machine in self.machines if machine.running]
        return candidates[chance.below(len(candidates))] if candidates else None

    def later(self, chance: SeededRandom) -> int:
        """A moment after which things work again, drawn so that each magnitude is as likely."""
        low, high = OUTAGE_MILLIS
        bits = chance.below(high.bit_length())
        return min(high, low << bits) * MILLI * (1 + chance.below(100)) // 50


class PowerCut(Fault):
    """A machine loses power, with all that was not synced, and comes back later."""

    name = "power-cut"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine."""
        machine = self.running(chance)
        if machine is None:
            return None
        machine.cut_power()
        self.world.after(self.later(chance), machine.start_if_down)
        return machine.name

    def heal(self) -> None:
        """Machines that are down start."""
        for machine in self.machines:
            machine.start_if_down()


class Kill(Fault):
    """A process is killed, and is started again later."""

    name = "kill"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine."""
        machine = self.running(chance)
        if machine is None:
            return None
        machine.kill()
        self.world.after(self.later(chance), machine.start_if_down)
        return machine.name

    def heal(self) -> None:
        """Machines that are down start."""
        for machine in self.machines:
            machine.start_if_down()


class Pause(Fault):
    """A process stands still, and then is late for everything."""

    name = "pause"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine that is not paused already."""
        machine = self.running(chance)
        if machine is None or machine.paused:
            return None
        machine.pause()
        self.world.after(self.later(chance), machine.resume)
        return machine.name

    def heal(self) -> None:
        """Everybody goes on."""
        for machine in self.machines:
            machine.resume()


class Cut(Fault):
    """Some directions between some machines do not work for a while; any shape is possible."""

    name = "cut"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine from all others, or each direction with a chance of its own."""
        names = [machine.name for machine in self.machines]
        pairs = [(a, b) for a in names for b in names if a != b]
        lonely = names[chance.below(len(names))]
        shape = chance.below(4)
        if shape == 0:
            cut = [(a, b) for a, b in pairs if lonely in {a, b}]
        elif shape == 1:
            cut = [(a, b) for a, b in pairs if a == lonely]
        elif shape == 2:
            cut = [(a, b) for a, b in pairs if b == lonely]
        else:
            cut = [pair for pair in pairs if chance.below(2)]
        for source, target in cut:
            self.world.wires.cut(source, target)
        self.world.after(self.later(chance), lambda: self._mend(cut))
        return ",".join(f"{a}>{b}" for a, b in cut) or None

    def _mend(self, pairs: Sequence[tuple[str, str]]) -> None:
        for source, target in pairs:
            self.world.wires.mend(source, target)

    def heal(self) -> None:
        """All of them work."""
        self.world.wires.heal()


class BrokenConnections(Fault):
    """Every connection of a machine is reset, with what is on its way."""

    name = "broken-connections"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine that has any."""
        machine = self.running(chance)
        if machine is None or not self.world.wires.break_connections(machine.host):
            return None
        return machine.name


class LostReplies(Fault):
    """What a machine answers does not arrive, and then its connections are reset.

    Requests have arrived, and had their effect: those who sent them cannot know it.
    """

    name = "lost-replies"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine, for up to a second."""
        machine = self.running(chance)
        if machine is None or not machine.host.ends:
            return None
        for other in self._others(machine):
            self.world.wires.cut(machine.name, other.name)
        self.world.after(chance.below(SECOND), lambda: self._lose(machine))
        return machine.name

    def _others(self, machine: Machine) -> list[Machine]:
        return [other for other in self.machines if other is not machine]

    def _lose(self, machine: Machine) -> None:
        self.world.wires.break_connections(machine.host)
        for other in self._others(machine):
            self.world.wires.mend(machine.name, other.name)


class SlowLinks(Fault):
    """The links of a machine delay or narrow what passes."""

    name = "slow-links"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine, to and from each other one."""
        machine = self.machines[chance.below(len(self.machines))]
        delay = 1 << chance.below(21)
        width = None if chance.below(2) else 1_000 << chance.below(12)
        for link in self._links(machine):
            link.delay, link.bytes_per_second = (delay // 2, delay), width
        self.world.after(self.later(chance), lambda: self._quicken(machine))
        return f"{machine.name} {delay}us {width}B/s"

    def _links(self, machine: Machine) -> list[Link]:
        wires, host = self.world.wires, machine.host
        others = [other.host for other in self.machines if other is not machine]
        return [link for other in others for link in wires.both_ways(host, other)]

    def _quicken(self, machine: Machine) -> None:
        for link in self._links(machine):
            link.quicken()

    def heal(self) -> None:
        """As fast as ever."""
        for machine in self.machines:
            self._quicken(machine)


class SlowReceivers(Fault):
    """A machine takes little at a time of what is sent to it: those who send have to wait."""

    name = "slow-receivers"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine, whose kernel has room for some bytes or some more on each connection."""
        machine = self.machines[chance.below(len(self.machines))]
        room = machine.host.window_bytes = 16 << chance.below(8)
        self.world.after(self.later(chance), lambda: self._hurry(machine))
        return f"{machine.name} {room}B"

    def _hurry(self, machine: Machine) -> None:
        machine.host.window_bytes = WINDOW_BYTES

    def heal(self) -> None:
        """There is room for much."""
        for machine in self.machines:
            self._hurry(machine)


class ClockJump(Fault):
    """A wall clock jumps, to and fro."""

    name = "clock-jump"

    def strike(self, chance: SeededRandom) -> str | None:
        """Up to an hour, in one direction or the other; sometimes back to the truth."""
        machine = self.machines[chance.below(len(self.machines))]
        size = HOUR_MICROS >> chance.below(20)
        skew = (0, size, -size)[chance.below(3)]
        machine.clock.skew = skew
        return f"{machine.name} {skew}us"

    def heal(self) -> None:
        """All show the truth."""
        for machine in self.machines:
            machine.clock.skew = 0
