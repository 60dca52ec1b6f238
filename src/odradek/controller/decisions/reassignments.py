"""Partitions move to other brokers (KIP-455).

The topic's znode is the only durable record: while a partition moves it names the old and the new
replicas together, with those that are added and those that are removed. Completion rewrites it
last, so a controller that dies in between leaves its successor everything to go on with.

    asked ─▶ znode: target + origin ─▶ added replicas follow ─▶ target is in sync
          ─▶ leader and ISR within the target ─▶ znode: target ─▶ removed ones leave the disks

Kafka tells the leader of its new replicas before it writes the ISR without the removed ones. Then
the leader waits for them no more, though they could be elected; here both is one write.

Two rules go beyond Kafka: a cancel, or another target, is refused where it would remove a whole
copy and leave fewer than min.insync.replicas (what several have acknowledged would be on one disk),
and a target smaller than that is refused (nothing could be produced to it with acks=all).

And one copy alone is not relied on before it has shown that its disk works, for an idle one may
have died unnoticed: where a single whole copy would stay of several, that replica leads first, is
told of the replicas that shall go, and touches its disk before it answers. Kafka's brokers answer.
So a cancel, or another target, keeps such copies to the end, too.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.deletions import begin_if_free
from odradek.controller.decisions.elections import Rule, change_states, lose, send
from odradek.controller.guarded_writes import StateWrite
from odradek.controller.leaders import (
    for_a_reassignment,
    leaving,
    members,
    next_state,
    same_leader,
)
from odradek.controller.steps import Note, Steps, commit, read
from odradek.metadata.image import PartitionImage
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.admin import ReassignPartitionsZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.leader_and_isr import LeaderAndIsrTopicState
from odradek.zookeeper.client.errors import OutcomeUnknown
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Data, Results, StatReply
from odradek.zookeeper.protocol.jute_requests import Delete, GetData, Multi, SetData

TRIES_MAX: Final = 5
"""How often somebody else may have changed the topic's znode."""

Target = tuple[BrokerId, ...] | None
"""The replicas that are asked for; None cancels."""


class InvalidReplicaAssignment(BrokerError):
    """These replicas cannot hold the partition."""

    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class NoReassignmentInProgress(BrokerError):
    """There is nothing to be cancelled."""

    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


class UnknownPartition(BrokerError):
    """There is no such partition, or its topic is being deleted."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class NotWritten(BrokerError):
    """ZooKeeper did not take the change."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


def on_reassignment(
    context: ControllerContext, targets: Mapping[TopicPartition, Target]
) -> Steps[dict[TopicPartition, BrokerError | None]]:
    """Begins, changes or cancels reassignments; what speaks against each."""
    outcomes: dict[TopicPartition, BrokerError | None] = dict.fromkeys(targets)
    by_topic: dict[str, dict[TopicPartition, Target]] = {}
    for partition, target in targets.items():
        by_topic.setdefault(partition.topic, {})[partition] = target
    for name, wanted in by_topic.items():
        outcomes |= yield from _reassign_topic(context, name, wanted)
    return outcomes


def _reassign_topic(
    context: ControllerContext, name: str, targets: Mapping[TopicPartition, Target]
) -> Steps[dict[TopicPartition, BrokerError | None]]:
    """All partitions of one topic with one write."""
    outcomes: dict[TopicPartition, BrokerError | None] = {}
    accepted: dict[TopicPartition, Assignment] = {}
    for partition, target in targets.items():
        try:
            accepted[partition] = _next_assignment(context, partition, target)
            outcomes[partition] = None
        except BrokerError as error:
            outcomes[partition] = error
    before = {it: _image(context, it).assignment for it in accepted}
    changed = {it: now for it, now in accepted.items() if now != before[it]}
    if changed:
        failure = yield from write_assignments(context, name, changed)
        if failure is not None:
            return outcomes | dict.fromkeys(changed, failure)
    for partition, assignment in accepted.items():
        yield from _drop_superseded(context, partition, before[partition])
        if assignment.is_reassigning:
            yield from advance(context, partition, begins=True)
        elif partition in changed:
            yield from _settle(context, partition)
    return outcomes


def _settle(context: ControllerContext, partition: TopicPartition) -> Steps[None]:
    """A cancel has left nothing to be done: the leader hears that the replicas are the old ones."""
    yield from change_states(context, [partition], _lead_from_target(context, frozenset()))
    yield from _over(context, partition)


def _over(context: ControllerContext, partition: TopicPartition) -> Steps[None]:
    assert not _image(context, partition).assignment.is_reassigning, partition
    yield Note("reassignment.finished", {"partition": str(partition)})
    yield from trim_znode(context, [partition])
    yield from begin_if_free(context, partition.topic)


