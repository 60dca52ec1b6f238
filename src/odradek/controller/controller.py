"""The controller's core: events in, steps out.

One event is dealt with at a time, with all that follows from it, so a decision never rests on one
that is still under way. What follows from each kind of event stands in `decisions`; here is which
belongs to which, and how a controller begins.
"""

from collections.abc import Sequence
from typing import Any

from odradek.controller.answers import on_answer
from odradek.controller.answers_to_operators import description, health
from odradek.controller.context import ControllerContext
from odradek.controller.decisions.administration import on_creation, on_deletion, on_growth
from odradek.controller.decisions.balance import on_election, on_rebalance, on_settings
from odradek.controller.decisions.beginning import begin, begin_warm, go_on_beginning, try_again
from odradek.controller.decisions.broker_changes import on_controlled_shutdown
from odradek.controller.decisions.deletions import finish_if_done, resume_deletions
from odradek.controller.decisions.handover import on_wish, on_wish_due
from odradek.controller.decisions.history import record_election
from odradek.controller.decisions.in_sync import on_alter_partition
from odradek.controller.decisions.liveness import on_process_gone
from odradek.controller.decisions.preference import on_preference, on_stop
from odradek.controller.decisions.reassignments import on_reassignment, trim_znode
from odradek.controller.decisions.tree_changes import on_tree_changed
from odradek.controller.events import (
    AlterPartitionAsked,
    BeginningGoesOn,
    BrokerAnswered,
    ControlledShutdownAsked,
    ControllerChanged,
    CreationAsked,
    DeletionAsked,
    DescriptionAsked,
    ElectionAsked,
    Event,
    GrowthAsked,
    HealthAsked,
    PreferenceIsDue,
    ProcessIsGone,
    ProducerIdsAsked,
    ReassignmentAsked,
    ReassignmentsListed,
    RebalanceIsDue,
    RetryIsDue,
    SettingsChanged,
    StopAsked,
    TreeChanged,
    WishChanged,
    WishIsDue,
)
from odradek.controller.producer_ids import on_producer_ids
from odradek.controller.steps import Steps
from odradek.controller.tree_reading import TreeReading
from odradek.metadata.nouns import Assignment
from odradek.metadata.znodes.controller import BrokerFacts, Wish
from odradek.model.ids import TopicPartition


class Controller:
    """The decisions of one controller epoch."""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context

    @property
    def has_to_try_again(self) -> bool:
        """Whether something failed, of which nothing tells when it would succeed."""
        context = self.context
        states = context.lost or context.unread or context.unwritten
        return bool(context.deletions or states or context.unreadable)

    def begin(self, reading: TreeReading) -> Steps[None]:
        """The controller epoch begins, with what stands in the tree."""
        return begin(self.context, reading)

    def begin_warm(self, reading: TreeReading, facts: Sequence[BrokerFacts]) -> Steps[None]:
        """It begins with what was loaded before, and what the last controller has handed over."""
        return begin_warm(self.context, reading, facts)

    def record(self, why: str, wish: Wish | None) -> Steps[None]:
        """Keeps for people that it has begun; and tells who wished for it, if somebody did."""
        return record_election(self.context, why, wish)

    def on(self, event: Event) -> Steps[Any]:
        """The steps that follow from an event; what they return is its answer."""
        context = self.context
        match event:
            case WishChanged():
                return on_wish(context)
            case WishIsDue(wish):
                return on_wish_due(context, wish)
            case StopAsked():
                return on_stop(context)
            case PreferenceIsDue():
                return on_preference(context)
            case BeginningGoesOn():
                return go_on_beginning(context)
            case ControllerChanged():
                raise AssertionError(event)  # the loop's own: it may end this very controller
            case TreeChanged(paths):
                return on_tree_changed(context, paths)
            case BrokerAnswered():
                return on_answer(context, event)
            case ProcessIsGone(broker, epoch):
                return on_process_gone(context, broker, epoch)
            case AlterPartitionAsked(request, version):
                return on_alter_partition(context, request, version)
            case ControlledShutdownAsked(broker, epoch):
                return on_controlled_shutdown(context, broker, epoch)
            case CreationAsked(topics, validate_only):
                return on_creation(context, topics, validate_only=validate_only)
            case GrowthAsked(growth, validate_only):
                return on_growth(context, growth, validate_only=validate_only)
            case DeletionAsked(names):
                return on_deletion(context, names)
            case ReassignmentAsked(targets):
                return self._reassign(targets)
            case ReassignmentsListed(partitions):
                return _at_once(self._reassignments(partitions))
            case HealthAsked():
                return _at_once(health(context))
            case DescriptionAsked():
                return _at_once(description(context))
            case ElectionAsked(kind, partitions, is_forced):
                return on_election(context, kind, partitions, is_forced=is_forced)
            case ProducerIdsAsked(broker, epoch):
                return on_producer_ids(context, broker, epoch)
            case SettingsChanged(topic):
                return on_settings(context, topic)
            case RebalanceIsDue():
                return on_rebalance(context)
            case RetryIsDue():
                return self._try_again()

    def _try_again(self) -> Steps[None]:
        yield from resume_deletions(self.context, self.context.live)
        for name in list(self.context.deletions):
            yield from finish_if_done(self.context, name)
        yield from try_again(self.context)

    def _reassign(self, targets: Any) -> Steps[Any]:
        """What is asked for now replaces what the znode asks for."""
        yield from trim_znode(self.context, list(targets))
        return (yield from on_reassignment(self.context, targets))

    def _reassignments(
        self, partitions: Sequence[TopicPartition] | None
    ) -> dict[TopicPartition, Assignment]:
        wanted = self.context.reassigning if partitions is None else partitions
        found = {}
        for partition in sorted(wanted):
            image = self.context.image.partition(partition)
            if image is not None and image.assignment.is_reassigning:
                found[partition] = image.assignment
        return found


def _at_once(answer: object) -> Steps[Any]:
    """No step is needed."""
    yield from ()
    return answer
