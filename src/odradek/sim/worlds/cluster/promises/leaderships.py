"""What holds of leaderships: who leads in which epoch, with which ISR; and epochs only rise."""

from collections.abc import Mapping
from typing import ClassVar

from odradek.metadata.image import TopicImage
from odradek.metadata.nouns import PartitionState
from odradek.model.ids import BrokerId, TopicId
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.cluster.promises.insides import Copies, Looks
from odradek.sim.worlds.cluster.view import Place


class OneLeaderInEachEpoch(Looks):
    """In one leader epoch of a partition one process leads: that of the broker that was elected."""

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._leaders: dict[tuple[TopicId, int, int], str] = {}

    def look(self) -> None:
        """Replicas that believe to lead, perhaps of a topic whose name another has by now."""
        states = self._view.states()
        for name, number, broker in self._view.processes():
            for replica in broker.services_of_this_life.replicas.all_led():
                where = replica.partition
                epoch = (replica.topic_id, where.partition, replica.leader_epoch)
                other = self._leaders.setdefault(epoch, name)
                assert other == name, (
                    f"{where} is led by {other} and by {name} in epoch {replica.leader_epoch}"
                )
                state = states.get(Place(replica.topic_id, where))
                if state is not None and state.leader_epoch == replica.leader_epoch:
                    assert state.leader in {number, None}, f"{where}: {number} leads, not {state}"


class LeadersKnowTheIsr(Looks):
    """A leader's ISR is what the controller wrote, as of the version that it names.

    What ZooKeeper could not save before it stopped was not written: no client was told so, and the
    version may be that of another state one day. So each of its lives begins with its own tree. And
    versions begin anew where somebody has put a state back, so they are those of a leader epoch.
    """

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._written: dict[tuple[Place, int, int], frozenset[BrokerId]] = {}
        self._life = 0  # of ZooKeeper
        self._seen: Mapping[Place, PartitionState] = {}  # at the last look

    def look(self) -> None:
        """Of every leader that is as far as the tree."""
        if self._life != self._view.zookeeper_lives:
            self._life, self._seen = self._view.zookeeper_lives, {}
            self._written.clear()
        if self._seen is not self._copies.states:
            self._seen = self._copies.states
            for place, state in self._seen.items():
                key = (place, state.leader_epoch, state.partition_epoch)
                self._written[key] = frozenset(state.isr)
        for number, place, replica in self._copies.led:
            leader = replica.leader
            believed = leader.isr.committed
            key = (place, replica.leader_epoch, leader.partition_epoch)
            written = self._written.get(key, believed)
            assert believed == written, (
                f"{place}: {number} believes in {sorted(believed)} at "
                f"{leader.partition_epoch}, and {sorted(written)} was written"
            )


class EpochsOnlyRise(Looks):
    """No epoch falls: of a controller, of a broker's registration, of a leadership or its state.

    Where somebody removes a state, and puts it back, its versions begin anew: ZooKeeper counts them
    for each znode. Its leader epochs fall there no more than elsewhere.
    """

    watches: ClassVar = frozenset({"looks", "state.may_begin_anew"})

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._highest: dict[tuple[object, ...], int] = {}
        self._seen: dict[tuple[str, int], Mapping[str, TopicImage]] = {}  # by process and life
        self._anew: set[str] = set()  # partitions whose versions may fall

    def on(self, event: Event) -> None:
        """Looks, or remembers for which partitions there is an exception."""
        if event.what == "looks":
            self.look()
        else:
            self._anew.update(event.details)

    def look(self) -> None:
        """As each life of each broker knows it; what is the same object has not changed."""
        for number, broker in self._view.opened():
            machine, cluster = self._view.acting(number).machine, broker.cluster
            who, life = machine.name, machine.lives
            self._rises((who, life, "controller"), cluster.controller_epoch)
            self._rises((who, "broker"), max(cluster.broker_epoch, 0))
            topics = cluster.image.topics
            before = self._seen.get((who, life), {})
            if topics is before:
                continue
            self._seen[who, life] = topics
            for topic_name, topic in topics.items():
                if before.get(topic_name) is topic:
                    continue
                for partition, image in topic.partitions.items():
                    state = image.state
                    if state is None:
                        continue
                    name = (who, life, topic.topic_id, partition)
                    self._rises((*name, "leader"), state.leader_epoch)
                    if f"{topic_name}-{partition}" not in self._anew:
                        self._rises((*name, "version"), state.partition_epoch)
                    assert state.leader in {None, *state.isr}, f"{topic.name}-{partition}: {state}"

    def _rises(self, what: tuple[object, ...], epoch: int) -> None:
        before = self._highest.get(what, epoch)
        if what[1] == "broker" and epoch == 0:
            return  # not registered now
        assert epoch >= before, f"{what}: {epoch}, it was {before}"
        self._highest[what] = epoch


class UncleanElectionsAreAllowed(Invariant):
    """No broker from outside the ISR leads where that is not allowed."""

    watches: ClassVar = frozenset({"unclean.may_be", "elected.uncleanly"})

    def __init__(self) -> None:
        self._allowed: set[str] = set()

    def on(self, event: Event) -> None:
        """Once it was allowed it may be at any time: somebody may hear late of the end of it."""
        topic = event.details[0]
        if event.what == "unclean.may_be":
            self._allowed.add(topic)
        assert topic in self._allowed, f"{topic}: {event.details} was elected uncleanly"
