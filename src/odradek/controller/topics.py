"""Topics as they are asked for: what is refused, and what is written for the rest.

A topic's settings and its assignment are made together, in one multi. Kafka writes them one after
the other, so it may have left settings without a topic behind: they are written over. The
controller sees the new znode and brings its partitions online; a mark below /admin/delete_topics
asks it to delete one.
"""

from collections.abc import Container, Mapping
from typing import Final

from odradek.metadata.image import ClusterImage
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicId, topic_id_text
from odradek.model.names import metric_collision_key, topic_name_fault
from odradek.ports import Random
from odradek.zookeeper.protocol.codes import ANY_VERSION
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create, Multi, SetData, WriteOp

TOPIC_ID_BYTES: Final = 16


class InvalidTopic(BrokerError):
    """A name that no topic may have, or one that another's metrics could not be told from."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class TopicAlreadyExists(BrokerError):
    """A topic of this name is there, or is still being deleted."""

    code = ErrorCode.TOPIC_ALREADY_EXISTS


class UnknownTopic(BrokerError):
    """There is no topic of this name."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class ReassignmentInProgress(BrokerError):
    """Its partitions are being moved; their number cannot change meanwhile."""

    code = ErrorCode.REASSIGNMENT_IN_PROGRESS


def new_topic_id(random: Random) -> TopicId:
    """Drawn like a random UUID; its text begins with no dash, which tools take for an option."""
    while True:
        drawn = bytearray(random.bytes(TOPIC_ID_BYTES))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        topic_id = TopicId(bytes(drawn))
        if not topic_id_text(topic_id).startswith("-"):
            return topic_id


def check_new_name(name: str, image: ClusterImage, deleting: Container[str] = ()) -> None:
    """Refuses a name that is not legal, or taken, or would share its metrics with another's."""
    fault = topic_name_fault(name)
    if fault is not None:
        raise InvalidTopic(fault)
    if name in deleting:
        raise TopicAlreadyExists(f"topic {name!r} is being deleted")
    if name in image.topics:
        raise TopicAlreadyExists(f"topic {name!r} exists")
    key = metric_collision_key(name)
    if "_" not in key:
        return  # only names with '.' or '_' can collide
    for other in image.topics:
        if metric_collision_key(other) == key:
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
    name: str,
    image: ClusterImage,
    added: Mapping[int, Assignment],
    *,
    version: int,
    deleting: Container[str] = (),
) -> SetData:
    """Gives a topic more partitions, if its znode still has the version that was read."""
    topic = image.topics.get(name)
    if topic is None or name in deleting:
        raise UnknownTopic(f"there is no topic {name!r}, or it is being deleted")
    existing = {number: it.assignment for number, it in topic.partitions.items()}
    if any(it.adding or it.removing for it in existing.values()):
        raise ReassignmentInProgress(f"topic {name!r} is being reassigned")
    assert not existing.keys() & added.keys(), "placement numbers new partitions behind the old"
    grown = TopicAssignment({**existing, **added}, topic.topic_id)
    return SetData(TopicZnode.path(name), TopicZnode.encode(grown), version)


def decide_deletion(name: str, image: ClusterImage) -> Create:
    """Marks a topic; the controller does the rest. That it is marked already is no failure."""
    if name not in image.topics:
        raise UnknownTopic(f"there is no topic {name!r}")
    return Create(DeleteTopicZnode.path(name), None, OPEN_ACL)