def _image(context: ControllerContext, partition: TopicPartition) -> PartitionImage:
    image = context.image.partition(partition)
    assert image is not None, partition
    return image


def _next_assignment(
    context: ControllerContext, partition: TopicPartition, target: Target
) -> Assignment:
    image = context.image.partition(partition)
    if image is not None and target is None and not context.is_deleting(partition.topic):
        return _cancelled(context, partition, image)
    if image is None or target is None or partition.topic in context.deletions:
        raise UnknownPartition(f"{partition} does not exist, or is being deleted")
    if not target or len(set(target)) != len(target) or min(target) < 0:
        raise InvalidReplicaAssignment(f"{partition}: {list(target)} is no list of brokers")
    now = image.assignment.reassigned_to(target)
    dead = [it for it in now.adding if it not in context.live]
    if dead and partition not in context.asked_by_znode:
        raise InvalidReplicaAssignment(f"{partition}: brokers {dead} are not available")
    closed = [it for it in now.adding if it not in context.open_for_replicas()]
    if closed and not dead:
        raise InvalidReplicaAssignment(
            f"{partition}: brokers {closed} take no new replicas: they are cordoned, or preferred "
            "controllers and preferred.controller.dedicated"
        )
    min_isr = context.policy.min_isr(partition.topic)
    if len(target) < min(min_isr, len(image.assignment.origin)):
        raise InvalidReplicaAssignment(
            f"{partition}: {counted(len(target), 'replica')}; min.insync.replicas is {min_isr}"
        )
    _check_copies(context, partition, image, now)
    return _keeping_copies(image, now)


def _cancelled(
    context: ControllerContext, partition: TopicPartition, image: PartitionImage
) -> Assignment:
    assignment = image.assignment
    if not assignment.is_reassigning:
        raise NoReassignmentInProgress(f"{partition} is not being reassigned")
    now = assignment.reassigned_to(assignment.origin)
    _check_copies(context, partition, image, now)
    return _keeping_copies(image, now)


def _keeping_copies(image: PartitionImage, now: Assignment) -> Assignment:
    """What is not named any more is deleted at once; not while one copy alone would stay.

    Then whole ones are removed as the origin's are: at the end.
    """
    if image.state is None or len({*image.state.isr} & {*now.replicas}) > 1:
        return now
    whole = {*members(image.state)}
    left = tuple(it for it in image.assignment.replicas if it in whole and it not in now.replicas)
    return Assignment((*now.replicas, *left), now.adding, (*now.removing, *left))


def _check_copies(
    context: ControllerContext, partition: TopicPartition, image: PartitionImage, now: Assignment
) -> None:
    """What is not named any more is deleted at once: enough others must have it all."""
    if image.state is None:
        return
    whole, left = set(members(image.state)), set(now.replicas)
    needed = min(context.policy.min_isr(partition.topic), len(now.target))
    if whole - left and len(whole & left) < max(needed, 1):
        raise InvalidReplicaAssignment(
            f"{partition}: records would be lost: of {list(now.replicas)} {len(whole & left)} have "
            f"everything, and {max(needed, 1)} must before {sorted(whole - left)} are deleted"
        )


def write_assignments(
    context: ControllerContext, name: str, changed: Mapping[TopicPartition, Assignment]
) -> Steps[BrokerError | None]:
    """Replaces them in the topic's znode, and here once it stands there; why not, if it failed."""
    for _ in range(TRIES_MAX):
        data = TopicZnode.encode(_topic_with(context, name, changed))
        version = context.topic_versions[name]
        (answer,) = yield from commit(Multi((SetData(TopicZnode.path(name), data, version),)))
        if isinstance(answer, Results):
            (stat,) = answer.results
            assert isinstance(stat, StatReply), stat
            _adopt(context, name, changed, stat.stat.version)
            return None
        (found,) = yield from read(GetData(TopicZnode.path(name), watch=True))
        if not isinstance(found, Data):
            return NotWritten(f"topic {name!r}: {answer}")
        if found.data == data:  # the answer was lost, or another said the same
            _adopt(context, name, changed, found.stat.version)
            return None
        if found.stat.version == version:
            if isinstance(answer, OutcomeUnknown):
                continue
            return NotWritten(f"topic {name!r}: {answer}")
        try:
            _take_over(context, name, TopicZnode.decode(name, found.data), found.stat.version)
        except MalformedZnode as fault:
            return NotWritten(str(fault))
    return NotWritten(f"topic {name!r}: others change it all the time")


