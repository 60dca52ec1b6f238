"""A controller begins: what its predecessor left is found out, finished, and told to everybody.

Brokers hear who lives. Then partitions get leaders whose own are dead, or came back in another life
while there was no controller; dead members leave the ISR. Clients wait for that, so it comes before
every broker gets the whole metadata once, and hears what it holds. Reassignments and deletions go
on from what stands in the tree.

Whether a broker came back unseen tells ZooKeeper: its registration is younger than the state that
counts on it. What it knew in that former life is not taken for granted any more.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.broker_changes import tell_all, tell_broker
from odradek.controller.decisions.deletions import mark_deletions, start_deletion
from odradek.controller.decisions.elections import (
    FormerLives,
    change_states,
    dead_replicas,
    former_lives,
    lose,
    send,
    take_over,
)
from odradek.controller.decisions.handover import on_wish
from odradek.controller.decisions.reassignments import advance
from odradek.controller.decisions.topic_changes import give_ids
from odradek.controller.decisions.tree_changes import (
    drop_notifications,
    ignored,
    look_at_marks,
    look_at_preferred_elections,
    look_at_reassignments,
    on_tree_changed,
    read_marks,
)
from odradek.controller.events import BeginningGoesOn
from odradek.controller.leaders import members
from odradek.controller.steps import PAUSE, Connect, Note, Remind, Steps, commit, read
from odradek.controller.tree_reading import Changed, TreeReading
from odradek.metadata.image import PartitionImage
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.cluster import Features, FeatureStatus, FeatureZnode
from odradek.metadata.znodes.controller import BrokerFacts
from odradek.metadata.znodes.topic import TopicsZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Millis
from odradek.zookeeper.client.errors import NoNode
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create, GetData, Multi, SetData

FEATURES: Final = FeatureZnode.encode(Features(FeatureStatus.ENABLED))
"""Enabled and empty: a Kafka 3.9 broker exits when it meets a feature."""
SLICE: Final = 500
"""Partitions that one broker is told of between two events: some five milliseconds."""


def read_tree() -> Steps[TreeReading]:
    """All that there is."""
    reading = TreeReading()
    while requests := reading.requests():
        reading.on_answers((yield from read(*requests)))
    return reading


def begin(context: ControllerContext, reading: TreeReading) -> Steps[None]:
    """All that a new controller does before the first event."""
    _remember(context, reading)
    for fault in reading.faults:
        yield Note("controller.znode_ignored", {"fault": fault})
    for partition in reading.lost:
        yield Note("controller.state_is_missing", {"partition": str(partition)})
    yield from _enable_features()
    yield from drop_notifications(context)
    yield Connect(context.image.brokers)
    names = yield from read_marks(context)
    mark_deletions(context, names)  # topics that are being deleted get no leaders
    yield from give_ids(context, list(context.image.topics))
    context.batch.has_news = True
    yield from send(context)
    former = former_lives(context, reading.written_at, context.image.brokers)
    yield PAUSE
    suspects = _suspects(context, former)
    rule = lose(context, dead_replicas(context), former)
    changed = yield from change_states(context, suspects, rule)
    yield from _tell_all(context)
    yield from tell_all(context, context.image.brokers, leaving_out=changed)
    yield from _resume(context)


def _remember(context: ControllerContext, reading: TreeReading) -> None:
    """What was read beside the image."""
    context.topic_versions |= reading.topic_versions
    context.lost |= reading.lost
    context.unread |= reading.unread
    context.unreadable |= reading.unreadable


def _resume(context: ControllerContext) -> Steps[None]:
    """What takes many steps goes on, and what was asked for meanwhile begins."""
    for partition in list(context.reassigning):
        yield from advance(context, partition, begins=True)
    yield from look_at_reassignments(context)
    for name in list(context.deletions):
        if context.is_deleting(name):
            yield from start_deletion(context, name)
    yield from look_at_marks(context)
    yield from look_at_preferred_elections(context)
    yield from on_wish(context)  # it was made for a controller of the past


def begin_warm(
    context: ControllerContext, reading: TreeReading, facts: Sequence[BrokerFacts]
) -> Steps[None]:
    """What must be done before the first event; the rest comes between events."""
    _remember(context, reading)
    take_over_facts(context, facts)
    mark_deletions(context, (yield from read_marks(context)))
    yield Connect(context.image.brokers)
    context.batch.has_news = True
    yield from send(context)
    context.remaining.extend(_rest(context, reading))
    yield Remind(Millis(0), BeginningGoesOn())


def _rest(context: ControllerContext, reading: TreeReading) -> Iterable[Callable[[], Steps[None]]]:
    yield _enable_features
    yield partial(drop_notifications, context)
    yield partial(on_tree_changed, context, frozenset({TopicsZnode.PATH}))  # watched from now on
    yield partial(_tell_all, context)
    yield partial(_repair, context, reading, context.image.brokers)
    for broker in context.image.brokers:
        hosted = list(context.hosted.get(broker, ()))
        for at in range(0, len(hosted), SLICE):
            yield partial(_tell_some, context, broker, hosted[at : at + SLICE])
    yield partial(_resume, context)


def go_on_beginning(context: ControllerContext) -> Steps[None]:
    """One slice; the events that came meanwhile have their turn before the next."""
    if context.remaining:
        yield from context.remaining.popleft()()
    if context.remaining:
        yield Remind(Millis(0), BeginningGoesOn())


def _tell_all(context: ControllerContext) -> Steps[None]:
    context.batch.full |= dict.fromkeys(context.image.brokers)
    yield from send(context)


def _repair(
    context: ControllerContext, reading: TreeReading, brokers: Mapping[BrokerId, Broker]
) -> Steps[None]:
    former = former_lives(context, reading.written_at, brokers)
    rule = lose(context, dead_replicas(context), former)
    yield from change_states(context, _suspects(context, former), rule)


def _tell_some(
    context: ControllerContext, broker: BrokerId, partitions: Sequence[TopicPartition]
) -> Steps[None]:
    if broker in context.image.brokers:
        tell_broker(context, broker, partitions)
        context.batch.update.clear()  # everybody has it from the whole
        yield from send(context)


def take_over_facts(context: ControllerContext, facts: Sequence[BrokerFacts]) -> None:
    """What the last controller knew of brokers that live the same lives still."""
    for it in facts:
        known = context.image.brokers.get(it.broker)
        if known is None or known.epoch != it.epoch:
            continue
        changed = {}
        for partition in it.offline:
            image = context.image.partition(partition)
            if image is not None:
                changed[partition] = image._replace(offline=image.offline | {it.broker})
        context.set_partitions(changed)
        if it.unclean:
            context.unclean_logs[it.broker] = dict.fromkeys(it.unclean)
        if it.shuts_down:
            context.shuts_down(it.broker)


def try_again(context: ControllerContext) -> Steps[None]:
    """What could not be read or written: what was due there may be possible now.

    Each state that may be written begins another leader epoch: a write without an answer may have
    been done, and reached no broker.
    """
    yield from on_tree_changed(context, frozenset(context.unreadable))
    behind = tuple(dict.fromkeys((*context.unread, *context.unwritten, *context.lost)))
    reading = TreeReading(Changed(states=behind))
    while requests := reading.requests():
        reading.on_answers((yield from read(*requests)))
    reading.update(context, Changed(states=behind))
    unknown = {**context.unread, **context.lost}
    found = {it: context.image.partition(it) for it in behind if it not in unknown}
    rule = take_over(context, former_lives(context, reading.written_at, context.image.brokers))
    settled = [it for it, image in found.items() if image is None or rule(it, image) is None]
    if settled:
        context.batch.add_update(settled)
    for partition in settled:
        context.unwritten.pop(partition, None)
    yield from change_states(context, found, rule)
    yield from send(context)
    for partition in found:
        if partition in context.reassigning:
            yield from advance(context, partition, begins=True)


def _suspects(context: ControllerContext, former: FormerLives) -> list[TopicPartition]:
    """Partitions of which something may have to be decided: leaderless ones first."""
    alive = context.image.brokers.keys()
    leaderless, others = [], []
    for name, topic in context.image.topics.items():
        for number, image in topic.partitions.items():
            partition = TopicPartition(name, number)
            if not context.is_led(image):
                leaderless.append(partition)
            elif partition in former or _has_strangers(image, alive):
                others.append(partition)
    return [*leaderless, *others]


def _has_strangers(image: PartitionImage, alive: Container[BrokerId]) -> bool:
    """Members of the ISR that are dead, or no replicas; others that are eligible, and none."""
    state, replicas = image.state, image.assignment.replicas
    if state is None:
        return False
    strangers = any(it not in replicas for it in members(state))
    return strangers or any(it not in alive for it in state.isr)


def _enable_features() -> Steps[None]:
    (found,) = yield from read(GetData(FeatureZnode.PATH, watch=False))
    if isinstance(found, NoNode):
        write: Create | SetData = Create(FeatureZnode.PATH, FEATURES, OPEN_ACL)
    elif isinstance(found, Data):
        try:
            if FeatureZnode.decode(found.data).status is FeatureStatus.ENABLED:
                return
        except MalformedZnode as fault:
            yield ignored(fault)
            return
        write = SetData(FeatureZnode.PATH, FEATURES, found.stat.version)
    else:
        return
    (answer,) = yield from commit(Multi((write,)))
    if isinstance(answer, KeeperError):
        yield Note("controller.features_stay", {"reason": str(answer)})
