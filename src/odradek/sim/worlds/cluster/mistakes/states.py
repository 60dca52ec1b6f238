"""Wrong rules of partitions' states: who is eligible, who may join, what a reassignment leaves."""

from collections.abc import Container, Mapping
from typing import Any, Final

from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.controlled import update_metadata
from odradek.broker.controlled.control_requests import ControlRequests
from odradek.broker.topics import config_admin
from odradek.controller import controller, health, leaders
from odradek.controller.context import ControllerContext
from odradek.controller.decisions import (
    broker_changes,
    elections,
    in_sync,
    reassignments,
)
from odradek.controller.leaders import Choice, Terms
from odradek.controller.steps import Steps
from odradek.controller.tree_reading import TreeReading
from odradek.metadata.image import PartitionImage
from odradek.metadata.nouns import Assignment, PartitionState
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.simulation import Knob


def _without_number(after: PartitionState, before: PartitionState, terms: Terms) -> PartitionState:
    """Others may lead, under whichever number they were named."""
    found = _with_eligible(after, before, terms)
    return found._replace(eligible_min_isr=min(found.eligible_min_isr, 1))


def _never_emptied(after: PartitionState, before: PartitionState, terms: Terms) -> PartitionState:
    """Who was eligible stays so until it joins."""
    found = _with_eligible(after, before, terms)
    if found.eligible or not before.eligible or after.leader in terms.unbound:
        return found
    waiting = tuple(it for it in before.eligible if it not in after.isr and it in terms.candidates)
    return found._replace(
        eligible=waiting, eligible_min_isr=before.eligible_min_isr if waiting else 0
    )


def _nobody_is_eligible(
    after: PartitionState, _before: PartitionState, _terms: Terms
) -> PartitionState:
    """Who has left the ISR may not lead (before KIP-966)."""
    return after._replace(eligible=(), eligible_min_isr=0)


def _first_that_lives(assignment: Assignment, state: PartitionState, live: Any) -> Choice | None:
    """The preferred leader leads, in sync or not."""
    first = assignment.replicas[0]
    isr = state.isr if first in state.isr else (first, *state.isr)
    return Choice(first, isr) if first in live else None


def _all_stay(state: PartitionState, *_: object) -> PartitionState:
    """Who is removed leaves the ISR when its leader says so."""
    return state


def _nothing(*_: object) -> None:
    """What a mistake does instead."""


def _one(*_: object) -> int:
    """Of a target one in sync is enough."""
    return 1


def _never(_image: PartitionImage) -> bool:
    """Who is in sync has its records, idle or not: the others may go at once."""
    return False


def _allowed(*_: object) -> bool:
    """A leader is worth more than records."""
    return True


def _who_lives(context: ControllerContext, _image: PartitionImage) -> frozenset[BrokerId]:
    """Who lives has its disks."""
    return context.live


def _any_log(*_: object) -> bool:
    """A join is one of a broker, whatever became of its log."""
    return True


def _of_any_version(
    context: ControllerContext, partition: TopicPartition, row: Any, sender: Any
) -> Any:
    """What a leader proposes of this epoch is the newest."""
    image = context.image.partition(partition)
    if image is not None and image.state is not None:
        row.partition_epoch = image.state.partition_epoch
    return _judge(context, partition, row, sender)


def _never_lost(reading: TreeReading, _partition: TopicPartition) -> None:
    """A partition without a state is new."""


def _no_steps(*_: object, **__: object) -> Steps[None]:
    """What a mistake does instead."""
    yield from ()


async def _all_unnamed(requests: Any, request: Any) -> Container[str]:
    """A topic that a controller does not name is deleted."""
    found = update_metadata.unnamed(requests._cluster.image, request)  # noqa: SLF001
    strays = update_metadata.strays(request, requests.replicas, requests._cluster.me).unnamed  # noqa: SLF001
    return {*found, *(it.topic for it in strays)}


def _forgotten(context: ControllerContext, name: str) -> None:
    """What was to be done with a topic is not undone with it."""
    deletion = context.deletions.get(name)
    _forget_topic(context, name)
    if deletion is not None:
        context.deletions[name] = deletion


def _online(
    context: ControllerContext, _partition: Any, image: PartitionImage
) -> frozenset[BrokerId]:
    """Who can follow can lead."""
    return context.online(image)


def _with_a_state(context: ControllerContext, partition: Any, image: Any, tell: Any) -> None:
    """What has no state yet is not there yet."""
    if image.state is not None:
        _partition(context, partition, image, tell)


def _of_those_with_a_state(context: ControllerContext, *arrived: Any) -> Any:
    """Who arrives may lead what was led before."""
    rule = _elect_where_needed(context, *arrived)
    return lambda partition, image: None if image.state is None else rule(partition, image)


_with_eligible = leaders.with_eligible
_elect_where_needed = elections.elect_where_needed
_partition = health._partition  # noqa: SLF001 - the wrong rule goes on with it
_may_be_members = in_sync._may_be_members  # noqa: SLF001
_judge = in_sync._judge  # noqa: SLF001
_writes = config_admin._writes  # noqa: SLF001
_forget_topic = ControllerContext.forget_topic


def _eligible(rule: Any) -> tuple[Knob, ...]:
    return tuple(Knob(module, "with_eligible", rule) for module in (leaders, elections, in_sync))


STATE_MISTAKES: Final[Mapping[str, Knob | tuple[Knob, ...]]] = {
    "eligible-under-no-number": _eligible(_without_number),
    "eligible-is-never-emptied": _eligible(_never_emptied),
    "nobody-is-eligible": _eligible(_nobody_is_eligible),
    "preferred-before-in-sync": Knob(elections, "preferred", _first_that_lives),
    "who-is-removed-stays-in-the-isr": Knob(reassignments, "leaving", _all_stay),
    "a-cancel-leaves-too-few": Knob(reassignments, "_check_copies", _nothing),
    "one-in-sync-completes-a-move": Knob(reassignments, "_needed", _one),
    "a-single-replica-is-not-proven": Knob(reassignments, "_rests_on_one", _never),
    "unclean-elections-are-allowed": Knob(ControllerPolicy, "unclean", _allowed),
    "who-lives-can-lead": (
        Knob(ControllerContext, "online", _who_lives),
        Knob(ControllerContext, "able", _online),
    ),
    "a-join-is-of-any-log": Knob(in_sync, "_are_these_logs", _any_log),
    "proposals-of-any-version": Knob(in_sync, "_judge", _of_any_version),
    "a-lost-state-is-a-new-partition": Knob(TreeReading, "_on_lost", _never_lost),
    "what-is-not-named-is-deleted": Knob(ControlRequests, "_gone", _all_unnamed),
    "a-deletion-outlives-its-topic": Knob(ControllerContext, "forget_topic", _forgotten),
    "what-has-no-state-is-not-named": Knob(health, "_partition", _with_a_state),
    "a-new-partition-is-not-led-later": Knob(
        broker_changes, "elect_where_needed", _of_those_with_a_state
    ),
    "deletions-are-not-resumed": (
        Knob(broker_changes, "resume_deletions", _no_steps),
        Knob(controller, "resume_deletions", _no_steps),
    ),
}
"""By name."""
