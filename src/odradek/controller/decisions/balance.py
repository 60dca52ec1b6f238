"""Leaderships go back to where they belong: by themselves, or because an operator says so.

The first replica of an assignment is the preferred leader. Where more than a tenth of a broker's
preferred leaderships are elsewhere, and it could lead them at once, they return.
"""

from collections.abc import Callable, Sequence

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.elections import (
    change_states,
    elect_preferred,
    elect_uncleanly,
    look_at_settings,
    send,
)
from odradek.controller.events import ElectionType
from odradek.controller.leaders import members
from odradek.controller.steps import Note, Steps
from odradek.metadata.image import PartitionImage
from odradek.metadata.nouns import PartitionState
from odradek.model.errors import BEING_DELETED, BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition


class ElectionNotNeeded(BrokerError):
    """The partition has the leader that the election would give it."""

    code = ErrorCode.ELECTION_NOT_NEEDED


class PreferredLeaderNotAvailable(BrokerError):
    """The first replica is not alive, or not in sync."""

    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class EligibleLeadersNotAvailable(BrokerError):
    """No replica is alive."""

    code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


class WholeReplicaMayLead(BrokerError):
    """A replica that may have everything is on a broker that is alive."""

    code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


class UnknownPartition(BrokerError):
    """There is no such partition."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class TopicIsBeingDeleted(BrokerError):
    """Its partitions get no leaders any more."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


def on_election(
    context: ControllerContext,
    kind: ElectionType,
    partitions: Sequence[TopicPartition] | None,
    *,
    is_forced: bool = False,
) -> Steps[dict[TopicPartition, BrokerError | None]]:
    """Why not, of each. Where all are asked for, those that need no election are left out."""
    wanted = _all(context) if partitions is None else partitions
    outcomes: dict[TopicPartition, BrokerError | None] = {}
    todo = []
    for partition in wanted:
        refusal = _refusal(context, kind, partition, is_forced=is_forced)
        if refusal is None:
            todo.append(partition)
        if partitions is not None or not isinstance(refusal, ElectionNotNeeded):
            outcomes[partition] = refusal
    preferred = kind is ElectionType.PREFERRED
    rule = elect_preferred(context) if preferred else elect_uncleanly(context)
    elected = yield from change_states(context, todo, rule)
    yield from send(context)
    for partition in todo:
        if partition not in elected:
            said = "the preferred replica" if preferred else "no replica"
            state = "is not in sync and alive" if preferred else "is alive"
            error = PreferredLeaderNotAvailable if preferred else EligibleLeadersNotAvailable
            outcomes[partition] = error(f"{partition}: {said} {state}")
    return outcomes


def _all(context: ControllerContext) -> list[TopicPartition]:
    return [it for name in context.image.topics for it in context.partitions_of(name)]


def _refusal(
    context: ControllerContext, kind: ElectionType, partition: TopicPartition, *, is_forced: bool
) -> BrokerError | None:
    image = context.image.partition(partition)
    if image is None:
        return UnknownPartition(f"{partition} does not exist")
    if partition.topic in context.deletions:
        return TopicIsBeingDeleted(f"topic {partition.topic!r} {BEING_DELETED}")
    if kind is ElectionType.PREFERRED:
        needed = image.leader != image.assignment.replicas[0]
    else:
        needed = not context.is_led(image)
    if not needed:
        return ElectionNotNeeded(f"{partition} is led by broker {image.leader}")
    if kind is ElectionType.UNCLEAN and not is_forced and image.state is not None:
        return _whole_one_is_alive(context, partition, image, image.state)
    return None


def _whole_one_is_alive(
    context: ControllerContext,
    partition: TopicPartition,
    image: PartitionImage,
    state: PartitionState,
) -> BrokerError | None:
    """Refused where a member cannot lead now, and may soon: its dir, or its broker, comes back."""
    able, unclean = context.able(partition, image), context.unclean(partition, image)
    whole = [it for it in members(state) if it in context.image.brokers and it not in unclean]
    if not whole or any(it in able for it in whole):
        return None
    why = "its log dir is offline" if whole[0] in image.offline else "it cannot lead just now"
    return WholeReplicaMayLead(
        f"{partition}: broker {whole[0]} is alive and may have every record, but {why}; "
        "force the election to lose what others lack"
    )


def on_rebalance(context: ControllerContext) -> Steps[None]:
    """Preferred leaders lead again, where too many do not."""
    preferring: dict[BrokerId, int] = {}
    elsewhere: dict[BrokerId, list[TopicPartition]] = {}
    for name, topic in context.image.topics.items():
        if name in context.deletions:
            continue
        for number, image in topic.partitions.items():
            first = image.assignment.replicas[0]
            preferring[first] = preferring.get(first, 0) + 1
            if image.leader != first:
                elsewhere.setdefault(first, []).append(TopicPartition(name, number))
    for broker, partitions in sorted(elsewhere.items()):
        limit = context.policy.imbalance_percentage * preferring[broker]
        if broker in context.live and len(partitions) * 100 > limit:
            moved = yield from change_states(context, partitions, elect_preferred(context))
            if moved:
                yield Note("controller.rebalanced", {"broker": broker, "moved": len(moved)})
    yield from send(context)


def on_settings(context: ControllerContext, topic: str | None) -> Steps[None]:
    """An unclean leader may be allowed now, or a smaller ISR to commit."""
    partitions = _all(context) if topic is None else list(context.partitions_of(topic))
    concerned = [it for it in partitions if _is_concerned(context, it)]
    yield from change_states(context, concerned, look_at_settings(context))
    yield from send(context)


def _is_concerned(context: ControllerContext, partition: TopicPartition) -> bool:
    image = context.image.partition(partition)
    if image is None:
        return False
    return not context.is_led(image) or bool(image.state and image.state.eligible)


def offline_partitions(context: ControllerContext) -> int:
    """How many have no leader, those of topics that are being deleted left out."""
    return _count(context, lambda image: not context.is_led(image))


def imbalanced_partitions(context: ControllerContext) -> int:
    """How many are led by another than their preferred leader."""
    return _count(context, lambda image: image.leader != image.assignment.replicas[0])


def _count(context: ControllerContext, is_one: Callable[[PartitionImage], bool]) -> int:
    return sum(
        is_one(image)
        for name, topic in context.image.topics.items()
        if name not in context.deletions
        for image in topic.partitions.values()
    )
