"""Topics that are deleted: replica by replica, then the znodes, the mark last.

A topic that is being deleted takes part in nothing else: it has no leader, it does not grow, its
partitions are not reassigned. Replicas that can be reached are deleted at once; the others when
their broker returns, so a deletion may take as long as that. While one of its partitions is being
reassigned it waits; cancelling the reassignment sets it free.
"""

from collections.abc import Container, Iterable

from odradek.controller.context import ControllerContext, Deletion
from odradek.controller.decisions.elections import send
from odradek.controller.phases import REPLICA_PREDECESSORS, ReplicaPhase
from odradek.controller.steps import Note, Steps, TopicIsGone, commit, read
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import (
    PartitionStateZnode,
    PartitionZnode,
    TopicsZnode,
    TopicZnode,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.zookeeper.client.errors import MultiFailed, NoNode
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperError
from odradek.zookeeper.protocol.jute_replies import Children2
from odradek.zookeeper.protocol.jute_requests import (
    Delete,
    Exists,
    GetChildren2,
    Multi,
    SetData,
    WriteOp,
)

DELETES_PER_MULTI = 200

_R = ReplicaPhase


def on_marks(context: ControllerContext, names: Iterable[str]) -> Steps[None]:
    """These topics are marked for deletion; one that is gone may have left its settings."""
    for name in names:
        if name in context.deletions:
            continue
        if name not in context.image.topics:
            (there,) = yield from read(Exists(TopicZnode.path(name), watch=False))
            if isinstance(there, NoNode):  # else it cannot be read: nothing of it is touched
                yield from _delete(_behind(name))
            continue
        if not context.policy.may_delete:
            yield from commit(Multi((Delete(DeleteTopicZnode.path(name), ANY_VERSION),)))
            continue
        context.deletions[name] = Deletion()
        yield Note("topic.deletion_begins", {"topic": name})
        yield from begin_if_free(context, name)


def mark_deletions(context: ControllerContext, names: Iterable[str]) -> None:
    """Of topics that were not known before: none of them gets a leader.

    One waits while a partition of the topic is being reassigned.
    """
    for name in names if context.policy.may_delete else ():
        if name in context.image.topics:
            context.deletions[name] = deletion = Deletion()
            partitions = context.partitions_of(name)
            deletion.has_begun = not any(it in context.reassigning for it in partitions)


def begin_if_free(context: ControllerContext, name: str) -> Steps[None]:
    """Begins a deletion, unless a partition of the topic is being reassigned."""
    deletion = context.deletions.get(name)
    partitions = context.partitions_of(name)
    if deletion is None or deletion.has_begun:
        return
    if any(partition in context.reassigning for partition in partitions):
        yield Note("topic.deletion_waits", {"topic": name, "reason": "it is being reassigned"})
        return
    deletion.has_begun = True
    yield from start_deletion(context, name)


def start_deletion(context: ControllerContext, name: str) -> Steps[None]:
    """Clients hear that the topic goes, and brokers that can be reached delete their replicas."""
    partitions = context.partitions_of(name)
    context.batch.add_update(partitions)
    adopt_replicas(context, name, partitions)
    yield from send(context)
    yield from finish_if_done(context, name)


def adopt_replicas(
    context: ControllerContext, name: str, partitions: Iterable[TopicPartition]
) -> None:
    """Replicas of a topic that is being deleted: those that can be reached are told."""
    deletion = context.deletions[name]
    for partition in partitions:
        image = context.image.partition(partition)
        assert image is not None, partition
        for replica in image.assignment.replicas:
            deletion.replicas[partition, replica] = _R.OFFLINE
            _stop_if_reached(context, deletion, partition, replica)


def _stop_if_reached(
    context: ControllerContext, deletion: Deletion, partition: TopicPartition, replica: BrokerId
) -> None:
    if replica in context.image.brokers:  # its log dir may be offline: the broker says so
        _enter(deletion, partition, replica, _R.DELETION_STARTED)
        context.batch.add_stop(replica, partition, delete=True)
    else:
        _enter(deletion, partition, replica, _R.DELETION_INELIGIBLE)


def fail_deletions(
    context: ControllerContext,
    brokers: Iterable[BrokerId],
    partitions: Container[TopicPartition] | None = None,
) -> None:
    """What these brokers were told to delete is lost with them, or with their log dir."""
    for broker in brokers:
        for deletion in context.deletions.values():
            for partition, replica in deletion.replicas:
                if replica == broker and (partitions is None or partition in partitions):
                    _enter(deletion, partition, replica, _R.DELETION_INELIGIBLE)


def resume_deletions(context: ControllerContext, arrived: Container[BrokerId]) -> Steps[None]:
    """Replicas of brokers that are back are deleted now."""
    for deletion in context.deletions.values():
        for (partition, replica), phase in list(deletion.replicas.items()):
            if replica in arrived and phase is _R.DELETION_INELIGIBLE:
                _enter(deletion, partition, replica, _R.OFFLINE)
                _stop_if_reached(context, deletion, partition, replica)
    yield from send(context)


def on_stopped(
    context: ControllerContext,
    broker: BrokerId,
    deleted: Iterable[TopicPartition],
    failed: Iterable[TopicPartition],
) -> Steps[None]:
    """What a broker says of replicas that it was to delete."""
    touched: dict[str, None] = {}
    for partitions, phase in ((deleted, _R.DELETION_SUCCESSFUL), (failed, _R.DELETION_INELIGIBLE)):
        for partition in partitions:
            deletion = context.deletions.get(partition.topic)
            if deletion is not None:
                _enter(deletion, partition, broker, phase)
                touched[partition.topic] = None
    for name in touched:
        yield from finish_if_done(context, name)


def finish_if_done(context: ControllerContext, name: str) -> Steps[None]:
    """The znodes go once all replicas are deleted."""
    deletion = context.deletions.get(name)
    if deletion is None or not deletion.has_begun:
        return
    if not _all_are_deleted(context, name, deletion):
        return
    reason = yield from _forget(context, name)
    if reason is not None:
        if reason != deletion.stays:
            yield Note("topic.not_deleted", {"topic": name, "reason": reason})
        deletion.stays = reason
        return
    for partition in context.partitions_of(name):  # the next of its name has lost nothing
        context.lost.pop(partition, None)
        context.unread.pop(partition, None)
    context.forget_topic(name)
    yield TopicIsGone(name)
    yield Note("topic.deleted", {"topic": name})


def _all_are_deleted(context: ControllerContext, name: str, deletion: Deletion) -> bool:
    """Every replica has said so; a new controller has not asked any before its turn comes."""
    for partition in context.partitions_of(name):
        image = context.image.partition(partition)
        assert image is not None, partition
        if any((partition, it) not in deletion.replicas for it in image.assignment.replicas):
            return False
    return all(phase is _R.DELETION_SUCCESSFUL for phase in deletion.replicas.values())


def on_gone(context: ControllerContext, name: str, *, deletes: bool) -> Steps[None]:
    """Somebody has taken a topic out of the tree: brokers hear that there is none.

    Replicas are deleted if somebody has asked for that; else they stop, and their logs stay.
    """
    context.deletions[name] = deletion = Deletion()
    deletion.has_begun = True
    partitions = context.partitions_of(name)
    context.batch.add_update(partitions)
    if deletes:
        adopt_replicas(context, name, partitions)
    else:
        for partition in partitions:
            image = context.image.partition(partition)
            assert image is not None, partition
            for replica in image.assignment.replicas:
                context.batch.add_stop(replica, partition, delete=False)
    yield from send(context)
    context.forget_topic(name)
    yield TopicIsGone(name)
    yield Note("topic.gone_from_zookeeper", {"topic": name})


def _forget(context: ControllerContext, name: str) -> Steps[str | None]:
    """From below: states, partitions, the topic, its settings, and the mark at last."""
    (children,) = yield from read(GetChildren2(PartitionZnode.parent(name), watch=False))
    numbers = {str(partition.partition) for partition in context.partitions_of(name)}
    if isinstance(children, Children2):
        numbers |= set(children.names)
    paths = []
    for number in sorted(numbers):
        above = f"{PartitionZnode.parent(name)}/{number}"
        paths += [above + PartitionStateZnode.SUFFIX, above]
    paths += [PartitionZnode.parent(name), TopicZnode.path(name)]
    return (yield from _delete([*_deletes(*paths), *_behind(name)]))


def _behind(name: str) -> list[WriteOp]:
    """What goes after a topic: until then its name is taken.

    The znode above all topics gets another version, for who has read this topic, or its settings,
    and is about to change them: those of the next one of the name begin with the same versions.
    """
    settings = SettingsZnode.path(Entity(EntityType.TOPICS, name))
    told = SetData(TopicsZnode.PATH, None, ANY_VERSION)
    return [told, *_deletes(settings, DeleteTopicZnode.path(name))]


def _deletes(*paths: str) -> list[WriteOp]:
    return [Delete(path, ANY_VERSION) for path in paths]


def _delete(deletes: list[WriteOp]) -> Steps[str | None]:
    """All of them, in order; why not, if that failed. One that is gone already is no failure.

    Where one cannot be deleted, nothing behind it is: the mark stays as long as anything else.
    """
    for at in range(0, len(deletes), DELETES_PER_MULTI):
        some = deletes[at : at + DELETES_PER_MULTI]
        (answer,) = yield from commit(Multi(tuple(some)))
        if not isinstance(answer, KeeperError):
            continue
        for one in some:
            (answer,) = yield from commit(Multi((one,)))
            if isinstance(answer, KeeperError) and not _was_gone(answer):
                return str(answer)
    return None


def _was_gone(answer: Answer) -> bool:
    return isinstance(answer, MultiFailed) and isinstance(answer.cause, NoNode)


def _enter(
    deletion: Deletion, partition: TopicPartition, broker: BrokerId, phase: ReplicaPhase
) -> bool:
    """The next phase of a replica, if the table knows the step; old news is passed over."""
    now = deletion.replicas.get((partition, broker), _R.NON_EXISTENT)
    if now not in REPLICA_PREDECESSORS[phase]:
        return False
    deletion.replicas[partition, broker] = phase
    return True
