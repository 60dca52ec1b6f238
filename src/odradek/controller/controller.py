"""The controller's mind: what follows from what happens to brokers and topics.

Facts in, effects out. It holds an image of the cluster in which a partition's state is what stands
in the tree: a decision becomes true when it was written, and only then are brokers told. One fact
is dealt with at a time, with all that follows from it, so a decision never rests on one that is
still under way.

What is decided: who leads a partition, each time the leader is gone or has come back; that a topic
which is marked is taken away, replica by replica. A topic that is being deleted takes part in
nothing else. The cost of a fact is that of the partitions it touches.

Invariants: every partition of the image has a phase; one that is ONLINE has a leader that is alive.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.controller.candidacy import ControllerLease
from odradek.controller.guarded_writes import StateWrite
from odradek.controller.leaders import after_a_failure, first_leader, new_state, next_state, without
from odradek.controller.phases import (
    PARTITION_PREDECESSORS,
    REPLICA_PREDECESSORS,
    PartitionPhase,
    ReplicaPhase,
)
from odradek.metadata.delta import brokers_delta
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import Assignment, Broker, PartitionState, TopicAssignment
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition

_P = PartitionPhase
_R = ReplicaPhase


class SendLeaderAndIsr(NamedTuple):
    """To one broker: who leads these partitions, of which it holds replicas (LeaderAndIsr)."""

    broker: BrokerId
    partitions: tuple[TopicPartition, ...]
    new: frozenset[TopicPartition] = frozenset()  # that nobody had before


class SendUpdateMetadata(NamedTuple):
    """To one broker: who is alive, and who leads these partitions (UpdateMetadata)."""

    broker: BrokerId
    partitions: tuple[TopicPartition, ...] | None  # None: all there are


class SendStopReplica(NamedTuple):
    """To one broker: its replicas of these partitions are to be deleted (StopReplica)."""

    broker: BrokerId
    partitions: tuple[TopicPartition, ...]


Message = SendLeaderAndIsr | SendUpdateMetadata | SendStopReplica


@dataclass(frozen=True, slots=True)
class Effects:
    """What is to be done, from top to bottom."""

    messages: tuple[Message, ...] = ()  # 1. to brokers, in this order
    writes: tuple[StateWrite, ...] = ()  # 2. to the tree; `on_written` brings what came of them
    forget: tuple[str, ...] = ()  # 3. topics whose znodes go, the mark last; then `on_forgotten`
    unmark: tuple[str, ...] = ()  # 4. marks of topics that will not be deleted


NOTHING: Final = Effects()


class Controller:
    """The decisions of one controller epoch."""

    def __init__(
        self,
        mandate: ControllerLease,
        image: ClusterImage,
        *,
        unclean: Callable[[str], bool],
        may_delete: bool = True,
    ) -> None:
        """`unclean` says of a topic whether losing records is allowed to get it a leader."""
        self.mandate = mandate
        self.image = image
        self.deleting: dict[str, None] = {}
        self.partition_phases: dict[TopicPartition, PartitionPhase] = {}
        self.replica_phases: dict[tuple[TopicPartition, BrokerId], ReplicaPhase] = {}
        self.faults: list[str] = []  # steps that the tables do not know, to be told and taken
        self._by_broker: dict[BrokerId, dict[TopicPartition, None]] = {}
        self._unclean = unclean
        self._may_delete = may_delete

    def begin(self, deleting: Iterable[str]) -> Effects:
        """The controller epoch begins: everybody is told all, and what has no leader gets one."""
        live = self.image.brokers
        for name, topic in self.image.topics.items():
            for number, partition in topic.partitions.items():
                self._adopt(TopicPartition(name, number), partition)
        rest = self.on_deletions(deleting)
        messages: list[Message] = [SendUpdateMetadata(broker, ()) for broker in live]
        messages += [SendUpdateMetadata(broker, None) for broker in live]
        messages += [it for broker in live for it in self._lead_all(broker)]
        return Effects(
            (*messages, *rest.messages),
            tuple(self._elections(self.partition_phases)),
            rest.forget,
            rest.unmark,
        )

    # Brokers come and go

    def on_brokers(self, brokers: Iterable[Broker]) -> Effects:
        """Those that are alive now."""
        old = self.image.brokers
        self.image = Changes(self.image).brokers(brokers).image()
        live = self.image.brokers
        changed = brokers_delta(old, live)
        if not changed:
            return NOTHING
        lost = frozenset((*changed.removed, *changed.bounced))
        arrived = tuple(sorted((*changed.added, *changed.bounced)))
        messages: list[Message] = [
            SendUpdateMetadata(broker, ()) for broker in live if broker not in arrived
        ]
        messages += [SendUpdateMetadata(broker, None) for broker in arrived]
        writes = self._on_lost(lost)
        touched = {it.partition for it in writes}
        messages += [it for broker in arrived for it in self._lead_all(broker)]
        waiting = [it for broker in arrived for it in self._by_broker.get(broker, ())]
        writes += self._elections(it for it in dict.fromkeys(waiting) if it not in touched)
        return Effects((*messages, *self._resume_deletions(arrived)), tuple(writes))

    def _on_lost(self, lost: frozenset[BrokerId]) -> list[StateWrite]:
        """Their partitions get other leaders, or lose a member of their ISR."""
        writes = []
        about = [it for broker in sorted(lost) for it in self._by_broker.get(broker, ())]
        for partition in dict.fromkeys(about):
            for broker in lost:
                self._lose(partition, broker)
            image = self.image.partition(partition)
            if image is None or image.state is None or partition.topic in self.deleting:
                continue
            write = self._without(partition, image, image.state, lost)
            if write is not None:
                writes.append(write)
        return writes

    def _lose(self, partition: TopicPartition, broker: BrokerId) -> None:
        """A replica is out of reach; a deletion that was under way has failed, for now."""
        phase = self.replica_phases.get((partition, broker))
        if phase is _R.DELETION_STARTED:
            self._enter_replica(partition, broker, _R.DELETION_INELIGIBLE)
        elif phase in REPLICA_PREDECESSORS[_R.OFFLINE]:
            self._enter_replica(partition, broker, _R.OFFLINE)

    def _without(
        self,
        partition: TopicPartition,
        image: PartitionImage,
        state: PartitionState,
        lost: frozenset[BrokerId],
    ) -> StateWrite | None:
        epoch = self.mandate.epoch
        if state.leader in lost:
            self._enter(partition, _P.OFFLINE)
            choice = after_a_failure(
                image.assignment,
                state,
                self.image.brokers,
                unclean=self._unclean(partition.topic),
            )
            if choice is not None:
                return StateWrite(partition, next_state(state, choice, epoch))
        smaller = without(state, lost, epoch)
        return None if smaller is None else StateWrite(partition, smaller)

    # Topics come, grow and go

    def on_topics(self, topics: Mapping[str, TopicAssignment | None]) -> Effects:
        """The assignments of these, as they are now; None: it is gone, though we did not do it."""
        changes, news = Changes(self.image), list[tuple[TopicPartition, PartitionImage]]()
        gone: list[str] = []
        for name, topic in topics.items():
            known = self.image.topics.get(name)
            if topic is None:
                if known is not None:
                    gone.append(name)
                continue
            before = known.partitions if known is not None else {}
            added = {
                number: PartitionImage(assigned)
                for number, assigned in topic.partitions.items()
                if number not in before
            }
            if added or known is None:
                changes.topic(name, topic.topic_id, {**before, **added})
                news += [(TopicPartition(name, number), it) for number, it in added.items()]
        self.image = changes.image()
        for partition, image in news:
            self._adopt(partition, image)
        messages = [it for name in gone for it in self._drop(name)]
        return Effects(tuple(messages), tuple(self._elections(it for it, _ in news)))

    def _drop(self, name: str) -> list[Message]:
        """A topic that somebody has taken out of the tree."""
        self.deleting[name] = None
        partitions = self._partitions_of(name)
        messages: list[Message] = [
            SendUpdateMetadata(broker, partitions) for broker in self.image.brokers
        ]
        self.on_forgotten(name)
        return messages

    # What was written

    def on_written(self, writes: Iterable[StateWrite]) -> Effects:
        """These stand in the tree: they are true from now on, and whom it concerns is told."""
        changes, about = Changes(self.image), list[StateWrite]()
        for write in writes:
            image = self.image.partition(write.partition)
            if image is not None:
                changes.partition(write.partition, image._replace(state=write.state))
                about.append(write)
        self.image = changes.image()
        led: dict[BrokerId, list[TopicPartition]] = {}
        for write in about:
            partition, state = write.partition, write.state
            alive = state.leader is not None and state.leader in self.image.brokers
            self._enter(partition, _P.ONLINE if alive else _P.OFFLINE)
            for replica in self._replicas(partition):
                if replica in self.image.brokers:
                    self._enter_replica(partition, replica, _R.ONLINE)
                    led.setdefault(replica, []).append(partition)
        new = frozenset(write.partition for write in about if write.is_new)
        messages: list[Message] = [
            SendLeaderAndIsr(broker, tuple(partitions), new.intersection(partitions))
            for broker, partitions in sorted(led.items())
        ]
        changed = tuple(write.partition for write in about)
        if changed:
            messages += [SendUpdateMetadata(broker, changed) for broker in self.image.brokers]
        return Effects(tuple(messages))

    def on_states(self, states: Mapping[TopicPartition, PartitionState]) -> Effects:
        """Somebody else had written these; what they leave to be decided is decided again."""
        changes = Changes(self.image)
        for partition, state in states.items():
            image = self.image.partition(partition)
            if image is not None:
                changes.partition(partition, image._replace(state=state))
        self.image = changes.image()
        for partition in states:
            image = self.image.partition(partition)
            if image is not None and image.leader in self.image.brokers:
                self._enter(partition, _P.ONLINE)
        return Effects(writes=tuple(self._elections(states)))

    # Deletion

    def on_deletions(self, names: Iterable[str]) -> Effects:
        """These are marked: each is taken away once all its replicas are deleted."""
        messages: list[Message] = []
        forget: list[str] = []
        unmark: list[str] = []
        for name in names:
            if name in self.deleting:
                continue
            if name not in self.image.topics or not self._may_delete:
                unmark.append(name)
                continue
            self.deleting[name] = None
            partitions = self._partitions_of(name)
            for partition in partitions:
                self._enter(partition, _P.OFFLINE)
            messages += [SendUpdateMetadata(broker, partitions) for broker in self.image.brokers]
            messages += self._stop(partitions)
            if not partitions:
                forget.append(name)
        return Effects(tuple(messages), (), tuple(forget), tuple(unmark))

    def _stop(self, partitions: Iterable[TopicPartition]) -> list[Message]:
        """Replicas on brokers that are alive; the others wait for theirs."""
        told: dict[BrokerId, list[TopicPartition]] = {}
        for partition in partitions:
            for replica in self._replicas(partition):
                self._enter_replica(partition, replica, _R.OFFLINE)
                if replica not in self.image.brokers:
                    self._enter_replica(partition, replica, _R.DELETION_INELIGIBLE)
                else:
                    self._enter_replica(partition, replica, _R.DELETION_STARTED)
                    told.setdefault(replica, []).append(partition)
        return [SendStopReplica(broker, tuple(them)) for broker, them in sorted(told.items())]

    def _resume_deletions(self, arrived: Iterable[BrokerId]) -> list[Message]:
        messages: list[Message] = []
        for broker in arrived:
            waiting = [
                partition
                for partition in self._by_broker.get(broker, ())
                if partition.topic in self.deleting
                and self.replica_phases[partition, broker] in {_R.OFFLINE, _R.DELETION_INELIGIBLE}
            ]
            for partition in waiting:
                self._enter_replica(partition, broker, _R.OFFLINE)
                self._enter_replica(partition, broker, _R.DELETION_STARTED)
            if waiting:
                messages.append(SendStopReplica(broker, tuple(waiting)))
        return messages

    def on_stopped(self, broker: BrokerId, outcomes: Mapping[TopicPartition, ErrorCode]) -> Effects:
        """What a broker says of replicas that it was to delete."""
        topics: dict[str, None] = {}
        for partition, code in outcomes.items():
            done = code is ErrorCode.NONE
            phase = _R.DELETION_SUCCESSFUL if done else _R.DELETION_INELIGIBLE
            if self._enter_replica(partition, broker, phase):
                topics[partition.topic] = None
        return Effects(forget=tuple(name for name in topics if self._is_deleted(name)))

    def _is_deleted(self, name: str) -> bool:
        return name in self.deleting and all(
            self.replica_phases[partition, replica] is _R.DELETION_SUCCESSFUL
            for partition in self._partitions_of(name)
            for replica in self._replicas(partition)
        )

    def on_forgotten(self, name: str) -> None:
        """Its znodes are gone."""
        for partition in self._partitions_of(name):
            del self.partition_phases[partition]
            for replica in self._replicas(partition):
                del self.replica_phases[partition, replica]
                del self._by_broker[replica][partition]
        self.image = Changes(self.image).remove_topic(name).image()
        self.deleting.pop(name, None)

    # How it is done

    def _adopt(self, partition: TopicPartition, image: PartitionImage) -> None:
        """A partition is seen for the first time."""
        leader, live = image.leader, self.image.brokers
        phase = _P.ONLINE if leader in live else _P.OFFLINE
        if image.state is None:
            phase = _P.NEW
        self.partition_phases[partition] = phase
        for replica in image.assignment.replicas:
            self._by_broker.setdefault(replica, {})[partition] = None
            replica_phase = _R.ONLINE if replica in live else _R.OFFLINE
            if image.state is None:
                replica_phase = _R.NEW
            self.replica_phases[partition, replica] = replica_phase

    def _elections(self, partitions: Iterable[TopicPartition]) -> Iterable[StateWrite]:
        """Of those that have no leader, and could have one."""
        epoch, live = self.mandate.epoch, self.image.brokers
        for partition in partitions:
            phase = self.partition_phases.get(partition)
            image = self.image.partition(partition)
            if image is None or phase is _P.ONLINE or partition.topic in self.deleting:
                continue
            if image.state is None:
                choice = first_leader(image.assignment, live)
                if choice is not None:
                    yield StateWrite(partition, new_state(choice, epoch), is_new=True)
                continue
            unclean = self._unclean(partition.topic)
            choice = after_a_failure(image.assignment, image.state, live, unclean=unclean)
            if choice is not None:
                yield StateWrite(partition, next_state(image.state, choice, epoch))

    def _lead_all(self, broker: BrokerId) -> list[Message]:
        """All that one broker holds, with who leads it."""
        held = tuple(
            partition
            for partition in self._by_broker.get(broker, ())
            if partition.topic not in self.deleting and self._has_state(partition)
        )
        for partition in held:
            self._enter_replica(partition, broker, _R.ONLINE)
        return [SendLeaderAndIsr(broker, held)] if held else []

    def _has_state(self, partition: TopicPartition) -> bool:
        image = self.image.partition(partition)
        return image is not None and image.state is not None

    def _replicas(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        image = self.image.partition(partition)
        assigned = image.assignment if image is not None else Assignment(())
        return assigned.replicas

    def _partitions_of(self, name: str) -> tuple[TopicPartition, ...]:
        topic = self.image.topics.get(name)
        return () if topic is None else tuple(TopicPartition(name, it) for it in topic.partitions)

    def _enter(self, partition: TopicPartition, phase: PartitionPhase) -> bool:
        """The next phase of a partition, if the table knows the step."""
        now = self.partition_phases.get(partition, _P.NON_EXISTENT)
        if now not in PARTITION_PREDECESSORS[phase]:
            self.faults.append(f"{partition} cannot go from {now.name} to {phase.name}")
            return False
        self.partition_phases[partition] = phase
        return True

    def _enter_replica(
        self, partition: TopicPartition, broker: BrokerId, phase: ReplicaPhase
    ) -> bool:
        """The next phase of a replica, if the table knows the step."""
        now = self.replica_phases.get((partition, broker), _R.NON_EXISTENT)
        if now not in REPLICA_PREDECESSORS[phase]:
            self.faults.append(f"{partition} on {broker}: from {now.name} to {phase.name}")
            return False
        self.replica_phases[partition, broker] = phase
        return True
