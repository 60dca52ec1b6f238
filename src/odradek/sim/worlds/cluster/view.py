"""What stands in ZooKeeper's tree and in the brokers' memory, as somebody with a debugger sees it.

Nothing that is read here goes through a door: no fault strikes it, and nothing is delayed by it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.broker.broker import Broker
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import PartitionState, TopicAssignment
from odradek.metadata.znodes.topic import PartitionStateZnode, TopicsZnode, TopicZnode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.records.batch import HEADER
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.zookeeper_machine import ZooKeeperMachine
from odradek.storage.files.names import LOG, segment_stem
from odradek.storage.logs.log import PartitionLog
from odradek.zookeeper.tree.tree import Tree

BEFORE_LENGTH: Final = 12  # bytes that a batch's length does not count


class Place(NamedTuple):
    """A partition of one topic: a later topic of the same name has another id."""

    topic_id: TopicId
    partition: TopicPartition

    def __str__(self) -> str:
        return str(self.partition)


Written = tuple[int, int]
"""By which transaction, in which life of ZooKeeper: what one could not save another has again."""


class Row(NamedTuple):
    """What makes a batch this batch and no other."""

    leader_epoch: int
    crc: int
    next_offset: int


class ClusterView:
    """Of all machines at once."""

    def __init__(self, zookeeper: ZooKeeperMachine, brokers: Mapping[int, BrokerMachine]) -> None:
        self.brokers = brokers
        self.seconds: dict[int, BrokerMachine] = {}  # that took the place of a broker
        self._zookeeper = zookeeper
        self._tree = Tree()  # as it was last
        self._zxid = 0
        self._topics: dict[str, tuple[Written, TopicAssignment]] = {}
        self._states: dict[TopicPartition, tuple[Written, PartitionState]] = {}
        self._read = Tree(), 0  # what the next three were read from, as of a zxid
        self._all_topics: Mapping[str, TopicAssignment] = {}
        self._places: Sequence[tuple[Place, tuple[BrokerId, ...]]] = ()
        self._all_states: Mapping[Place, PartitionState] = {}

    # The tree

    @property
    def tree(self) -> Tree:
        """Of the server that runs, or ran last."""
        server = self._zookeeper.server
        if server is not None:
            self._tree = server.core.database.tree
        return self._tree

    @property
    def zxid(self) -> int:
        """The last transaction in the tree."""
        server = self._zookeeper.server
        if server is not None:
            self._zxid = server.core.database.zxid
        return self._zxid

    @property
    def sessions(self) -> Collection[int]:
        """Those that ZooKeeper keeps open."""
        server = self._zookeeper.server
        return server.core.database.sessions.open if server is not None else ()

    @property
    def zookeeper_lives(self) -> int:
        """How often it was started: the tree of a former life may be ahead of what it has saved."""
        return self._zookeeper.machine.lives

    def children(self, path: str) -> list[str]:
        """Of a znode, which need not be there."""
        node = self.tree.nodes.get(path)
        return sorted(node.children) if node is not None else []

    def topics(self) -> Mapping[str, TopicAssignment]:
        """Every topic that the tree has; one that somebody mistyped is what it was before that."""
        self._read_tree()
        return self._all_topics

    def _read_topics(self) -> dict[str, TopicAssignment]:
        found: dict[str, TopicAssignment] = {}
        for name in self.children(TopicsZnode.PATH):
            node = self.tree.nodes[TopicZnode.path(name)]
            before, written = self._topics.get(name), (self.zookeeper_lives, node.mzxid)
            if before is None or before[0] != written:
                topic = _assignment(name, node.data)
                if before is not None and not topic.partitions:
                    topic = before[1]
                before = self._topics[name] = (written, topic)
            found[name] = before[1]
        return found

    def places(self) -> Sequence[tuple[Place, tuple[BrokerId, ...]]]:
        """Every partition that the tree has, and its replicas; one object while nothing changes."""
        self._read_tree()
        return self._places

    def states(self) -> Mapping[Place, PartitionState]:
        """Of every partition that has one; one object while nothing changes."""
        self._read_tree()
        return self._all_states

    def _read_tree(self) -> None:
        tree, zxid = self.tree, self.zxid
        if self._read[0] is tree and self._read[1] == zxid:
            return
        self._read = tree, zxid
        self._all_topics = self._read_topics()
        self._places = [
            (Place(topic.topic_id or NO_TOPIC_ID, TopicPartition(name, number)), it.replicas)
            for name, topic in self._all_topics.items()
            for number, it in topic.partitions.items()
        ]
        states = ((place, self.state(place.partition)) for place, _ in self._places)
        self._all_states = {place: state for place, state in states if state is not None}

    def state(self, partition: TopicPartition) -> PartitionState | None:
        """Who leads it and who is in sync; of one that was spoiled it is not known."""
        node = self.tree.nodes.get(PartitionStateZnode.path(partition))
        if node is None:
            return None
        before, written = self._states.get(partition), (self.zookeeper_lives, node.mzxid)
        if before is None or before[0] != written:
            try:
                state = PartitionStateZnode.decode(partition, node.data, node.version)
            except MalformedZnode:
                return None
            before = self._states[partition] = (written, state)
        return before[1]

    # The brokers

    def acting(self, number: int) -> BrokerMachine:
        """Which process is this broker: mostly there is one."""
        return self.seconds.get(number) or self.brokers[number]

    def opened(self) -> Iterator[tuple[int, Broker]]:
        """Every broker that runs and has opened its logs."""
        for number in self.brokers:
            broker = _opened(self.acting(number))
            if broker is not None:
                yield number, broker

    def processes(self) -> Iterator[tuple[str, int, Broker]]:
        """Likewise, and processes with their ids that are not registered any more."""
        for number, machine in (*self.brokers.items(), *self.seconds.items()):
            broker = _opened(machine)
            if broker is not None:
                yield machine.machine.name, number, broker

    def log(self, broker: Broker, place: Place) -> PartitionLog | None:
        """Its replica, if it is of this very topic and on a disk that serves."""
        found = broker.services_of_this_life.replicas.dirs.get(place.partition)
        return found if found is not None and found.topic_id == place.topic_id else None

    def read_on(
        self, number: int, found: PartitionLog, cursor: "Cursor | None", end: int
    ) -> tuple["Cursor", list[tuple[int, Row]]]:
        """The batches below `end` that were not read before, as they lie in the files."""
        disk = self.acting(number).machine.disks[found.folder.disk.name.rpartition("/")[2]]
        if cursor is None or cursor.log is not found:
            cursor = Cursor(found, -1, 0, 0)
        reached = cursor.reached
        rows: list[tuple[int, Row]] = []
        for segment in list(found.segments):
            if segment.base_offset < cursor.segment:
                continue
            position = cursor.position if segment.base_offset == cursor.segment else 0
            data = disk.peek(found.folder.path(f"{segment_stem(segment.base_offset)}{LOG}")) or b""
            size = min(segment.size, len(data))
            while position + HEADER.size <= size:
                base, length, epoch, _, crc, _, last = HEADER.unpack_from(data, position)[:7]
                if base + last >= end or length <= 0:  # or a length that is corrupt
                    return Cursor(found, segment.base_offset, position, reached), rows
                reached = base + last + 1
                rows.append((base, Row(epoch, crc, reached)))
                position += BEFORE_LENGTH + length
            cursor = Cursor(found, segment.base_offset, position, reached)
        return cursor, rows


def _opened(machine: BrokerMachine) -> Broker | None:
    broker = machine.broker
    if machine.machine.running and broker is not None and broker.services is not None:
        return broker
    return None


def _assignment(name: str, data: bytes | None) -> TopicAssignment:
    """What makes no sense has no partitions."""
    try:
        return TopicZnode.decode(name, data)
    except MalformedZnode:
        return TopicAssignment({})


class Cursor(NamedTuple):
    """How far a log was read."""

    log: PartitionLog
    segment: int  # its base offset
    position: int
    reached: int  # behind the last offset that was read
