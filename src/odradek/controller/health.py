"""What is wrong in the cluster, and why, as the controller knows it.

A cause is told once, with all that follows from it: a broker that is gone, not each of its thousand
partitions. What heals by itself in a moment (an election that is under way) is told like the rest;
a reassignment that only copies is no problem, one that waits for a broker is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from odradek.controller.context import ControllerContext
from odradek.controller.leaders import members
from odradek.controller.phases import ReplicaPhase
from odradek.metadata.image import PartitionImage
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicsZnode
from odradek.model.causes import CauseKind
from odradek.model.counting import counted
from odradek.model.ids import BrokerId, TopicPartition

NO_LEADER: Final = "no leader"
OUT_OF_SYNC: Final = "out of sync"
BELOW_MIN_ISR: Final = "fewer in sync than min.insync.replicas"
CAPPED: Final = "min.insync.replicas counts as the number of replicas"
RECORDS_LOST: Final = "records lost in an unclean election, not yet recovered"
REASSIGNMENT_WAITS: Final = "reassignment waits"
DELETION_WAITS: Final = "deletion waits"
AS_KNOWN: Final = "as it was known before"
NOT_KNOWN: Final = "nothing is decided"


class Cause(NamedTuple):
    """In words, of which kind, and the brokers that it is about."""

    text: str
    kind: CauseKind = CauseKind.OTHER
    brokers: tuple[BrokerId, ...] = ()


class Problem(NamedTuple):
    """One cause, and the partitions that suffer from it, by how they do."""

    cause: Cause
    effects: Mapping[str, tuple[TopicPartition, ...]]


Found = dict[Cause, dict[str, dict[TopicPartition, None]]]
"""Partitions by cause and effect."""


def problems(context: ControllerContext) -> list[Problem]:
    """All of them, the one with the gravest effect on the most partitions first."""
    found: Found = {}

    def tell(causes: Iterable[Cause], effect: str, partition: TopicPartition) -> None:
        for cause in causes:
            found.setdefault(cause, {}).setdefault(effect, {})[partition] = None

    for name, topic in context.image.topics.items():
        deletion = context.deletions.get(name)
        if deletion is not None:
            _deletion(context, name, tell)
        if deletion is not None and deletion.has_begun:
            continue
        for number, image in topic.partitions.items():
            _partition(context, TopicPartition(name, number), image, tell)
    _unreadable(context, found)
    told = [
        Problem(cause, {effect: tuple(sorted(them)) for effect, them in effects.items()})
        for cause, effects in found.items()
    ]
    return sorted(told, key=_gravity)


def _unreadable(context: ControllerContext, found: Found) -> None:
    """Znodes that cannot be read; of settings those of topics that there are."""
    for path in context.unreadable:
        topic = path.removeprefix(f"{TopicsZnode.PATH}/")
        partitions = dict.fromkeys(context.partitions_of(topic))
        effect = AS_KNOWN if partitions or topic == path else NOT_KNOWN
        found[Cause(_cannot_be_read(path))] = {effect: partitions}
    for topic in context.policy.unreadable_settings:
        path = SettingsZnode.path(Entity(EntityType.TOPICS, topic))
        partitions = dict.fromkeys(context.partitions_of(topic))
        if partitions:
            found[Cause(_cannot_be_read(path))] = {AS_KNOWN: partitions}


def _gravity(problem: Problem) -> tuple[int, int, str]:
    without = len(problem.effects.get(NO_LEADER, ()))
    return -without, -sum(map(len, problem.effects.values())), problem.cause.text


Tell = Callable[[Iterable[Cause], str, TopicPartition], None]


def _partition(
    context: ControllerContext, partition: TopicPartition, image: PartitionImage, tell: Tell
) -> None:
    state, assigned = image.state, image.assignment
    path = PartitionStateZnode.path(partition)
    is_led = state is not None and context.is_led(image)
    effect = AS_KNOWN if is_led else NO_LEADER
    if partition in context.lost:  # no state can be written, whether or not one was known before
        text = f"{path} in ZooKeeper is missing: {_restore(partition)} makes it again"
        tell([Cause(text, CauseKind.NO_STATE)], effect, partition)
        return
    if partition in context.unread:  # nothing can be decided, also where one was known before
        text = (
            f"{_cannot_be_read(path)}: where its ACL hides it, mend that; where it makes no sense "
            f"{_restore(partition)} makes it again"
        )
        tell([Cause(text, CauseKind.NO_STATE)], effect, partition)
        if not is_led:
            return
    elif partition in context.unwritten:
        why_not = context.unwritten[partition]
        tell([Cause(f"{path} in ZooKeeper cannot be written: {why_not}")], effect, partition)
    if state is None:
        tell(_why_not(context, partition, image, assigned.replicas), NO_LEADER, partition)
        return
    if not is_led:
        tell(_why_not(context, partition, image, members(state)), NO_LEADER, partition)
        return
    behind = [it for it in assigned.target if it not in state.isr and it not in assigned.adding]
    why = _why_not(context, partition, image, behind, leader=state.leader)
    tell(why, OUT_OF_SYNC, partition)
    count, min_isr = len(assigned.target), context.policy.min_isr(partition.topic)
    if len(state.isr) < max(min(min_isr, count), state.eligible_min_isr):
        tell(why or [Cause(f"{counted(count, 'replica')} assigned")], BELOW_MIN_ISR, partition)
    if min_isr > count:
        tell([Cause(_above(min_isr, count))], CAPPED, partition)
    if state.recovering:
        text = f"broker {state.leader} was elected uncleanly"
        tell([Cause(text)], RECORDS_LOST, partition)
    stuck = [it for it in assigned.adding if it not in context.live or it in image.offline]
    tell(_why_not(context, partition, image, stuck), REASSIGNMENT_WAITS, partition)


def _above(min_isr: int, count: int) -> str:
    return (
        f"min.insync.replicas is {min_isr}, with {counted(count, 'replica')} assigned: acks=all "
        f"needs each of them; odradek partition reassign TOPIC -r {min_isr}, or set "
        "min.insync.replicas lower"
    )


def _restore(partition: TopicPartition) -> str:
    topic, number = partition
    return f"odradek zookeeper restore-state {topic} {number} --leader BROKER --connect ZOOKEEPER"


def _cannot_be_read(path: str) -> str:
    return f"{path} in ZooKeeper cannot be read"


def _why_not(
    context: ControllerContext,
    partition: TopicPartition,
    image: PartitionImage,
    brokers: Iterable[BrokerId],
    *,
    leader: BrokerId | None = None,
) -> list[Cause]:
    """What keeps these brokers' replicas from leading, or from being in sync with a leader."""
    unclean = context.unclean(partition, image)
    return [_state(context, image, it, leader=leader, is_unclean=it in unclean) for it in brokers]


