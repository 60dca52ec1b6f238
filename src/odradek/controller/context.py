"""What the controller knows: the cluster's image, and what it remembers beside the tree.

A partition's state in the image is what stands in the tree: a decision becomes true when it was
written, and only then are brokers told. Everything else here is lost with the controller and found
out again by the next: who shuts down, which log dirs have failed, which logs lack records.

Indexes make the cost of a fact that of the partitions it touches: `led` finds what a broker leads,
`hosted` what it holds.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Protocol

from odradek.controller.candidacy import ControllerLease
from odradek.controller.guarded_writes import StateWrite
from odradek.controller.leaders import Terms, members
from odradek.controller.phases import PartitionPhase, ReplicaPhase
from odradek.controller.request_batch import RequestBatch
from odradek.controller.steps import Steps
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import Assignment, Broker, Endpoint, PartitionState
from odradek.metadata.znodes.controller import Wish
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.names import metric_collision_key
from odradek.model.positions import BrokerEpoch, Incarnation
from odradek.model.units import Millis, Timestamp
from odradek.ports import Random
from odradek.zookeeper.protocol.codes import ANY_VERSION


class Policy(Protocol):
    """The settings that the controller decides by, as they are now."""

    @property
    def may_delete(self) -> bool:
        """Whether topics may be deleted."""
        ...

    @property
    def imbalance_percentage(self) -> int:
        """The share of a broker's preferred leaderships that may be elsewhere."""
        ...

    @property
    def topic_defaults(self) -> tuple[int, int]:
        """How many partitions and replicas a topic has that does not say so itself."""
        ...

    @property
    def random(self) -> Random:
        """Chance, for topic ids and for where placement begins."""
        ...

    def check_settings(self, settings: Mapping[str, str]) -> None:
        """Refuses settings that a topic may not have."""
        ...

    def unclean(self, topic: str) -> bool:
        """Whether losing records is allowed to get this topic a leader."""
        ...

    def min_isr(self, topic: str) -> int:
        """How large the ISR must be for acks=all."""
        ...

    @property
    def unreadable_settings(self) -> Collection[str]:
        """Topics whose settings cannot be read."""
        ...

    @property
    def has_fallback(self) -> bool:
        """Whether a broker that is not preferred may be the controller."""
        ...

    @property
    def handover_lease(self) -> Millis:
        """How long a controller that has handed over waits to be replaced."""
        ...

    @property
    def preferred_settle(self) -> Millis:
        """How long a preferred broker must have been up before the controller moves to it."""
        ...

    @property
    def preferred_min_count(self) -> int:
        """How many preferred brokers must stay when one of them stops."""
        ...

    @property
    def is_dedicated(self) -> bool:
        """Whether preferred brokers get no replicas."""
        ...

    @property
    def cordoned(self) -> Container[BrokerId]:
        """Brokers that get no new replicas."""
        ...

    def between_brokers(self, broker: Broker) -> Endpoint | None:
        """Where other brokers find a broker."""
        ...


class Deletion:
    """A topic that is being deleted. It takes part in nothing else."""

    def __init__(self) -> None:
        self.has_begun = False  # it waits while a partition is being reassigned
        self.replicas: dict[tuple[TopicPartition, BrokerId], ReplicaPhase] = {}
        self.stays: str | None = None  # why its znodes did not go, when that was tried last


class HandoverState:
    """The wish for another controller, as it stands in the tree."""

    def __init__(self) -> None:
        self.wish: Wish | None = None
        self.version = 0  # of its znode
        self.is_handing_over = False  # this controller decides nothing else meanwhile

    def begin(self, wish: Wish, version: int) -> None:
        """This is what is wished for."""
        self.wish, self.version, self.is_handing_over = wish, version, False

    def end(self) -> None:
        """Nothing is."""
        self.wish, self.is_handing_over = None, False


