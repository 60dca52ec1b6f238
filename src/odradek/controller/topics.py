"""Topics as they are asked for: what is refused, and what is written for the rest.

A topic's settings and its assignment are made together, in one multi. Kafka writes them one after
the other, so it may have left settings without a topic behind: they are written over.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.metadata.image import ClusterImage
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.errors import BEING_DELETED, BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId, topic_id_text
from odradek.model.names import metric_collision_key, topic_name_fault
from odradek.ports import Random
from odradek.zookeeper.protocol.codes import ANY_VERSION
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create, Multi, SetData, WriteOp

TOPIC_ID_BYTES: Final = 16
NOT_SAID: Final = -1


class InvalidTopic(BrokerError):
    """A name that no topic may have, or one that another's metrics could not be told from."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class TopicAlreadyExists(BrokerError):
    """A topic of this name is there, or is still being deleted."""

    code = ErrorCode.TOPIC_ALREADY_EXISTS


class UnknownTopic(BrokerError):
    """There is no topic of this name."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class UnknownTopicId(BrokerError):
    """There is no topic of this id."""

    code = ErrorCode.UNKNOWN_TOPIC_ID


class ReassignmentInProgress(BrokerError):
    """Its partitions are being moved; their number cannot change meanwhile."""

    code = ErrorCode.REASSIGNMENT_IN_PROGRESS


class DeletionDisabled(BrokerError):
    """delete.topic.enable is false."""

    code = ErrorCode.TOPIC_DELETION_DISABLED


class InvalidRequest(BrokerError):
    """Two things asked for that exclude each other, or the same thing twice."""

    code = ErrorCode.INVALID_REQUEST


class NewTopic(NamedTuple):
    """A topic as it is asked for; -1: as the broker's settings say."""

    name: str
    partitions: int = NOT_SAID
    factor: int = NOT_SAID
    assignment: Mapping[int, Sequence[BrokerId]] | None = None
    settings: Mapping[str, str] = {}


class Planned(NamedTuple):
    """A topic as it is going to be made."""

    name: str
    topic: TopicAssignment
    settings: Mapping[str, str]

    @property
    def factor(self) -> int:
        """How many replicas each partition has."""
        return len(self.topic.partitions[0].replicas)


class Growth(NamedTuple):
    """A topic that shall have so many partitions; without assignments they are placed."""

    name: str
    partitions: int
    assignments: Sequence[Sequence[BrokerId]] | None = None


def new_topic_id(random: Random) -> TopicId:
    """Drawn like a random UUID; its text begins with no dash, which tools take for an option."""
    while True:
        drawn = bytearray(random.bytes(TOPIC_ID_BYTES))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        topic_id = TopicId(bytes(drawn))
        if not topic_id_text(topic_id).startswith("-"):
            return topic_id


def check_new_name(
    name: str,
    image: ClusterImage,
    collisions: Mapping[str, str],
    deleting: Container[str] = (),
) -> None:
    """Refuses a name that is not legal, or taken, or would share its metrics with another's.

    `collisions` has the topics by the name that their metrics would share.
    """
    fault = topic_name_fault(name)
    if fault is not None:
        raise InvalidTopic(fault)
    if name in deleting:
        raise TopicAlreadyExists(f"topic {name!r} {BEING_DELETED}")
    if name in image.topics:
        raise TopicAlreadyExists(f"Topic {name!r} already exists.")
    other = collisions.get(metric_collision_key(name))
    if other is not None:
        raise InvalidTopic(f"topic {name!r} collides with {other!r}: '.' and '_' are one")


def decide_creation(
    name: str, topic: TopicAssignment, settings: Mapping[str, str], *, settings_exist: bool = False
) -> Multi:
    """Makes a topic. `settings_exist` is what a multi that failed on its first write teaches."""
    path = SettingsZnode.path(Entity(EntityType.TOPICS, name))
    data = SettingsZnode.encode(settings)
    write: WriteOp = (
        SetData(path, data, ANY_VERSION) if settings_exist else Create(path, data, OPEN_ACL)
    )
    return Multi((write, Create(TopicZnode.path(name), TopicZnode.encode(topic), OPEN_ACL)))


def decide_expansion(
    name: str, topic: TopicAssignment, added: Mapping[int, Assignment], *, version: int
) -> SetData:
    """Gives a topic more partitions, if its znode still has the version that was read."""
    if any(it.is_reassigning for it in topic.partitions.values()):
        raise ReassignmentInProgress(f"topic {name!r} is being reassigned")
    assert not topic.partitions.keys() & added.keys(), "new partitions are numbered behind the old"
    grown = TopicAssignment({**topic.partitions, **added}, topic.topic_id)
    return SetData(TopicZnode.path(name), TopicZnode.encode(grown), version)


def decide_deletion(name: str) -> Create:
    """Marks a topic. That it is marked already is no failure."""
    return Create(DeleteTopicZnode.path(name), None, OPEN_ACL)
