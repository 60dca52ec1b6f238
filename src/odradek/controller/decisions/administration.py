"""What clients ask for: topics made, enlarged and deleted, leaders elected.

Decided here, from the znodes' own bytes and versions, one request after the other: two growths of
one topic cannot both begin from the same image, and a topic cannot be made while its mark for
deletion stands. What was written is brought online in the same turn, without waiting for a watch.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.deletions import on_marks
from odradek.controller.decisions.elections import elect_where_needed
from odradek.controller.decisions.topic_changes import FoundTopic, on_topics
from odradek.controller.guarded_writes import WRITES_PER_MULTI, StateWrite
from odradek.controller.steps import Steps, TopicIsMade, commit, read
from odradek.controller.topics import (
    DeletionDisabled,
    Growth,
    InvalidRequest,
    NewTopic,
    Planned,
    TopicAlreadyExists,
    UnknownTopic,
    check_new_name,
    decide_creation,
    decide_deletion,
    decide_expansion,
    new_topic_id,
)
from odradek.metadata.image import PartitionImage
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.placement import InvalidPartitions, checked, placed
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.topic import PartitionZnode, TopicZnode
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import metric_collision_key
from odradek.zookeeper.client.errors import (
    BadVersion,
    MultiFailed,
    NodeExists,
    OutcomeUnknown,
    RequestTooLarge,
)
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data, Results, StatReply
from odradek.zookeeper.protocol.jute_requests import Create, Exists, GetData, Multi

TRIES_MAX: Final = 5


class ZooKeeperFailed(BrokerError):
    """What was asked for could not be written."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


# Topics are made


def on_creation(
    context: ControllerContext, wanted: Sequence[NewTopic], *, validate_only: bool
) -> Steps[dict[str, Planned | BrokerError]]:
    """Each topic has its own outcome: as it was made, or why it was not."""
    outcomes: dict[str, Planned | BrokerError] = {}
    planned: list[Planned] = []
    taken = dict(context.collisions)
    for one in wanted:
        try:
            outcomes[one.name] = plan = _plan(context, one, taken)
        except BrokerError as error:
            outcomes[one.name] = error
        else:
            planned.append(plan)
            taken.setdefault(metric_collision_key(one.name), one.name)
    marks = yield from read(
        *(Exists(DeleteTopicZnode.path(it.name), watch=False) for it in planned)
    )
    free = []
    for plan, mark in zip(planned, marks, strict=True):
        if isinstance(mark, StatReply):
            outcomes[plan.name] = TopicAlreadyExists(f"topic {plan.name!r} is being deleted")
        else:
            free.append(plan)
    if not validate_only and free:
        outcomes |= yield from _create(context, free)
    return outcomes


def _plan(context: ControllerContext, wanted: NewTopic, taken: Mapping[str, str]) -> Planned:
    check_new_name(wanted.name, context.image, taken, context.deletions)
    context.policy.check_settings(wanted.settings)
    topic = TopicAssignment(_assigned(context, wanted), new_topic_id(context.policy.random))
    return Planned(wanted.name, topic, wanted.settings)


def _assigned(context: ControllerContext, wanted: NewTopic) -> dict[int, Assignment]:
    brokers = context.open_for_replicas()
    if wanted.assignment is not None:
        if (wanted.partitions, wanted.factor) != (-1, -1):
            raise InvalidRequest("an assignment says how many partitions there are")
        return checked(wanted.assignment, brokers)
    defaults = context.policy.topic_defaults
    return placed(
        list(brokers.values()),
        partitions=defaults[0] if wanted.partitions == -1 else wanted.partitions,
        factor=defaults[1] if wanted.factor == -1 else wanted.factor,
        random=context.policy.random,
    )


def _create(
    context: ControllerContext, planned: Sequence[Planned]
) -> Steps[dict[str, Planned | BrokerError]]:
    answers = yield from commit(
        *(decide_creation(it.name, it.topic, it.settings) for it in planned)
    )
    outcomes: dict[str, Planned | BrokerError] = {}
    made: dict[str, FoundTopic | None] = {}
    for plan, answer in zip(planned, answers, strict=True):
        outcome = yield from _created(plan, answer)
        outcomes[plan.name] = plan if outcome is None else outcome
        if outcome is None:
            made[plan.name] = FoundTopic(plan.topic, 0)
    found = yield from read(*(GetData(TopicZnode.path(name), watch=True) for name in made))
    plans = {it.name: it for it in planned}
    for plan, answer in zip((plans[name] for name in made), found, strict=True):
        if isinstance(answer, Data) and answer.data == TopicZnode.encode(plan.topic):
            yield TopicIsMade(plan.name, plan.settings, answer.stat.czxid)
    yield from on_topics(context, made)
    return outcomes


def _created(plan: Planned, answer: Answer) -> Steps[BrokerError | None]:
    """None once it was made; settings that an interrupted creation left are written over."""
    if isinstance(answer, MultiFailed) and answer.index == 0:
        again = decide_creation(plan.name, plan.topic, plan.settings, settings_exist=True)
        (answer,) = yield from commit(again)
    if isinstance(answer, Results):
        return None
    if isinstance(answer, MultiFailed) and isinstance(answer.cause, NodeExists):
        return TopicAlreadyExists(f"Topic {plan.name!r} already exists.")
    if isinstance(answer, OutcomeUnknown):
        (found,) = yield from read(GetData(TopicZnode.path(plan.name), watch=False))
        if isinstance(found, Data) and found.data == TopicZnode.encode(plan.topic):
            return None
    return ZooKeeperFailed(str(answer))


