"""The cluster's image from the tree, in three rounds of pipelined reads.

Brokers and topics are read with watches, their parents before them, so that nothing which happens
meanwhile goes unseen: it comes as an event, and is read again. States are changed by the controller
alone, settings are announced below /config/changes. A node that is gone by the time it is read was
deleted in between, which the watch on its parent tells; it is left out. A node that makes no sense
is left out, too, and named in `faults`: one broken topic must not take the controller away. Of a
state that cannot be read it is remembered that there may be one, of a broker or a topic that there
is one; where it cannot even be read which there are, there is no image. A state is made together
with the node above it: where that is there alone, the state was lost. Where that is gone, too, the
nodes above count whether they have lost children.

    1. who is there: children of /brokers/ids, /brokers/topics, /config/topics, /config/brokers
    2. each broker, each topic, and their settings
    3. the state of each partition

A reading can be kept up to date: what has changed since is read in the same way, and merged.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, takewhile
from typing import Final, NamedTuple

from odradek.controller.context import ControllerContext
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker, PartitionState, TopicAssignment
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import (
    PartitionStateZnode,
    PartitionZnode,
    TopicsZnode,
    TopicZnode,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.zookeeper.client.errors import NoAuth, NoNode
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Children2, Data, StatReply
from odradek.zookeeper.protocol.jute_requests import Exists, GetChildren2, GetData, Request

TOGETHER_MAX: Final = 1_000
"""States that are decoded in one turn of the loop: about 10 ms."""
WEIGHT_OF_TOPIC: Final = 50
"""A topic with its partitions counts as so many states."""
SETTINGS_READ: Final = (EntityType.TOPICS, EntityType.BROKERS)
"""What brokers themselves act on."""


class _Read(NamedTuple):
    """One read, and what its answer is given to."""

    request: GetChildren2 | GetData | Exists
    take: Callable[[Answer], None]
    weight: int = 1  # of its answer: how long it takes to decode
    missing: Callable[[], None] | None = None  # what follows if there is no such node
    refused: Callable[[], None] | None = None  # what follows if it may not be read
    is_tried_again: bool = False  # if it cannot be read


class Changed(NamedTuple):
    """What is to be read again. A topic is read with all its states."""

    brokers: bool = False
    topics: tuple[str, ...] = ()
    states: tuple[TopicPartition, ...] = ()


LISTS: Final = frozenset({BrokerIdsZnode.PATH, TopicsZnode.PATH})
"""Without these there is no image."""


class TreeReading:
    """One reading of the whole tree: `requests` to be sent together, then `on_answers`.

    It is over when a round has no requests; then `image` has everything. `topic_versions` are
    those of the topics' znodes, which a write of an assignment must name; `written_at` are the
    transactions that last wrote the states. With `changed` only that is read.
    """

    def __init__(self, changed: "Changed | None" = None) -> None:
        self.faults: list[str] = []
        self.unreadable: dict[str, str] = {}  # paths of brokers and topics, and why
        self.lost: dict[TopicPartition, None] = {}  # partitions whose states were
        self.unread: dict[TopicPartition, None] = {}  # partitions whose states could not be read
        self.topic_versions: dict[str, int] = {}
        self.written_at: dict[TopicPartition, int] = {}
        self._brokers: list[Broker] = []
        self._topics: dict[str, TopicAssignment] = {}
        self._states: dict[TopicPartition, PartitionState] = {}
        self._settings: dict[Entity, dict[str, str]] = {}
        self._missing: set[str] = set()  # topics that are not there, though they were asked for
        self._round: list[_Read] = []
        self._next: list[_Read] = []
        if changed is None:
            self._begin_with_all()
        else:
            self._begin_with(changed)

    def _begin_with_all(self) -> None:
        self._next = [
            self._children(BrokerIdsZnode.PATH, self._on_broker_name, watch=True),
            self._children(TopicsZnode.PATH, self._on_topic_name, watch=True),
        ]
        for kind in SETTINGS_READ:
            found = partial(self._on_entity_name, kind)
            self._next.append(self._children(SettingsZnode.parent(kind), found, watch=False))

    def _begin_with(self, changed: "Changed") -> None:
        if changed.brokers:
            found = self._children(BrokerIdsZnode.PATH, self._on_broker_name, watch=True)
            self._next.append(found)
        for name in changed.topics:
            self._topic(name)
        self._next += map(self._state, changed.states)

    def requests(self) -> list[Request]:
        """The next round, in order; empty at the end."""
        weights = accumulate(read.weight for read in self._next)
        count = 1 + sum(1 for _ in takewhile(lambda so_far: so_far < TOGETHER_MAX, weights))
        self._round, self._next = self._next[:count], self._next[count:]
        return [read.request for read in self._round]

    def on_answers(self, answers: Sequence[Answer]) -> None:
        """The answers to a round, in its order.

        A znode that may not be read is a fault, as bad bytes are, but for those that list all. Any
        other error but a missing node is raised: half an image is none.
        """
        for read, answer in zip(self._round, answers, strict=True):
            if isinstance(answer, NoNode):
                if read.missing is not None:
                    read.missing()
            elif isinstance(answer, NoAuth) and read.request.path not in LISTS:
                self._on_fault(read, str(answer))
            elif isinstance(answer, KeeperError):
                raise answer
            else:
                try:
                    read.take(answer)
                except MalformedZnode as fault:
                    self._on_fault(read, str(fault))

    def _on_fault(self, read: _Read, why: str) -> None:
        self.faults.append(why)
        if read.refused is not None:
            read.refused()
        if read.is_tried_again:
            self.unreadable[read.request.path] = why

    def image(self) -> ClusterImage:
        """What was read. A partition without a state has never had a leader, or has lost it."""
        changes = Changes(ClusterImage()).brokers(self._brokers)
        for name, topic in self._topics.items():
            changes.topic(name, topic.topic_id, self._partitions(name, topic))
        for entity, settings in self._settings.items():
            changes.settings(entity, settings)
        return changes.image()

    def update(self, context: ControllerContext, changed: "Changed") -> None:
        """What was read of these is so now; a topic that cannot be read is as it was known."""
        if changed.brokers:
            context.set_brokers(self._brokers)
        for name in changed.topics:
            topic = self._topics.get(name)
            if topic is None:
                if name in self._missing:
                    context.forget_topic(name)
            else:
                context.set_topic(name, topic.topic_id, self._partitions(name, topic))
        for partition in changed.states:
            context.unread.pop(partition, None)
            context.lost.pop(partition, None)
        context.lost |= self.lost
        context.unread |= self.unread
        context.unreadable |= self.unreadable
        known = {it: state for it, state in self._states.items() if context.image.partition(it)}
        context.set_states({it: known[it] for it in changed.states if it in known})

    def _partitions(self, name: str, topic: TopicAssignment) -> dict[int, PartitionImage]:
        return {
            number: PartitionImage(assigned, self._states.get(TopicPartition(name, number)))
            for number, assigned in topic.partitions.items()
        }

    def _children(self, path: str, found: Callable[[str], None], *, watch: bool) -> _Read:
        def take(answer: Answer) -> None:
            assert isinstance(answer, Children2), answer
            for name in sorted(answer.names):
                try:
                    found(name)
                except MalformedZnode as fault:
                    self.faults.append(str(fault))

        return _Read(GetChildren2(path, watch), take)

    def _data(self, path: str, take: Callable[[Data], None], *, watch: bool) -> None:
        def taken(answer: Answer) -> None:
            assert isinstance(answer, Data), answer
            take(answer)

        self._next.append(_Read(GetData(path, watch), taken, is_tried_again=watch))

    def _topic(self, name: str) -> None:
        def take(answer: Answer) -> None:
            assert isinstance(answer, Data), answer
            self._on_topic(name, answer)

        request = GetData(TopicZnode.path(name), watch=True)
        missing = partial(self._missing.add, name)
        self._next.append(_Read(request, take, WEIGHT_OF_TOPIC, missing, is_tried_again=True))

    def _state(self, partition: TopicPartition) -> _Read:
        """There may be very many: nothing but this is made for each."""
        request = GetData(PartitionStateZnode.path(partition), watch=False)
        missing = partial(self._look_above, partition)
        refused = partial(self._on_unread, partition)
        take = partial(self._on_state, partition)
        return _Read(request, take, missing=missing, refused=refused)

    def _look_above(self, partition: TopicPartition) -> None:
        request = Exists(PartitionZnode.path(partition), watch=False)
        siblings = partial(
            self._look_for_removed, partition, PartitionZnode.parent(partition.topic)
        )
        refused = partial(self._on_unread, partition)
        read = _Read(request, lambda _: self._on_lost(partition), missing=siblings, refused=refused)
        self._next.append(read)

    def _look_for_removed(self, partition: TopicPartition, above: str) -> None:
        """Where the partition's own znode is not there: it may never have been, or was removed.

        One above that has lost no child may have been removed itself, and made again by growth.
        """
        topic = TopicZnode.path(partition.topic)
        further = None if above == topic else partial(self._look_for_removed, partition, topic)

        def take(answer: Answer) -> None:
            assert isinstance(answer, StatReply), answer
            if PartitionZnode.were_removed(answer.stat.cversion, answer.stat.num_children):
                self._on_lost(partition)
            elif further is not None:
                further()

        refused = partial(self._on_unread, partition)
        look = _Read(Exists(above, watch=False), take, missing=further, refused=refused)
        self._next.append(look)

    def _on_lost(self, partition: TopicPartition) -> None:
        self.lost[partition] = None

    def _on_unread(self, partition: TopicPartition) -> None:
        self.unread[partition] = None

    def _on_broker_name(self, name: str) -> None:
        broker = BrokerIdsZnode.decode_name(name)
        self._data(BrokerZnode.path(broker), partial(self._on_broker, broker), watch=True)

    def _on_topic_name(self, name: str) -> None:
        topic = TopicsZnode.decode_name(name)
        self._topic(topic)

    def _on_entity_name(self, kind: EntityType, name: str) -> None:
        entity = Entity(kind, name)
        self._data(SettingsZnode.path(entity), partial(self._on_settings, entity), watch=False)

    def _on_broker(self, broker: BrokerId, found: Data) -> None:
        self._brokers.append(BrokerZnode.decode(broker, found.data, czxid=found.stat.czxid))

    def _on_topic(self, name: str, found: Data) -> None:
        self._topics[name] = topic = TopicZnode.decode(name, found.data)
        self.topic_versions[name] = found.stat.version
        self._next += [self._state(TopicPartition(name, number)) for number in topic.partitions]

    def _on_settings(self, entity: Entity, found: Data) -> None:
        self._settings[entity] = SettingsZnode.decode(entity, found.data)

    def _on_state(self, partition: TopicPartition, found: Answer) -> None:
        assert isinstance(found, Data), found
        try:
            state = PartitionStateZnode.decode(partition, found.data, found.stat.version)
        except MalformedZnode:
            self._on_unread(partition)
            raise
        self._states[partition] = state
        self.written_at[partition] = found.stat.mzxid
