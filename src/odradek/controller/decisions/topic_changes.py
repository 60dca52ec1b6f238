"""Topics as they stand in the tree: made, enlarged, replaced or removed, by us or by others."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.deletions import (
    adopt_replicas,
    begin_if_free,
    mark_deletions,
    on_gone,
    on_marks,
    start_deletion,
)
from odradek.controller.decisions.elections import change_states, former_lives, send, take_over
from odradek.controller.decisions.reassignments import advance, write_assignments
from odradek.controller.guarded_writes import StateWrite
from odradek.controller.steps import PAUSE, ROWS_IN_A_TURN, Note, Steps
from odradek.controller.topics import new_topic_id
from odradek.metadata.image import PartitionImage, TopicImage
from odradek.metadata.nouns import PartitionState, TopicAssignment
from odradek.model.ids import TopicPartition


class FoundTopic(NamedTuple):
    """A topic's znode: its contents, and the version that a write must name."""

    topic: TopicAssignment
    version: int


class WrittenState(NamedTuple):
    """A partition's state, and when it was written."""

    state: PartitionState
    mzxid: int


WrittenStates = Mapping[TopicPartition, WrittenState]
NOTHING_WRITTEN: WrittenStates = MappingProxyType({})


def on_topics(
    context: ControllerContext,
    found: Mapping[str, FoundTopic | None],
    states: WrittenStates = NOTHING_WRITTEN,
    *,
    made: Sequence[StateWrite] = (),
    marked: Sequence[str] = (),
) -> Steps[None]:
    """These are so now; None: it is gone, though we did not delete it.

    `states` are those of partitions whose topics were not known here, as far as they have any;
    `made` those that were made with new partitions. `marked` are topics that were not known here
    either, and whose deletion has begun.
    """
    added: list[TopicPartition] = []
    rows = 0
    for name, it in found.items():
        rows += 0 if it is None else len(it.topic.partitions)
        if rows > ROWS_IN_A_TURN:
            rows = 0
            yield PAUSE
        known = context.image.topics.get(name)
        if it is None:
            if known is not None:
                yield from _on_gone(context, name)
            continue
        if known is not None and is_another(known, it.topic):
            yield from on_gone(context, name, deletes=True)
            known = None
        if known is None:
            partitions = _partitions(name, it.topic, states)
            context.set_topic(name, it.topic.topic_id, partitions)
            context.topic_versions[name] = it.version
            yield from give_ids(context, [name])
            added += context.partitions_of(name)
        elif it.version >= context.topic_versions.get(name, -1):
            added += yield from _on_known(context, known, it.topic)
        context.topic_versions[name] = max(it.version, context.topic_versions.get(name, -1))
    context.on_written(made)
    mark_deletions(context, marked)
    with_state = {it.partition for it in made}
    added = [it for it in added if it not in with_state and not context.is_deleting(it.topic)]
    written_at = {partition: it.mzxid for partition, it in states.items()}
    former = former_lives(context, written_at, context.image.brokers)
    yield from change_states(context, added, take_over(context, former))
    yield from send(context)
    for partition in added:
        if partition in context.reassigning:
            yield from advance(context, partition, begins=True)
    for name in marked:
        if context.is_deleting(name):
            yield from start_deletion(context, name)
    yield from on_marks(context, marked)  # where topics may not be deleted


def _partitions(
    name: str, topic: TopicAssignment, states: WrittenStates
) -> dict[int, PartitionImage]:
    written = {number: states.get(TopicPartition(name, number)) for number in topic.partitions}
    return {
        number: PartitionImage(topic.partitions[number], it.state if it else None)
        for number, it in written.items()
    }


def give_ids(context: ControllerContext, names: Iterable[str]) -> Steps[None]:
    """Topics of tools from before Kafka 2.8 have no id, and an ISR is changed by the topic's id."""
    for name in names:
        topic = context.image.topics[name]
        if topic.topic_id is not None or name in context.deletions:
            continue
        partitions = dict(topic.partitions)
        context.set_topic(name, new_topic_id(context.policy.random), partitions)
        failure = yield from write_assignments(context, name, {})
        if failure is not None:
            context.set_topic(name, None, partitions)
            yield Note("topic.without_id", {"topic": name, "why": str(failure)})


def is_another(known: TopicImage, now: TopicAssignment) -> bool:
    """Whether the topic of that name was deleted, and this one made, unseen."""
    return None not in {known.topic_id, now.topic_id} and known.topic_id != now.topic_id


def _on_known(
    context: ControllerContext, known: TopicImage, now: TopicAssignment
) -> Steps[list[TopicPartition]]:
    """What somebody else has changed in a topic; the partitions that are new are returned."""
    name, before = known.name, known.partitions
    added = {  # or taken over by a write that met them
        TopicPartition(name, number): PartitionImage(assignment)
        for number, assignment in now.partitions.items()
        if number not in before or before[number].state is None
    }
    moved = {
        TopicPartition(name, number): before[number]._replace(assignment=assignment)
        for number, assignment in now.partitions.items()
        if number in before and before[number].assignment != assignment
    }
    missing = before.keys() - now.partitions.keys()
    if missing:
        yield Note("topic.partitions_missing", {"topic": name, "partitions": sorted(missing)})
    if known.topic_id is None and now.topic_id is not None:
        partitions = {number: before[number] for number in before}
        context.set_topic(name, now.topic_id, partitions)
    context.set_partitions(added | moved)
    deletion = context.deletions.get(name)
    if deletion is not None:
        if deletion.has_begun:
            adopt_replicas(context, name, added)
        yield from begin_if_free(context, name)
        return []
    for partition in moved:
        context.batch.add_update([partition])
        yield from advance(context, partition, begins=True)
    return list(added)


def _on_gone(context: ControllerContext, name: str) -> Steps[None]:
    """Perhaps by a write of our own of which no answer came: then the rest goes, too."""
    was_marked = name in context.deletions
    yield from on_gone(context, name, deletes=was_marked)
    if was_marked:
        yield from on_marks(context, [name])
