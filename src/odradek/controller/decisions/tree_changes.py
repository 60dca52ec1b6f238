"""The tree has changed: what is there is read anew, compared, and acted on.

An event never says what is so now; several changes may have been folded into one. A znode that
makes no sense, or may not be read, is named by its path, and what it is about is as it was known;
everything else goes on. It is read again like what has changed: no event tells of an ACL.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.broker_changes import on_brokers, tell_all
from odradek.controller.decisions.deletions import finish_if_done, on_marks
from odradek.controller.decisions.elections import change_states, elect_preferred, send
from odradek.controller.decisions.reassignments import advance, begin_mended, on_znode
from odradek.controller.decisions.topic_changes import (
    FoundTopic,
    WrittenState,
    is_another,
    on_topics,
)
from odradek.controller.steps import Note, Steps, commit, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.admin import (
    DeleteTopicZnode,
    IsrChangeZnode,
    LogDirEventZnode,
    PreferredElectionZnode,
    ReassignPartitionsZnode,
)
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.topic import (
    PartitionStateZnode,
    PartitionZnode,
    TopicsZnode,
    TopicZnode,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.zookeeper.client.errors import NoAuth, NoNode
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperError
from odradek.zookeeper.protocol.jute_replies import Children2, Data, StatReply
from odradek.zookeeper.protocol.jute_requests import Delete, Exists, GetChildren2, GetData, Multi

ALL_PATHS: Final = "*"
"""As a path: the connection was lost, and anything may have changed meanwhile."""

T = TypeVar("T")


def on_tree_changed(context: ControllerContext, paths: frozenset[str]) -> Steps[None]:
    """Brokers before topics, or a new topic would find no broker to be placed on."""

    def changed(*wanted: str) -> bool:
        return ALL_PATHS in paths or not paths.isdisjoint(wanted)

    if ALL_PATHS in paths or any(path.startswith(BrokerIdsZnode.PATH) for path in paths):
        yield from _look_at_brokers(context)
    below = f"{TopicsZnode.PATH}/"  # of what is deeper only a broker in waiting wants to hear
    topics = [it for it in paths if it.startswith(below) and "/" not in it.removeprefix(below)]
    if topics or changed(TopicsZnode.PATH):
        yield from _look_at_topics(context, topics, paths)
    if changed(DeleteTopicZnode.PARENT):
        yield from look_at_marks(context)
    if changed(LogDirEventZnode.PARENT):
        yield from _look_at_log_dirs(context)
    if changed(IsrChangeZnode.PARENT):
        yield from _look_at_isr_changes(context)
    if changed(ReassignPartitionsZnode.PATH):
        yield from look_at_reassignments(context)
    if changed(PreferredElectionZnode.PATH):
        yield from look_at_preferred_elections(context)
    if ALL_PATHS in paths:
        for name in list(context.deletions):
            yield from finish_if_done(context, name)


def _children(context: ControllerContext, path: str) -> Steps[list[str] | None]:
    """Their names, from now on watched; None if it may not be read which there are."""
    (answer,) = yield from read(GetChildren2(path, watch=True))
    if isinstance(answer, NoAuth):
        yield from _cannot_read(context, path, str(answer))
        return None
    context.unreadable.pop(path, None)
    return sorted(answer.names) if isinstance(answer, Children2) else []


def _cannot_read(context: ControllerContext, path: str, why: str) -> Steps[None]:
    """Told once, however often it is tried."""
    if context.unreadable.get(path) != why:
        yield Note("controller.znode_ignored", {"fault": why})
    context.unreadable[path] = why


def _decoded(names: Iterable[str], decode: Callable[[str], T]) -> Iterator[T | Note]:
    for name in names:
        try:
            yield decode(name)
        except MalformedZnode as fault:
            yield ignored(fault)


def ignored(fault: MalformedZnode) -> Note:
    """A znode that makes no sense."""
    return Note("controller.znode_ignored", {"fault": str(fault)})


# Brokers


def _look_at_brokers(context: ControllerContext) -> Steps[None]:
    names = yield from _children(context, BrokerIdsZnode.PATH)
    if names is None:
        return  # a broker is not gone because the list of brokers cannot be read
    ids = []
    for found in _decoded(names, BrokerIdsZnode.decode_name):
        if isinstance(found, Note):
            yield found
        else:
            ids.append(found)
    paths = [BrokerZnode.path(it) for it in ids]
    answers = yield from read(*(GetData(path, watch=True) for path in paths))
    for path in [it for it in context.unreadable if it.startswith(f"{BrokerIdsZnode.PATH}/")]:
        if path not in paths:
            del context.unreadable[path]
    brokers: list[Broker] = []
    for broker, path, answer in zip(ids, paths, answers, strict=True):
        if isinstance(answer, Data):
            try:
                brokers.append(BrokerZnode.decode(broker, answer.data, czxid=answer.stat.czxid))
                context.unreadable.pop(path, None)
                continue
            except MalformedZnode as fault:
                yield from _cannot_read(context, path, str(fault))
        elif isinstance(answer, NoAuth):
            yield from _cannot_read(context, path, str(answer))
        brokers += yield from _as_it_was(context, broker)
    yield from on_brokers(context, brokers)


def _as_it_was(context: ControllerContext, broker: BrokerId) -> Steps[list[Broker]]:
    """One whose registration cannot be read, unless it is known to be another than before."""
    known = context.image.brokers.get(broker)
    (there,) = yield from read(Exists(BrokerZnode.path(broker), watch=True))
    is_same = isinstance(there, NoAuth) or (
        isinstance(there, StatReply) and known is not None and known.epoch == there.stat.czxid
    )
    return [known] if known is not None and is_same else []


# Topics


def _look_at_topics(
    context: ControllerContext, paths: Iterable[str], changed: frozenset[str]
) -> Steps[None]:
    names = {path.removeprefix(f"{TopicsZnode.PATH}/") for path in paths}
    if not changed.isdisjoint({ALL_PATHS, TopicsZnode.PATH}):
        known = context.image.topics.keys()
        listed = yield from _children(context, TopicsZnode.PATH)
        there = set(known if listed is None else listed)
        names |= there | known if ALL_PATHS in changed else there ^ known
    wanted = []
    for found in _decoded(sorted(names), TopicsZnode.decode_name):
        if isinstance(found, Note):
            yield found
        else:
            wanted.append(found)
    answers = yield from read(*(GetData(TopicZnode.path(it), watch=True) for it in wanted))
    topics: dict[str, FoundTopic | None] = {}
    mended = []
    for name, answer in zip(wanted, answers, strict=True):
        path = TopicZnode.path(name)
        if isinstance(answer, NoNode):
            topics[name] = None
            context.unreadable.pop(path, None)
        elif isinstance(answer, NoAuth):
            yield from _cannot_read(context, path, str(answer))
        elif isinstance(answer, Data):
            try:
                topic = TopicZnode.decode(name, answer.data)
                topics[name] = FoundTopic(topic, answer.stat.version)
                was_unreadable = context.unreadable.pop(path, None) is not None
                if was_unreadable and name not in context.image.topics:
                    mended.append(name)
            except MalformedZnode as fault:
                yield from _cannot_read(context, path, str(fault))
    states = yield from _states_of_unknown(context, topics)
    marks = {*(yield from read_marks(context))} if mended else set()
    yield from on_topics(context, topics, states, marked=[it for it in mended if it in marks])
    yield from begin_mended(context)


def _states_of_unknown(
    context: ControllerContext, topics: Mapping[str, FoundTopic | None]
) -> Steps[dict[TopicPartition, WrittenState]]:
    """Of topics that others have made, or whose znodes were mended: a state may have been lost."""
    known = context.image.topics
    partitions = [
        TopicPartition(name, number)
        for name, found in topics.items()
        if found is not None and (name not in known or is_another(known[name], found.topic))
        for number in found.topic.partitions
    ]
    answers = yield from read(
        *(GetData(PartitionStateZnode.path(it), watch=False) for it in partitions)
    )
    states: dict[TopicPartition, WrittenState] = {}
    missing = []
    for partition, answer in zip(partitions, answers, strict=True):
        if isinstance(answer, NoNode):
            missing.append(partition)
        elif isinstance(answer, Data):
            try:
                stat = answer.stat
                state = PartitionStateZnode.decode(partition, answer.data, stat.version)
                states[partition] = WrittenState(state, stat.mzxid)
            except MalformedZnode as fault:
                yield ignored(fault)
    context.unread |= dict.fromkeys(it for it in partitions if it not in {*missing, *states})
    yield from _find_lost(context, missing)
    return states


def _find_lost(context: ControllerContext, missing: list[TopicPartition]) -> Steps[None]:
    """Of partitions without a state, those that have had one."""
    above = yield from _exist(PartitionZnode.path(it) for it in missing)
    topics_of = list(dict.fromkeys(it.topic for it in missing))
    removed, unread = yield from _have_lost_children(topics_of)
    for partition, at in zip(missing, above, strict=True):
        if isinstance(at, NoAuth) or partition.topic in unread:
            context.unread[partition] = None
        elif isinstance(at, StatReply) or partition.topic in removed:
            context.lost[partition] = None
            yield Note("controller.state_is_missing", {"partition": str(partition)})


def _have_lost_children(topics: list[str]) -> Steps[tuple[set[str], set[str]]]:
    """Topics of which a person has removed partitions, and those of which it cannot be read."""
    looks = (PartitionZnode.parent, TopicZnode.path)
    found = yield from _exist(look(it) for it in topics for look in looks)
    names = [it for it in topics for _ in looks]
    told = list(zip(names, found, strict=True))
    removed = {
        name
        for name, at in told
        if isinstance(at, StatReply)
        and PartitionZnode.were_removed(at.stat.cversion, at.stat.num_children)
    }
    return removed, {name for name, at in told if isinstance(at, NoAuth)}


def _exist(paths: Iterable[str]) -> Steps[list[Answer]]:
    found = yield from read(*(Exists(path, watch=False) for path in paths))
    return list(found)


def look_at_marks(context: ControllerContext) -> Steps[None]:
    """Topics that are marked for deletion."""
    yield from on_marks(context, (yield from read_marks(context)))


def read_marks(context: ControllerContext) -> Steps[list[str]]:
    """Their names."""
    names = yield from _children(context, DeleteTopicZnode.PARENT)
    marked = []
    for found in _decoded(names or (), DeleteTopicZnode.decode_name):
        if isinstance(found, Note):
            yield found
        else:
            marked.append(found)
    return marked


# Notifications


def _look_at_log_dirs(context: ControllerContext) -> Steps[None]:
    """A broker has lost a log dir: it is asked for all its replicas, and answers which are gone."""
    paths, answers = yield from _notifications(context, LogDirEventZnode.PARENT)
    brokers: dict[BrokerId, None] = {}
    for answer in answers:
        try:
            brokers[LogDirEventZnode.decode(answer.data)] = None
        except MalformedZnode as fault:
            yield ignored(fault)
    alive = [it for it in brokers if it in context.image.brokers]
    context.look_again(brokers)
    yield from tell_all(context, alive, leaving_out={})
    yield from delete_each(paths)


def _look_at_isr_changes(context: ControllerContext) -> Steps[None]:
    """A leader from before AlterPartition has written an ISR by itself."""
    paths, answers = yield from _notifications(context, IsrChangeZnode.PARENT)
    partitions: dict[TopicPartition, None] = {}
    for answer in answers:
        try:
            partitions |= dict.fromkeys(IsrChangeZnode.decode(answer.data))
        except MalformedZnode as fault:
            yield ignored(fault)
    known = [it for it in partitions if context.image.partition(it) is not None]
    found = yield from read(*(GetData(PartitionStateZnode.path(it), watch=False) for it in known))
    states = {}
    for partition, state in zip(known, found, strict=True):
        if isinstance(state, Data):
            try:
                version = state.stat.version
                states[partition] = PartitionStateZnode.decode(partition, state.data, version)
            except MalformedZnode as fault:
                yield ignored(fault)
    context.set_states(states)
    context.batch.add_update(states)
    yield from send(context)
    for partition in states:
        yield from advance(context, partition)
    yield from delete_each(paths)


def _notifications(context: ControllerContext, parent: str) -> Steps[tuple[list[str], list[Data]]]:
    names = yield from _children(context, parent)
    paths = [f"{parent}/{name}" for name in names or ()]
    answers = yield from read(*(GetData(path, watch=False) for path in paths))
    return paths, [it for it in answers if isinstance(it, Data)]


def drop_notifications(context: ControllerContext) -> Steps[None]:
    """A new controller reads everything anyway; what was notified to the last one is in that."""
    for parent in (LogDirEventZnode.PARENT, IsrChangeZnode.PARENT):
        names = yield from _children(context, parent)
        yield from delete_each([f"{parent}/{name}" for name in names or ()])


def delete_each(paths: Sequence[str]) -> Steps[None]:
    """One by one; those that are gone, or cannot go, are left."""
    answers = yield from commit(*(Multi((Delete(path, ANY_VERSION),)) for path in paths))
    for path, answer in zip(paths, answers, strict=True):
        if isinstance(answer, KeeperError) and not _was_gone(answer):
            yield Note("controller.znode_stays", {"path": path, "reason": str(answer)})


def _was_gone(answer: Answer) -> bool:
    return isinstance(getattr(answer, "cause", None), NoNode)


# What older tools ask for


def _input(context: ControllerContext, path: str) -> Steps[Data | None]:
    """The contents of a znode that may not be there; in either case it is watched."""
    (there,) = yield from read(Exists(path, watch=True))
    if not isinstance(there, StatReply):
        context.unreadable.pop(path, None)
        return None
    (found,) = yield from read(GetData(path, watch=False))
    if isinstance(found, NoAuth):
        yield from _cannot_read(context, path, str(found))
    else:
        context.unreadable.pop(path, None)
    return found if isinstance(found, Data) else None


def look_at_reassignments(context: ControllerContext) -> Steps[None]:
    """/admin/reassign_partitions: only what is new in it begins."""
    found = yield from _input(context, ReassignPartitionsZnode.PATH)
    if found is None:
        context.asked_by_znode = {}
        return
    try:
        targets = ReassignPartitionsZnode.decode(found.data)
    except MalformedZnode as fault:
        yield ignored(fault)
        return
    context.asked_version = found.stat.version
    if targets != context.asked_by_znode:
        yield from on_znode(context, targets)


def look_at_preferred_elections(context: ControllerContext) -> Steps[None]:
    """/admin/preferred_replica_election: it is deleted, whatever came of it."""
    found = yield from _input(context, PreferredElectionZnode.PATH)
    if found is None:
        return
    try:
        partitions = PreferredElectionZnode.decode(found.data)
    except MalformedZnode as fault:
        yield ignored(fault)
        return
    yield from change_states(context, partitions, elect_preferred(context))
    yield from send(context)
    yield from delete_each([PreferredElectionZnode.PATH])
    yield from read(Exists(PreferredElectionZnode.PATH, watch=True))