# Topics grow


def on_growth(
    context: ControllerContext, growth: Growth, *, validate_only: bool
) -> Steps[BrokerError | None]:
    """Why not, if it was refused. What the topic is, its znode says."""
    path = TopicZnode.path(growth.name)
    for _ in range(TRIES_MAX):
        (found,) = yield from read(GetData(path, watch=True))
        if not isinstance(found, Data) or growth.name in context.deletions:
            return UnknownTopic(f"there is no topic {growth.name!r}, or it is being deleted")
        try:
            topic = TopicZnode.decode(growth.name, found.data)
            added = _added(context, topic, growth)
            write = decide_expansion(growth.name, topic, added, version=found.stat.version)
        except BrokerError as error:
            return error
        if validate_only:
            return None
        yield from commit(Multi((Create(PartitionZnode.parent(growth.name), None, OPEN_ACL),)))
        states = _first_states(context, growth.name, added)[:WRITES_PER_MULTI]
        first = (operation for it in states for operation in it.operations())
        (answer,) = yield from commit(Multi((write, *first)))
        if _states_are_in_the_way(answer):
            states = []
            (answer,) = yield from commit(Multi((write,)))
        if isinstance(answer, OutcomeUnknown):
            (now,) = yield from read(GetData(path, watch=True))
            done = isinstance(now, Data) and now.data == write.data
        else:
            done = isinstance(answer, Results)
        if done:
            grown = TopicAssignment({**topic.partitions, **added}, topic.topic_id)
            now_there = {growth.name: FoundTopic(grown, found.stat.version + 1)}
            yield from on_topics(context, now_there, made=states)
            return None
        if not _was_changed(answer):
            return ZooKeeperFailed(str(answer))
    return ZooKeeperFailed(f"topic {growth.name!r}: others change it all the time")


def _first_states(
    context: ControllerContext, name: str, added: Mapping[int, Assignment]
) -> list[StateWrite]:
    """Of those new partitions that have a leader at once; they are written with the topic.

    What is more than one transaction takes well follows by itself. In a topic that has lost states,
    a new partition without one would be taken for lost, too.
    """
    elect = elect_where_needed(context)
    partitions = {TopicPartition(name, it): assignment for it, assignment in added.items()}
    found = (elect(it, PartitionImage(assignment)) for it, assignment in partitions.items())
    return [write for write in found if write is not None]


def _states_are_in_the_way(answer: Answer) -> bool:
    """One is there already, which a person has left, or all are together more than a packet."""
    return isinstance(answer, RequestTooLarge) or (
        isinstance(answer, MultiFailed) and answer.index != 0
    )


def _added(
    context: ControllerContext, topic: TopicAssignment, growth: Growth
) -> dict[int, Assignment]:
    existing = topic.partitions
    if growth.partitions <= len(existing):
        raise InvalidPartitions(
            f"topic {growth.name!r} has {counted(len(existing), 'partition')} already; "
            f"{growth.partitions} is no increase"
        )
    if growth.assignments is not None:
        numbered = dict(enumerate(growth.assignments, len(existing)))
        if len(numbered) != growth.partitions - len(existing):
            raise InvalidRequest("as many assignments as there are new partitions")
        return checked(numbered, context.open_for_replicas(), existing)
    return placed(
        list(context.open_for_replicas().values()),
        partitions=growth.partitions - len(existing),
        factor=len(existing[min(existing)].target),
        random=context.policy.random,
        existing=existing,
    )


def _was_changed(answer: Answer) -> bool:
    return isinstance(answer, OutcomeUnknown) or (
        isinstance(answer, MultiFailed) and isinstance(answer.cause, BadVersion)
    )


# Topics go


def on_deletion(
    context: ControllerContext, names: Sequence[str]
) -> Steps[dict[str, BrokerError | None]]:
    """Each is marked, and its deletion begins; the mark is what a later controller goes on from."""
    outcomes: dict[str, BrokerError | None] = {}
    wanted = []
    for name in names:
        outcomes[name] = None
        if not context.policy.may_delete:
            outcomes[name] = DeletionDisabled("delete.topic.enable is false")
        elif name not in context.image.topics:
            outcomes[name] = UnknownTopic(f"there is no topic {name!r}")
        else:
            wanted.append(name)
    answers = yield from commit(*(Multi((decide_deletion(name),)) for name in wanted))
    marked = []
    for name, answer in zip(wanted, answers, strict=True):
        if not isinstance(answer, KeeperError) or _is_marked(answer):
            marked.append(name)
        else:
            outcomes[name] = ZooKeeperFailed(str(answer))
    yield from on_marks(context, marked)
    return outcomes


def _is_marked(answer: KeeperError) -> bool:
    return isinstance(answer, MultiFailed) and isinstance(answer.cause, NodeExists)
