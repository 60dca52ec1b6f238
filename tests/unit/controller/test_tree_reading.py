"""The image is read from the tree, whatever is broken or vanishes while it is read."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from odradek.config.listeners import SecurityProtocol
from odradek.controller.tree_reading import Changed, TreeReading
from odradek.metadata.nouns import Assignment, Broker, Endpoint, PartitionState, TopicAssignment
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import PartitionStateZnode, PartitionZnode, TopicZnode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.model.units import Timestamp
from odradek.zookeeper.client.errors import NoAuth, NoNode, SessionExpired
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.jute import Stat
from odradek.zookeeper.protocol.jute_replies import Children2, Data, StatReply
from odradek.zookeeper.protocol.jute_requests import Exists, GetChildren2, GetData, Request
from tests.unit.controller.znode_stats import stat

ONE = BrokerId(1)
BROKER = Broker(
    ONE,
    (Endpoint("PLAINTEXT", "h", 9092, SecurityProtocol.PLAINTEXT),),
    epoch=BrokerEpoch(1),  # the czxid of every stat here
)
TOPIC = TopicAssignment({0: Assignment((ONE,)), 1: Assignment((ONE,))}, TopicId(b"i" * 16))
STATE = PartitionState(ONE, LeaderEpoch(2), (ONE,), PartitionEpoch(6), ControllerEpoch(3))
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
NO_STATS: Mapping[str, Stat] = MappingProxyType({})
SETTINGS = Entity(EntityType.TOPICS, "t")


def tree() -> dict[str, bytes]:
    """A cluster of one broker and one topic, of which one partition has never had a leader."""
    return {
        "/brokers/ids/1": BrokerZnode.encode(BROKER, Timestamp(5)),
        "/brokers/topics/t": TopicZnode.encode(TOPIC),
        PartitionStateZnode.path(P0): PartitionStateZnode.encode(STATE),
        "/config/topics/t": SettingsZnode.encode({"retention.ms": "5"}),
    }


def answer(
    nodes: dict[str, bytes], request: Request, stats: Mapping[str, Stat] = NO_STATS
) -> Answer:
    """What ZooKeeper says."""
    if isinstance(request, GetChildren2):
        below = request.path + "/"
        names = [path.removeprefix(below) for path in nodes if path.startswith(below)]
        return Children2([name for name in names if "/" not in name], stat(0))
    if isinstance(request, Exists):
        found = stats.get(request.path, stat(0))
        return StatReply(found) if request.path in nodes else NoNode()
    assert isinstance(request, GetData)
    if request.path not in nodes:
        return NoNode()
    return Data(nodes[request.path], stat(6))


def read(
    nodes: dict[str, bytes], stats: Mapping[str, Stat] = NO_STATS
) -> tuple[TreeReading, list[Request]]:
    """Reads everything, and says what was asked."""
    reading, asked = TreeReading(), list[Request]()
    while requests := reading.requests():
        asked += requests
        reading.on_answers([answer(nodes, request, stats) for request in requests])
    return reading, asked


def test_everything_is_read_in_three_rounds() -> None:
    """However many topics there are: what a round finds is read in the next, all at once."""
    reading, asked = read(tree())
    image = reading.image()
    assert image.brokers == {ONE: BROKER}
    first, second = image.partition(P0), image.partition(P1)
    assert first is not None
    assert first.state == STATE
    assert second is not None
    assert second.state is None
    assert image.topic_of_id(TopicId(b"i" * 16)) is image.topics["t"]
    assert image.settings_of(SETTINGS) == {"retention.ms": "5"}
    assert reading.topic_versions == {"t": 6}
    assert reading.faults == []
    watched = [it.path for it in asked if isinstance(it, GetData | GetChildren2) and it.watch]
    assert watched == ["/brokers/ids", "/brokers/topics", "/brokers/ids/1", "/brokers/topics/t"]


def test_a_state_that_was_lost_is_told_from_one_that_never_was() -> None:
    """Both are made together: the node above has had one."""
    assert not read(tree())[0].lost
    assert [*read(tree() | {PartitionZnode.path(P1): b""})[0].lost] == [P1]


@pytest.mark.parametrize("above", [PartitionZnode.parent("t"), TopicZnode.path("t")])
def test_a_partition_that_was_removed_is_told_from_a_new_one(above: str) -> None:
    """A znode counts what was made and what was removed below it."""
    nodes = tree()
    if above == TopicZnode.path("t"):
        del nodes[PartitionStateZnode.path(P0)]
    else:
        nodes[above] = b""
    assert not read(nodes)[0].lost
    removed = stat(0, cversion=3, children=1)
    lost = {P1} if above != TopicZnode.path("t") else {P0, P1}
    assert {*read(nodes, {above: removed})[0].lost} == lost


def test_a_broken_topic_does_not_take_the_controller_away() -> None:
    """It is left out and named; the others are served."""
    nodes = tree() | {
        "/brokers/topics/broken": b"{",
        "/brokers/ids/x": b"",
        "/brokers/topics/..": b"",
    }
    reading, _ = read(nodes)
    assert set(reading.image().topics) == {"t"}
    assert set(reading.image().brokers) == {ONE}
    assert len(reading.faults) == 3


def test_a_state_that_cannot_be_read_is_remembered() -> None:
    """It may stand there: its partition is not taken for a new one."""
    reading, _ = read(tree() | {PartitionStateZnode.path(P1): b"{"})
    assert [*reading.unread] == [P1]
    assert not reading.lost
    again = TreeReading(Changed(states=(P0, P1)))
    assert len(again.requests()) == len([P0, P1])
    again.on_answers([NoAuth(), NoNode()])
    assert [*again.unread] == [P0]


def test_what_vanishes_while_it_is_read_is_left_out() -> None:
    """The watch on its parent tells of it; here it is as if it had never been."""
    reading = TreeReading()
    reading.on_answers([answer(tree(), request) for request in reading.requests()])
    reading.on_answers([answer({}, request) for request in reading.requests()])
    assert reading.requests() == []
    assert not reading.image().topics
    assert not reading.image().brokers


def test_a_session_that_ends_ends_the_reading() -> None:
    """Half an image must not be taken for the cluster."""
    reading = TreeReading()
    with pytest.raises(SessionExpired):
        reading.on_answers([SessionExpired() for _ in reading.requests()])