def _topic_with(
    context: ControllerContext, name: str, changed: Mapping[TopicPartition, Assignment]
) -> TopicAssignment:
    topic = context.image.topics[name]
    assigned = {number: it.assignment for number, it in topic.partitions.items()}
    assigned |= {partition.partition: it for partition, it in changed.items()}
    return TopicAssignment(assigned, topic.topic_id)


def _adopt(
    context: ControllerContext,
    name: str,
    changed: Mapping[TopicPartition, Assignment],
    version: int,
) -> None:
    context.topic_versions[name] = version
    for partition, assignment in changed.items():
        context.set_assignment(partition, assignment)


def _take_over(context: ControllerContext, name: str, found: TopicAssignment, version: int) -> None:
    """Somebody else has written the topic; new partitions are brought online by its watch."""
    context.topic_versions[name] = version
    topic = context.image.topics[name]
    known = topic.partitions
    if found.topic_id is not None and found.topic_id != topic.topic_id:
        context.set_topic(name, found.topic_id, dict(known))  # another has given it one
    context.set_partitions(
        {
            TopicPartition(name, number): known[number]._replace(assignment=assignment)
            if number in known
            else PartitionImage(assignment)
            for number, assignment in found.partitions.items()
        }
    )


def _drop_superseded(
    context: ControllerContext, partition: TopicPartition, before: Assignment
) -> Steps[None]:
    """Replicas that a former reassignment was adding, and this one does not want."""
    now = _image(context, partition).assignment
    dropped = frozenset(before.replicas) - frozenset(now.replicas)
    if dropped:
        yield from change_states(context, [partition], lose(context, dropped))
        for replica in sorted(dropped):
            context.batch.add_stop(replica, partition, delete=True)
        yield from send(context)


# On the way


def advance(
    context: ControllerContext, partition: TopicPartition, *, begins: bool = False
) -> Steps[None]:
    """Completes a reassignment whose target is in sync; `begins` tells the replicas of one."""
    image = context.image.partition(partition)
    if image is None or image.state is None or not image.assignment.is_reassigning:
        return
    if is_complete(context, partition, image):
        if _rests_on_one(image):
            rule = _lead_from_target(context, frozenset())
            yield from change_states(context, [partition], rule)
        else:
            yield from _complete(context, partition, image.assignment)
    elif begins:
        yield from change_states(context, [partition], _new_epoch(context))


def is_complete(
    context: ControllerContext, partition: TopicPartition, image: PartitionImage
) -> bool:
    """Whether the target could do without the others.

    Where replicas are only removed, one of the target that is out of sync is not waited for.
    """
    assert image.state is not None, partition
    in_sync = set(image.assignment.target) & set(image.state.isr)
    return len(in_sync) >= _needed(context, partition, image.assignment)


def _rests_on_one(image: PartitionImage) -> bool:
    """Whether whole copies shall go, and a single one stay that may be idle.

    Where replicas are added, those have been written just now.
    """
    assignment, state = image.assignment, image.state
    if state is None or assignment.adding:
        return False
    goes = {*members(state)} - {*assignment.target}
    return bool(goes) and len({*state.isr} & {*assignment.target}) == 1


def complete_proven(
    context: ControllerContext,
    leader: BrokerId,
    obeyed: Container[TopicPartition],
    told: Iterable[LeaderAndIsrTopicState],
) -> Steps[None]:
    """A leader has obeyed what it was told: where it shall stay alone, its disk works.

    What it was told in an earlier epoch, or of other replicas that shall go, says nothing.
    """
    for topic in told:
        for row in topic.partition_states:
            partition = TopicPartition(topic.topic_name, row.partition_index)
            image = context.image.partition(partition)
            if partition not in obeyed or image is None or image.state is None:
                continue
            asked = row.leader, row.leader_epoch, tuple(row.removing_replicas)
            now = leader, image.state.leader_epoch, image.assignment.removing
            if asked == now and leader == image.state.leader and _rests_on_one(image):
                yield from _complete(context, partition, image.assignment)


def _needed(context: ControllerContext, partition: TopicPartition, assignment: Assignment) -> int:
    """How many of the target must be in sync."""
    if assignment.adding:
        return len(assignment.target)
    return max(min(context.policy.min_isr(partition.topic), len(assignment.target)), 1)