def _state(
    context: ControllerContext,
    image: PartitionImage,
    broker: BrokerId,
    *,
    leader: BrokerId | None = None,
    is_unclean: bool,
) -> Cause:
    if broker not in context.image.brokers:
        return Cause(f"broker {broker} is not registered")
    if broker in image.offline:
        return Cause(f"the replica on broker {broker} is offline")
    if broker in context.shutting_down:
        return Cause(f"broker {broker} is shutting down")
    if is_unclean:
        text = "has logs that lack records, after an unclean stop or on a new disk"
        return Cause(f"broker {broker} {text}")
    whom = "" if leader is None else f" with broker {leader}"  # only the two may be apart
    both = (broker,) if leader is None else (broker, leader)
    return Cause(f"broker {broker} has not caught up{whom} yet", CauseKind.BEHIND, both)


def _deletion(context: ControllerContext, name: str, tell: Tell) -> None:
    """It waits for a reassignment to end, or for replicas that are out of reach."""
    deletion = context.deletions[name]
    if not deletion.has_begun:
        for partition in context.partitions_of(name):
            if partition in context.reassigning:
                tell([Cause(f"topic {name} is being reassigned")], DELETION_WAITS, partition)
        return
    for (partition, broker), phase in deletion.replicas.items():
        image = context.image.partition(partition)
        if image is None or phase is ReplicaPhase.DELETION_SUCCESSFUL:
            continue
        if broker in context.live and broker not in image.offline:
            text = f"broker {broker} has not deleted its replica yet"
            told = Cause(text, CauseKind.BEING_DELETED, (broker,))
        else:
            told = _state(context, image, broker, is_unclean=False)
        tell([told], DELETION_WAITS, partition)
