"""What may happen to processes, networks and disks of a cluster, each with its end."""

from __future__ import annotations

import os
import signal
from enum import IntEnum

from odradek.model.ids import TopicPartition
from tests.live.connections import Silence, cut_connections
from tests.live.pairs.arena import Arena, Place


class Heals(IntEnum):
    """When a fault ends, beside the other one."""

    FIRST = 0  # what stands still would stop all else
    THEN = 1
    LAST = 2  # when all brokers are up


class Fault:
    """One kind; an object is one occurrence."""

    heals = Heals.THEN

    destroys = False
    """A copy of what was acknowledged."""

    needs_all = False
    """The brokers, and ZooKeeper."""

    is_of_clients = False
    """And of nothing else."""

    def __init__(self, arena: Arena, place: Place) -> None:
        self.arena, self.place = arena, place

    @property
    def partition(self) -> TopicPartition:
        """Where it strikes."""
        return self.place.partition

    @property
    def broker(self) -> int:
        """Which it strikes."""
        return self.place.broker

    def strike(self) -> None:
        """It begins."""

    def heal(self) -> None:
        """It ends; brokers that are down are started behind."""

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.broker}"


class Dies(Fault):
    """kill -9."""

    def strike(self) -> None:
        """No word is said."""
        self.arena.signal(self.broker, signal.SIGKILL)


class Stops(Fault):
    """SIGTERM: what it leads is moved first."""

    def strike(self) -> None:
        """It ends by itself."""
        self.arena.signal(self.broker, signal.SIGTERM)


class Hangs(Fault):
    """SIGSTOP past its session."""

    heals = Heals.FIRST

    def strike(self) -> None:
        """Its sockets stay."""
        self.arena.pause(self.broker)

    def heal(self) -> None:
        """It finds itself replaced."""
        self.arena.resume(self.broker)


class IsCutOff(Fault):
    """Every connection breaks."""

    def strike(self) -> None:
        """Both ends see the end."""
        self.arena.cut(self.broker)


class Unheard(Fault):
    """Packets are lost, and no connection ends."""

    heals = Heals.FIRST
    silence: Silence

    def strike(self) -> None:
        """Also those of connections that are made meanwhile."""
        self.silence = Silence(*self.ways())

    def heal(self) -> None:
        """What was sent meanwhile is sent again."""
        self.silence.end()

    def ways(self) -> list[tuple[int, int]]:
        """From which process to which."""
        raise NotImplementedError

    @property
    def others(self) -> list[int]:
        """The processes of the other brokers that run."""
        running = self.arena.running
        return [pid for number, pid in running.items() if number != self.broker]

    @property
    def zookeeper(self) -> int:
        """Its process."""
        return self.arena.cluster.zookeeper.pid

    def from_it(self, *others: int) -> list[tuple[int, int]]:
        """From its process, if it runs, to each of these."""
        running = self.arena.running
        return [(running[self.broker], it) for it in others] if self.broker in running else []

    def to_it(self, *others: int) -> list[tuple[int, int]]:
        """From each of these to its process."""
        return [(other, it) for it, other in self.from_it(*others)]

    def both(self, *others: int) -> list[tuple[int, int]]:
        """There and back."""
        return self.from_it(*others) + self.to_it(*others)


class IsAlone(Unheard):
    """Only clients reach it: neither brokers nor ZooKeeper."""

    def ways(self) -> list[tuple[int, int]]:
        """Both, to and from all."""
        return self.both(*self.others, self.zookeeper)


class HearsNoBroker(Unheard):
    """What it says is heard, and the answers are not."""

    def ways(self) -> list[tuple[int, int]]:
        """From each to it."""
        return self.to_it(*self.others)


class IsNotHeard(Unheard):
    """It hears the others, who do not hear it."""

    def ways(self) -> list[tuple[int, int]]:
        """From it to each."""
        return self.from_it(*self.others)


class LosesZookeeper(Unheard):
    """Its session ends, and all brokers still reach it."""

    def ways(self) -> list[tuple[int, int]]:
        """Both."""
        return self.both(self.zookeeper)


class TwoDoNotMeet(Unheard):
    """It and one other; each reaches the third, and ZooKeeper."""

    def ways(self) -> list[tuple[int, int]]:
        """Both."""
        return self.both(self.arena.random.choice(self.others))


class DiskHangs(Fault):
    """Who writes to it waits."""

    def strike(self) -> None:
        """A frozen file system does this."""
        self.arena.freeze(self.broker)

    def heal(self) -> None:
        """The dir may have been taken offline: a restart takes it back."""
        self.arena.end(self.broker)


class DiskFails(Fault):
    """Every call fails; what was not synced is lost."""

    destroys = True

    def strike(self) -> None:
        """While it is used."""
        self.arena.thaw(self.broker)
        self.arena.disks[self.broker].break_down()

    def heal(self) -> None:
        """An empty one comes in its place."""
        self.arena.end(self.broker)
        self.arena.disks[self.broker].pull()
        self.arena.disks[self.broker].insert()


class DiskIsReplaced(DiskFails):
    """By an empty one, while its broker is down."""

    def strike(self) -> None:
        """It will be started soon."""
        super().heal()

    def heal(self) -> None:
        """It has one."""


class Rots(Fault):
    """A byte of the newest batch is another one when the broker comes back."""

    destroys = True

    def strike(self) -> None:
        """Of the newest segment that has any."""
        self.arena.end(self.broker)
        for file in reversed(self.arena.log_files(self.place)):
            size = file.stat().st_size
            if size:
                with file.open("r+b") as opened:
                    opened.seek(size - 1)
                    (last,) = opened.read(1)
                    opened.seek(size - 1)
                    opened.write(bytes([last ^ 1]))
                return


class ZookeeperIsAway(Fault):
    """For less than its sessions, or for longer."""

    heals = Heals.FIRST

    def strike(self) -> None:
        """Connections stay, nothing is answered."""
        os.kill(self.arena.cluster.zookeeper.pid, signal.SIGSTOP)

    def heal(self) -> None:
        """It goes on with what it had."""
        os.kill(self.arena.cluster.zookeeper.pid, signal.SIGCONT)


class ZookeeperIsCutOff(Fault):
    """Every connection to it breaks."""

    def strike(self) -> None:
        """All of them are made again."""
        cut_connections(self.arena.cluster.zookeeper.pid)
