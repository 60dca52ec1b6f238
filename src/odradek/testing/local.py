"""A cluster in the process of a test, and what can be done to it.

    with odradek.testing.cluster() as c:
        c.kill(2)

Each broker has a thread with its loop, and so has ZooKeeper. Brokers are the product's, on the real
disk and the real network, with a layer of faults at those doors. Calls return once what they say
is so; what cannot be is refused with `WrongCall`.
"""

import errno
from collections.abc import Iterable, Mapping
from pathlib import Path

from odradek.broker.broker import Broker
from odradek.metadata.image import PartitionImage
from odradek.model.units import SECOND, Millis
from odradek.sim.doors.disk_faults import Fault
from odradek.testing.brokers import CLIENT, Brokers, Seen
from odradek.testing.errors import WrongCall
from odradek.testing.faulty_disk import GROWS
from odradek.testing.faulty_network import CLIENTS
from odradek.testing.faulty_network import Member as LinkEnd
from odradek.testing.local_zookeeper import ZOOKEEPER
from odradek.testing.member import INSIDE, Member


class LocalCluster(Brokers[Member]):
    """Brokers 1 to n in this process. Use it as a context."""

    def _launch(self, folder: Path, settings: Mapping[str, str]) -> None:
        said = {
            "listener.security.protocol.map": f"{CLIENT}:PLAINTEXT,{INSIDE}:PLAINTEXT",
            "inter.broker.listener.name": INSIDE,
            **settings,
        }
        for number in range(1, self._count + 1):
            self._members[number] = Member(number, folder, said, self._links)
            self._members[number].launch()
        for member in self._members.values():
            member.await_start()

    def _kill_all(self) -> None:
        for member in self._members.values():
            if member.life is not None and member.life.thread.runs:
                member.life.kill()

    # Brokers

    def kill(self, broker: int) -> None:
        """Ends it at once: connections break, and what was not given to a disk is gone."""
        self._member(broker).living.kill()

    def start(self, broker: int) -> None:
        """Starts it again, at its ports and on its disks."""
        self._member(broker).launch()
        self._member(broker).await_start()

    def stop(self, broker: int) -> None:
        """In good order: it hands over what it leads."""
        self._member(broker).living.stop()

    def pause(self, broker: int) -> None:
        """It stands still: its connections stay open, and nothing is answered."""
        life = self._member(broker).living
        if life.is_paused:
            raise WrongCall(f"broker {broker} stands still already")
        life.is_paused = True
        life.thread.pause()

    def resume(self, broker: int) -> None:
        """It goes on."""
        life = self._member(broker).living
        if not life.is_paused:
            raise WrongCall(f"broker {broker} does not stand still")
        life.is_paused = False
        life.thread.resume()

    # Disks

    def fail_disk(self, broker: int, disk: int) -> None:
        """Every call to it fails from now on."""
        self._fault(broker, disk, Fault(errno.EIO))

    def fill_disk(self, broker: int, disk: int) -> None:
        """It has no room left."""
        self._fault(broker, disk, Fault(errno.ENOSPC, GROWS))

    def slow_disk(self, broker: int, disk: int, *, ms: int) -> None:
        """Every call to it takes so much longer."""
        self._fault(broker, disk, Fault(0, delay=Millis(ms)))

    def mend_disk(self, broker: int, disk: int) -> None:
        """What was made wrong with it is so no longer; what is on it stays."""
        self._member(broker).faults[self._disk(broker, disk)].rows.clear()

    def replace_disk(self, broker: int, disk: int) -> None:
        """Puts an empty one in the place of one that failed; the broker takes it if it runs."""
        member = self._member(broker)
        path = self.directory(broker, disk)
        if member.is_alive:
            self._await(
                lambda: self._is_offline(broker, path),
                f"disk {disk} of broker {broker} has not failed: only one that did is replaced",
            )
        self.mend_disk(broker, disk)
        for entry in sorted(path.iterdir()):
            _remove(entry)
        if member.is_alive:
            member.on_loop(lambda it: it.services_of_this_life.dir_admin.replace(str(path)))

    def _fault(self, broker: int, disk: int, fault: Fault) -> None:
        self._member(broker).faults[self._disk(broker, disk)].rows.append(fault)

    def _is_offline(self, broker: int, path: Path) -> bool:
        dirs = self._broker(broker).services_of_this_life.replicas.dirs
        return dirs.failures.has_failed(str(path))

    # The network

    def cut(self, one: Iterable[LinkEnd], other: Iterable[LinkEnd]) -> None:
        """Nothing arrives between these any more, until `heal`. `zookeeper` can be among them."""
        self._links.cut(self._pairs(one, other))

    def delay(self, one: LinkEnd, other: LinkEnd, *, ms: int) -> None:
        """What is sent between these arrives so much later, both ways."""
        self._links.delay(self._pairs([one], [other]), ms / SECOND)

    def cut_clients(self, broker: int) -> None:
        """Its clients' connections break, and what comes by new ones does not arrive."""
        self._links.cut([(CLIENTS, self._member(broker).number)])
        life = self._member(broker).living
        life.thread.soon(life.network.break_clients)

    def heal(self) -> None:
        """Every link works."""
        self._links.heal()

    def _pairs(
        self, one: Iterable[LinkEnd], other: Iterable[LinkEnd]
    ) -> list[tuple[LinkEnd, LinkEnd]]:
        here, there = list(one), list(other)
        for end in (*here, *there):
            if end != ZOOKEEPER:
                self._member(end)
        both = [(a, b) for a in here for b in there]
        if any(a == b for a, b in both):
            raise WrongCall("a member cannot be cut from itself")
        return [*both, *((b, a) for a, b in both)]

    # How it is found out

    def _disk(self, broker: int, disk: int) -> int:
        dirs = self._member(broker).dirs
        if disk not in range(len(dirs)):
            raise WrongCall(f"broker {broker} has no disk {disk!r}: it has 0 to {len(dirs) - 1}")
        return disk

    def _broker(self, number: int) -> Broker:
        return self._members[number].living.broker

    def _controllers(self) -> set[int | None]:
        return {self._broker(it).cluster.image.controller for it in self._answering()}

    def _seen(self, topic: str) -> dict[int, Seen]:
        return {number: _as_seen(it) for number, it in self._newest(topic).items()}

    def _newest(self, topic: str) -> dict[int, PartitionImage]:
        """The partitions of a topic, each as the best informed broker knows it."""
        found: dict[int, PartitionImage] = {}
        for number in self._answering():
            image = self._broker(number).cluster.image.topics.get(topic)
            for partition, it in () if image is None else image.partitions.items():
                if partition not in found or _age(found[partition]) < _age(it):
                    found[partition] = it
        return found

    def _is_known(self, topic: str) -> bool:
        return all(topic in self._broker(it).cluster.image.topics for it in self._answering())


def _as_seen(image: PartitionImage) -> Seen:
    isr = () if image.state is None else image.state.isr
    return Seen(image.leader, image.assignment.replicas, isr)


def _age(image: PartitionImage) -> tuple[int, int]:
    """Grows with each change."""
    return (
        (-1, -1) if image.state is None else (image.state.leader_epoch, image.state.partition_epoch)
    )


def _remove(path: Path) -> None:
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            _remove(entry)
        path.rmdir()
    else:
        path.unlink()
