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
    elect_where_needed,
    send,
)
from odradek.controller.events import ElectionType
from odradek.controller.steps import Note, Steps
from odradek.metadata.image import PartitionImage
from odradek.model.errors import BrokerError, ErrorCode
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


class UnknownPartition(BrokerError):
    """There is no such partition."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class TopicIsBeingDeleted(BrokerError):
    """Its partitions get no leaders any more."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


def on_election(
    context: ControllerContext, kind: ElectionType, partitions: Sequence[TopicPartition] | None
) -> Steps[dict[TopicPartition, BrokerError | None]]:
    """Why not, of each. Where all are asked for, those that need no election are left out."""
    wanted = _all(context) if partitions is None else partitions
    outcomes: dict[TopicPartition, BrokerError | None] = {}
    todo = []
    for partition in wanted:
        refusal = _refusal(context, kind, partition)
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
    context: ControllerContext, kind: ElectionType, partition: TopicPartition
) -> BrokerError | None:
    image = context.image.partition(partition)
    if image is None:
        return UnknownPartition(f"{partition} does not exist")
    if partition.topic in context.deletions:
        return TopicIsBeingDeleted(f"topic {partition.topic!r} is being deleted")
    if kind is ElectionType.PREFERRED:
        needed = image.leader != image.assignment.replicas[0]
    else:
        needed = not context.is_led(image)
    return None if needed else ElectionNotNeeded(f"{partition} is led by broker {image.leader}")


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
    """Another leader may be allowed now: an unclean one, or one that is eligible."""
    partitions = _all(context) if topic is None else list(context.partitions_of(topic))
    waiting = [it for it in partitions if not _is_led(context, it)]
    yield from change_states(context, waiting, elect_where_needed(context))
    yield from send(context)


def _is_led(context: ControllerContext, partition: TopicPartition) -> bool:
    image = context.image.partition(partition)
    return image is not None and context.is_led(image)


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
