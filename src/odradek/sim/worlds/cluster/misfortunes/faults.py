"""What can go wrong only where there are several brokers, and a ZooKeeper of its own."""

from collections.abc import Sequence
from typing import Final

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.faults import Fault
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER, ZooKeeperMachine
from odradek.sim.worlds.cluster.promises.insides import Copies

DAY_MICROS: Final = 86_400 * SECOND
DAYS_MAX: Final = 8


class HangingWorkers(Fault):
    """A call to a disk does not return for a while: nothing behind it is done."""

    name = "hanging-worker"

    def __init__(self, world: World, brokers: Sequence[BrokerMachine]) -> None:
        super().__init__(world, [broker.machine.name for broker in brokers])
        self._brokers = brokers

    def strike(self, chance: SeededRandom) -> str | None:
        """A disk of a broker that has got so far as to have some."""
        broker = self._brokers[chance.below(len(self._brokers))]
        if not broker.machine.running or not broker.workers:
            return None
        name = broker.disks[chance.below(len(broker.disks))]
        worker = broker.workers[name]
        worker.hang()
        self.world.after(self.later(chance), worker.go_on)
        return f"{broker.machine.name} {name}"

    def heal(self) -> None:
        """All go on."""
        for broker in self._brokers:
            for worker in broker.workers.values():
                worker.go_on()


class WrongDay(Fault):
    """The wall clock of a machine shows another day: somebody has set it, or it was never set."""

    name = "wrong-day"

    def strike(self, chance: SeededRandom) -> str | None:
        """Some days too early or too late, or the truth again."""
        machine = self.machines[chance.below(len(self.machines))]
        size = DAY_MICROS * (1 + chance.below(DAYS_MAX))
        machine.clock.skew = (0, size, -size)[chance.below(3)]
        return f"{machine.name} {machine.clock.skew}us"

    def heal(self) -> None:
        """All show the truth."""
        for machine in self.machines:
            machine.clock.skew = 0


class ControlledShutdown(Fault):
    """A broker is told to stop, hands over what it leads, and is started again, at once or not."""

    name = "controlled-shutdown"

    def __init__(self, world: World, brokers: Sequence[BrokerMachine]) -> None:
        super().__init__(world, [broker.machine.name for broker in brokers])
        self._brokers = brokers

    def strike(self, chance: SeededRandom) -> str | None:
        """One that serves; it may be struck by something else on its way."""
        broker = self._brokers[chance.below(len(self._brokers))]
        if not broker.serves or broker.machine.paused or broker.broker is None:
            return None
        broker.stop(self.later(chance) if chance.below(2) else 0)
        return broker.machine.name

    def heal(self) -> None:
        """Who stops now is back at once."""
        for broker in self._brokers:
            broker.absence = 0
            broker.machine.start_if_down()


class ExpiredSessions(Fault):
    """ZooKeeper ends a session whose client may be alive."""

    name = "expired-session"

    def __init__(self, world: World, zookeeper: ZooKeeperMachine) -> None:
        super().__init__(world, (ZOOKEEPER,))
        self._zookeeper = zookeeper

    def strike(self, chance: SeededRandom) -> str | None:
        """One of those that are open."""
        if not self._zookeeper.serves or self._zookeeper.machine.paused:
            return None
        assert self._zookeeper.server is not None
        sessions = sorted(self._zookeeper.server.core.database.sessions.open)
        if not sessions:
            return None
        session = sessions[chance.below(len(sessions))]
        self._zookeeper.expire(session)
        return f"{session:#x}"


class WipedDisk(Fault):
    """A broker is killed, and comes back with an empty disk in the place of one of its own.

    Only while every other replica of every partition has all that is committed: what is lost
    with two disks at once is not promised to be there.
    """

    name = "wiped-disk"

    def __init__(self, world: World, brokers: Sequence[BrokerMachine], copies: Copies) -> None:
        super().__init__(world, [broker.machine.name for broker in brokers])
        self._copies = copies

    def strike(self, chance: SeededRandom) -> str | None:
        """One disk."""
        machine = self.running(chance)
        if machine is None or not machine.disks or not self._copies.all_are_whole():
            return None
        disk = sorted(machine.disks)[chance.below(len(machine.disks))]
        machine.kill()
        self._copies.wipe(machine.name)
        del machine.disks[disk]
        self.world.after(self.later(chance), machine.start_if_down)
        return f"{machine.name} {disk}"

    def heal(self) -> None:
        """Machines that are down start."""
        for machine in self.machines:
            machine.start_if_down()