def _complete(
    context: ControllerContext, partition: TopicPartition, assignment: Assignment
) -> Steps[None]:
    target = Assignment(assignment.target)
    removed = frozenset(assignment.removing)
    for replica in sorted(removed):  # before it leaves the assignment, which is not looked at again
        context.batch.add_stop(replica, partition, delete=True)
    stops, context.batch.stop = context.batch.stop, {}
    context.set_assignment(partition, target)
    needed = _needed(context, partition, assignment)
    rule = _lead_from_target(context, removed, needed)
    moved = yield from change_states(context, [partition], rule)
    if partition not in moved:
        context.set_assignment(partition, assignment)
        return
    context.batch.stop = stops
    context.batch.add_update([partition])
    yield from send(context)
    failure = yield from write_assignments(context, partition.topic, {partition: target})
    if failure is not None:
        yield Note("reassignment.not_finished", {"partition": str(partition), "why": str(failure)})
        context.set_assignment(partition, assignment)
        return
    yield from _over(context, partition)


def _new_epoch(context: ControllerContext) -> Rule:
    """The same leader begins anew, with the replicas that there are now."""

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        if image.state is None:
            return None
        return StateWrite(partition, same_leader(image.state, context.lease.epoch))

    return rule


def _lead_from_target(
    context: ControllerContext, removed: frozenset[BrokerId], needed: int = 0
) -> Rule:
    """A leader of the target; it begins anew, so that it takes no removed replica back.

    They leave the ISR in the same write: a leader does not wait for a replica that it is not told
    of, and what it has not got must not be elected by the next controller. Where fewer than are
    needed are in sync by now, nothing is removed.
    """

    def rule(partition: TopicPartition, image: PartitionImage) -> StateWrite | None:
        state, online = image.state, context.online(image)
        if state is None or len({*state.isr} & {*image.assignment.target}) < needed:
            return None
        terms = context.terms(partition, image)
        if state.leader in image.assignment.target and state.leader in online:
            moved = same_leader(state, context.lease.epoch)
        else:
            choice = for_a_reassignment(image.assignment, state, online)
            if choice is None:
                return None
            moved = next_state(state, choice, context.lease.epoch, terms)
        left = leaving(moved, removed, terms)
        if {*left.isr} >= {*image.assignment.target}:  # no replica is left that could catch up
            left = left._replace(recovering=False)
        return StateWrite(partition, left)

    return rule


def resume_reassignments(context: ControllerContext, arrived: Container[BrokerId]) -> Steps[None]:
    """Those that waited for a broker which has come: it may never have heard of its replica."""
    for partition in list(context.reassigning):
        image = context.image.partition(partition)
        if image is not None and any(it in arrived for it in image.assignment.target):
            yield from advance(context, partition, begins=True)


# The znode of older tools


def on_znode(
    context: ControllerContext, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
) -> Steps[None]:
    """Reassignments asked for in /admin/reassign_partitions; dead targets are waited for there.

    So are topics whose znodes cannot be read: once one is mended, what was asked for is begun.
    """
    context.asked_by_znode = dict(targets)
    yield from _begin_asked(context, targets)


def begin_mended(context: ControllerContext) -> Steps[None]:
    """What was asked for in that znode may be possible now: of topics that have been mended."""
    waiting = [it for it in context.asked_by_znode if it not in context.reassigning]
    if waiting:
        yield from _begin_asked(context, {it: context.asked_by_znode[it] for it in waiting})


def _begin_asked(
    context: ControllerContext, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
) -> Steps[None]:
    known = {it: to for it, to in targets.items() if not _is_unreadable(context, it.topic)}
    outcomes = yield from on_reassignment(context, known)
    refused = [it for it, error in outcomes.items() if error is not None]
    for partition in refused:
        fields = {"partition": str(partition), "reason": str(outcomes[partition])}
        yield Note("reassignment.refused", fields)
    done = [it for it in known if it not in context.reassigning]
    yield from trim_znode(context, [*refused, *done])


def _is_unreadable(context: ControllerContext, name: str) -> bool:
    return TopicZnode.path(name) in context.unreadable


def trim_znode(context: ControllerContext, partitions: Iterable[TopicPartition]) -> Steps[None]:
    """These are over: the znode names those that are not, and is deleted with the last.

    What somebody has written there meanwhile stays: it is read next, or once it is mended.
    """
    known = len(context.asked_by_znode)
    for partition in partitions:
        context.asked_by_znode.pop(partition, None)
    if len(context.asked_by_znode) == known:
        return
    path, left = ReassignPartitionsZnode.PATH, context.asked_by_znode
    write: SetData | Delete = Delete(path, context.asked_version)
    if left:
        write = SetData(path, ReassignPartitionsZnode.encode(left), context.asked_version)
    (answer,) = yield from commit(Multi((write,)))
    if isinstance(answer, Results) and isinstance(written := answer.results[0], StatReply):
        context.asked_version = written.stat.version
    if isinstance(answer, KeeperError):
        yield Note("reassignment.znode_stays", {"reason": str(answer)})
