"""What holds inside of a broker that serves, whatever its clients see.

Looked at whenever a client is told something: then the broker has just done something.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import ClassVar, Final, NamedTuple

from odradek.broker.broker import Broker
from odradek.model.ids import TopicPartition
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.storage.logs.log import PartitionLog

TOLD: Final = frozenset(
    {"client.acked", "client.end", "client.committed", "topic.made", "broker.started"}
)

UNREAD: Final = ("reason=a request that", "reason=a request of")


class Inside(Invariant):
    """One that looks into the broker."""

    watches: ClassVar = TOLD

    def __init__(self, machine: BrokerMachine) -> None:
        self._machine = machine
        self._looked = -1  # the moment of the last look

    @property
    def broker(self) -> Broker | None:
        """The one that serves, if it does."""
        return self._machine.broker if self._machine.serves else None

    def on(self, event: Event) -> None:
        """Whatever it was that somebody was told; of what is told at one moment once."""
        if self.broker is not None and event.moment != self._looked:
            self._looked = event.moment
            self.look(self.broker)

    def look(self, broker: Broker) -> None:
        """Asserts."""


def logs_of(broker: Broker) -> Iterator[tuple[str, TopicPartition, PartitionLog]]:
    """Every log that is served, and the dir that it is in."""
    for log_dir in broker.services_of_this_life.replicas.dirs.online:
        for partition, log in log_dir.logs.items():
            yield log_dir.name, partition, log


class BoundsHold(Inside):
    """A log starts at or below its high watermark, which never falls, and is not above its end."""

    def __init__(self, machine: BrokerMachine) -> None:
        super().__init__(machine)
        self._before: dict[TopicPartition, tuple[PartitionLog, int]] = {}

    def look(self, broker: Broker) -> None:
        """Of every log, and what it was when it was last looked at."""
        before, self._before = self._before, {}
        for _, partition, log in logs_of(broker):
            bounds = log.log_start_offset, log.high_watermark, log.log_end_offset
            assert list(bounds) == sorted(bounds), f"{partition}: {bounds}"
            same, high_watermark = before.get(partition, (log, 0))
            fell = same is log and log.high_watermark < high_watermark
            assert not fell, f"{partition}: {log.high_watermark}, it was {high_watermark}"
            self._before[partition] = log, log.high_watermark


class EpochsRise(Inside):
    """No epoch falls: of a leadership, of the controller, of the broker, and within a log."""

    def __init__(self, machine: BrokerMachine) -> None:
        super().__init__(machine)
        self._highest: dict[object, int] = {}

    def look(self, broker: Broker) -> None:
        """Of every partition that has a leader, who is among those in sync."""
        cluster = broker.cluster
        self._rises("controller", cluster.controller_epoch)
        if cluster.broker_epoch >= 0:
            self._rises("broker", cluster.broker_epoch)
        for topic in cluster.image.topics.values():
            for number, partition in topic.partitions.items():
                state = partition.state
                if state is not None:
                    self._rises((topic.topic_id, number), state.leader_epoch)
                    assert state.leader in {None, *state.isr}, f"{topic.name}-{number}: {state}"
        for _, name, log in logs_of(broker):
            for one, other in pairwise(log.epochs.entries):
                assert one.leader_epoch < other.leader_epoch, f"{name}: {one}, {other}"
                assert one.start_offset <= other.start_offset, f"{name}: {one}, {other}"

    def _rises(self, what: object, epoch: int) -> None:
        before = self._highest.get(what, epoch)
        assert epoch >= before, f"{what}: {epoch}, it was {before}"
        self._highest[what] = epoch


class _Failed(NamedTuple):
    """A dir that has failed. A job that was in its middle goes on, and changes it."""

    life: int
    changes: int
    is_paused: bool


class OneHomeEach(Inside):
    """No partition has two logs, and a dir that has failed is not written to."""

    def __init__(self, machine: BrokerMachine) -> None:
        super().__init__(machine)
        self._failed: dict[str, _Failed] = {}  # as it was last looked at

    def look(self, broker: Broker) -> None:
        """Of every dir."""
        served = broker.services_of_this_life.replicas.dirs.online
        for one, other in combinations(served, 2):
            twice = one.logs.keys() & other.logs.keys()
            assert not twice, f"{sorted(twice)} are in {one.name} and in {other.name}"
        online = {log_dir.name for log_dir in served}
        workers, life = self._machine.workers, self._machine.machine.lives
        for name, disk in self._machine.machine.disks.items():
            if disk.name in online:  # perhaps again, with another disk
                self._failed.pop(disk.name, None)
            else:
                is_paused = name in workers and workers[name].is_paused
                now = _Failed(life, disk.faults.changes, is_paused)
                before = self._failed.get(disk.name)
                if before is not None and before.life == life and not before.is_paused:
                    same = before.changes == now.changes
                    assert same, f"{disk.name} has failed, and was changed"
                self._failed[disk.name] = now


class CommitsAreInTheLog(Inside):
    """A group goes on at an offset that there is, or at the end."""

    watches: ClassVar = frozenset({"client.found"})

    def on(self, event: Event) -> None:
        """The topic of the group is durable: its end does not fall either."""
        if self.broker is None:
            return
        topic, number, position = event.details
        dirs = self.broker.services_of_this_life.replicas.dirs
        log = dirs.get(TopicPartition(topic, number))
        if log is not None:
            end = log.log_end_offset
            assert position <= end, f"{log.partition} ends at {end}, and {position} is committed"


class RequestsAreUnderstood(Invariant):
    """The broker can read whatever our own clients say."""

    watches: ClassVar = frozenset({"log"})

    def on(self, event: Event) -> None:
        """For what it cannot read it closes the connection."""
        _, what, *fields = event.details
        assert what != "connection.refused", fields
        if what == "connection.closed":
            unread = [field for field in fields if field.startswith(UNREAD)]
            assert not unread, unread