class ControllerContext:
    """The state of one controller epoch; the decisions change it."""

    def __init__(
        self, me: BrokerId, lease: ControllerLease, image: ClusterImage, policy: Policy
    ) -> None:
        self.me = me
        self.lease = lease
        self.image = image
        self.policy = policy
        self.batch = RequestBatch()
        self.topic_versions: dict[str, int] = {}  # of the topics' znodes
        self.lost: dict[TopicPartition, None] = {}  # their states are, so no leader may be elected
        self.unread: dict[TopicPartition, None] = {}  # states that may be there, likewise
        self.unwritten: dict[TopicPartition, str] = {}  # states behind what was decided: why
        self.unreadable: dict[str, str] = {}  # other znodes, by path: why; no watch tells of ACLs
        self.shutting_down: dict[BrokerId, None] = {}
        self.deletions: dict[str, Deletion] = {}
        self.reassigning: dict[TopicPartition, None] = {}
        self.asked_by_znode: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        self.asked_version = ANY_VERSION  # of that znode, as it was read or written last
        self.unclean_logs: dict[BrokerId, dict[TopicPartition, None]] = {}
        self.incarnations: dict[BrokerId, dict[TopicPartition, Incarnation]] = {}
        """Of logs that have lost something once, as their brokers have said."""
        self.cannot_lead: dict[BrokerId, dict[TopicPartition, None]] = {}
        """Replicas that were offline when they had to lead. That one can follow does not say that
        it can lead: a newer log than its own may be in a dir that is offline."""
        self.unproven: dict[TopicPartition, None] = {}
        """Where others are eligible, and the leader has not said that it leads, since it was
        elected or came back, or since this controller was."""
        self.unclean_elections = 0
        self.handover = HandoverState()
        self.preferred_since: dict[BrokerId, tuple[BrokerEpoch, Millis]] = {}  # seen to be alive
        self.remaining: deque[Callable[[], Steps[None]]] = deque()  # of a warm beginning
        self.now = Timestamp(0)  # when the present event was taken up, for people
        self.time = Millis(0)  # the same, for durations
        self.led: dict[BrokerId, dict[TopicPartition, None]] = {}
        self.hosted: dict[BrokerId, dict[TopicPartition, None]] = {}
        self.collisions: dict[str, str] = {}  # topics by the name that their metrics share
        self._look_who_is_live()
        for name, topic in image.topics.items():
            self._on_name(name)
            for number, partition in topic.partitions.items():
                self._index(TopicPartition(name, number), partition)
                self._mark_unproven(TopicPartition(name, number), partition.state)

    # Who could lead

    def set_brokers(self, brokers: Iterable[Broker]) -> None:
        """These are alive."""
        self.image = Changes(self.image).brokers(brokers).image()
        self._look_who_is_live()

    def shuts_down(self, broker: BrokerId) -> None:
        """It shall neither lead nor follow any more."""
        self.shutting_down[broker] = None
        self._look_who_is_live()

    def is_back(self, brokers: Iterable[BrokerId]) -> None:
        """What was known of their former lives does not count."""
        for broker in brokers:
            self.shutting_down.pop(broker, None)
            self.unclean_logs.pop(broker, None)
            for partition in self.led.get(broker, ()):
                image = self.image.partition(partition)
                self._mark_unproven(partition, None if image is None else image.state)
        self.look_again(brokers)
        self._look_who_is_live()

    def look_again(self, brokers: Iterable[BrokerId]) -> None:
        """Their log dirs may be others than those of which they have spoken."""
        for broker in brokers:
            self.incarnations.pop(broker, None)
            self.cannot_lead.pop(broker, None)

    def _look_who_is_live(self) -> None:
        brokers = self.image.brokers
        self._live = frozenset(it for it in brokers if it not in self.shutting_down)
        self._unbound = frozenset(it for it, broker in brokers.items() if broker.mark is None)

    @property
    def live(self) -> frozenset[BrokerId]:
        """Brokers that are alive and do not shut down."""
        return self._live

    def open_for_replicas(self) -> Mapping[BrokerId, Broker]:
        """Brokers on which partitions may be placed."""
        cordoned, is_dedicated = self.policy.cordoned, self.policy.is_dedicated
        return {
            number: it
            for number, it in self.image.brokers.items()
            if number not in cordoned and not (is_dedicated and it.is_preferred)
        }

    def online(self, image: PartitionImage) -> frozenset[BrokerId]:
        """Those whose replica of this partition could be used."""
        return self._live - image.offline if image.offline else self._live

    def able(self, partition: TopicPartition, image: PartitionImage) -> frozenset[BrokerId]:
        """Those of them that could lead, as far as they have said."""
        online, cannot = self.online(image), self.cannot_lead
        if not cannot:
            return online
        return frozenset(it for it in online if partition not in cannot.get(it, ()))

    def unclean(self, partition: TopicPartition, image: PartitionImage) -> frozenset[BrokerId]:
        """Replicas that are known to lack records which were committed."""
        logs = self.unclean_logs
        if not logs:
            return frozenset()
        return frozenset(it for it in image.assignment.replicas if partition in logs.get(it, ()))

    def must_be_whole(self, partition: TopicPartition, image: PartitionImage) -> bool:
        """Whether the leader shall refuse if its log lacks records: others may have them."""
        state = image.state
        if state is None or state.leader is None or state.recovering:
            return False
        leader = state.leader
        if partition in self.unclean_logs.get(leader, ()):
            return False
        return members(state) != (state.leader,)

    def terms(self, partition: TopicPartition, image: PartitionImage) -> Terms:
        """What decides who is eligible in its next state."""
        replicas, unclean = image.assignment.replicas, self.unclean(partition, image)
        return Terms(
            min(self.policy.min_isr(partition.topic), len(replicas)),
            tuple(it for it in replicas if it not in unclean) if unclean else replicas,
            self._unbound,
            partition not in self.unproven,
        )

    def is_led(self, image: PartitionImage) -> bool:
        """Whether its leader could do its work."""
        return (
            image.leader is not None
            and image.leader in self.image.brokers
            and (image.leader not in image.offline)
        )

    def is_deleting(self, topic: str) -> bool:
        """Whether its deletion has begun; while that waits the topic goes on as before."""
        deletion = self.deletions.get(topic)
        return deletion is not None and deletion.has_begun

    def phase(self, partition: TopicPartition) -> PartitionPhase:
        """Where a partition stands."""
        image = self.image.partition(partition)
        if image is None:
            return PartitionPhase.NON_EXISTENT
        if image.state is None:
            return PartitionPhase.NEW
        return PartitionPhase.ONLINE if self.is_led(image) else PartitionPhase.OFFLINE

    # Partitions

    def partitions_of(self, topic: str) -> tuple[TopicPartition, ...]:
        """All of a topic."""
        found = self.image.topics.get(topic)
        return () if found is None else tuple(TopicPartition(topic, it) for it in found.partitions)

    def set_topic(
        self, name: str, topic_id: TopicId | None, partitions: Mapping[int, PartitionImage]
    ) -> None:
        """A topic is new, or has got its id."""
        known = self.image.topics.get(name)
        for number, image in known.partitions.items() if known is not None else ():
            self._unindex(TopicPartition(name, number), image)
        self.image = Changes(self.image).topic(name, topic_id, partitions).image()
        self._on_name(name)
        for number, image in partitions.items():
            self._index(TopicPartition(name, number), image)
            self._mark_unproven(TopicPartition(name, number), image.state)

    def forget_topic(self, name: str) -> None:
        """A topic is gone."""
        topic = self.image.topics.get(name)
        self.deletions.pop(name, None)
        self.topic_versions.pop(name, None)
        key = metric_collision_key(name)
        if self.collisions.get(key) == name:
            del self.collisions[key]
        if topic is None:
            return
        for number, image in topic.partitions.items():
            partition = TopicPartition(name, number)
            self._unindex(partition, image)
            self.unproven.pop(partition, None)
            for logs in (*self.unclean_logs.values(), *self.cannot_lead.values()):
                logs.pop(partition, None)
            for incarnations in self.incarnations.values():
                incarnations.pop(partition, None)
        self.image = Changes(self.image).remove_topic(name).image()

    def set_partitions(self, partitions: Mapping[TopicPartition, PartitionImage]) -> None:
        """These are as given from now on."""
        changes = Changes(self.image)
        for partition, image in partitions.items():
            before = self.image.partition(partition)
            if before is not None:
                self._unindex(partition, before)
            self._index(partition, image)
            changes.partition(partition, image)
        self.image = changes.image()

    def set_states(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """These stand in the tree."""
        changes = Changes(self.image)
        for partition, state in states.items():
            image = self.image.partition(partition)
            if image is None:
                continue
            if not state.eligible:
                self.unproven.pop(partition, None)
            if image.leader != state.leader:
                self._mark_unproven(partition, state)
                self._unlead(partition, image)
                if state.leader is not None:
                    self.led.setdefault(state.leader, {})[partition] = None
            changes.partition(partition, image._replace(state=state))
        self.image = changes.image()

    def set_assignment(self, partition: TopicPartition, assignment: Assignment) -> None:
        """These brokers hold a partition."""
        image = self.image.partition(partition)
        if image is not None:
            self.set_partitions({partition: image._replace(assignment=assignment)})

    def on_written(self, writes: Iterable[StateWrite]) -> None:
        """These stand in the tree: they are true from now on, and whom it concerns is told."""
        about = list(writes)
        self.set_states({write.partition: write.state for write in about})
        for write in about:
            self.unclean_elections += write.is_unclean
            self.unwritten.pop(write.partition, None)
            image = self.image.partition(write.partition)
            if image is not None:
                self.tell(write.partition, image, is_new=write.is_new)

    def on_conflicts(self, found: Mapping[TopicPartition, PartitionState]) -> None:
        """Somebody else has written these: their leaders know of no such version, and may wait."""
        self.set_states(found)
        for partition in found:
            image = self.image.partition(partition)
            if image is not None:
                self.tell(partition, image)

    def tell(
        self, partition: TopicPartition, image: PartitionImage, *, is_new: bool = False
    ) -> None:
        """Everybody who holds a partition hears who leads it."""
        for broker in image.assignment.replicas:
            if broker in self.image.brokers:
                self.tell_one(broker, partition, image, is_new=is_new)

    def tell_one(
        self,
        broker: BrokerId,
        partition: TopicPartition,
        image: PartitionImage,
        *,
        is_new: bool = False,
    ) -> None:
        """One that holds a partition hears who leads it.

        A replica that is being added is new until it was in sync, in every message: a broker with a
        failed dir takes one for offline that is not new and has no log, for it may be in there.
        """
        state = image.state
        was_in_sync = state is not None and broker in {*state.isr, *state.eligible}
        is_new = is_new or (broker in image.assignment.adding and not was_in_sync)
        self.batch.add_lead((broker,), partition, is_new=is_new)

    def _index(self, partition: TopicPartition, image: PartitionImage) -> None:
        for replica in image.assignment.replicas:
            self.hosted.setdefault(replica, {})[partition] = None
        if image.leader is not None:
            self.led.setdefault(image.leader, {})[partition] = None
        if image.assignment.is_reassigning:
            self.reassigning[partition] = None

    def _unindex(self, partition: TopicPartition, image: PartitionImage) -> None:
        for replica in image.assignment.replicas:
            self.hosted[replica].pop(partition, None)
        self._unlead(partition, image)
        self.reassigning.pop(partition, None)

    def _mark_unproven(self, partition: TopicPartition, state: PartitionState | None) -> None:
        if state is not None and state.eligible:
            self.unproven[partition] = None

    def _unlead(self, partition: TopicPartition, image: PartitionImage) -> None:
        if image.leader is not None:
            self.led.get(image.leader, {}).pop(partition, None)

    def _on_name(self, name: str) -> None:
        key = metric_collision_key(name)
        if "_" in key:
            self.collisions.setdefault(key, name)
