"""What is asked of topics, and what is refused."""

import pytest

from odradek.controller.topics import (
    InvalidTopic,
    ReassignmentInProgress,
    TopicAlreadyExists,
    check_new_name,
    decide_creation,
    decide_deletion,
    decide_expansion,
    new_topic_id,
)
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.ids import BrokerId, TopicId, topic_id_text
from odradek.zookeeper.protocol.jute_requests import Create, Multi, SetData

ONE, TWO = Assignment((BrokerId(1),)), Assignment((BrokerId(2),))
MOVING = Assignment((BrokerId(1), BrokerId(2)), adding=(BrokerId(2),))
TOPIC_ID = TopicId(b"i" * 16)


def image() -> ClusterImage:
    """A topic at rest, and one that is being moved."""
    return (
        Changes(ClusterImage())
        .topic("a.b", TOPIC_ID, {0: PartitionImage(ONE)})
        .topic("moving", None, {0: PartitionImage(MOVING)})
        .image()
    )


class Draws:
    """Chance that says what it was told to say, in that order."""

    def __init__(self, *draws: bytes) -> None:
        self._draws = list(draws)

    def below(self, bound: int) -> int:
        """Nothing here draws numbers."""
        raise NotImplementedError

    def bytes(self, count: int) -> bytes:
        """The next one."""
        assert len(self._draws[0]) == count
        return self._draws.pop(0)


def test_a_topic_id_never_looks_like_an_option() -> None:
    """Kafka's own tools cannot be given an id that begins with a dash."""
    drawn = new_topic_id(Draws(b"\xf8" + bytes(15), bytes(16)))
    assert topic_id_text(drawn) == "AAAAAAAAQACAAAAAAAAAAA"


def test_names_are_legal_free_and_told_apart_in_metrics() -> None:
    """Each refusal has the code that Kafka's clients know."""
    taken = {"a_b": "a.b"}
    check_new_name("a-b", image(), taken)
    check_new_name("a.c", image(), taken)
    for name in ("", "..", "a/b", "a_b"):
        with pytest.raises(InvalidTopic):
            check_new_name(name, image(), taken)
    with pytest.raises(TopicAlreadyExists):
        check_new_name("a.b", image(), taken)
    with pytest.raises(TopicAlreadyExists):
        check_new_name("gone", image(), taken, deleting={"gone"})


def test_a_topic_is_made_with_its_settings_or_not_at_all() -> None:
    """Settings that somebody left behind are written over."""
    topic = TopicAssignment({0: ONE}, TOPIC_ID)
    made = Create("/brokers/topics/t", TopicZnode.encode(topic))
    settings = b'{"version":1,"config":{"retention.ms":"1"}}'
    assert decide_creation("t", topic, {"retention.ms": "1"}) == Multi(
        (Create("/config/topics/t", settings), made)
    )
    again = decide_creation("t", topic, {"retention.ms": "1"}, settings_exist=True)
    assert again == Multi((SetData("/config/topics/t", settings, -1), made))


def test_a_topic_grows_by_the_version_that_was_read() -> None:
    """Two that grow it at once cannot both succeed; its id and its old partitions stay."""
    written = decide_expansion("a.b", TopicAssignment({0: ONE}, TOPIC_ID), {1: TWO}, version=3)
    assert written.version == 3
    assert written.path == "/brokers/topics/a.b"
    assert TopicZnode.decode("a.b", written.data) == TopicAssignment({0: ONE, 1: TWO}, TOPIC_ID)


def test_a_topic_that_moves_does_not_grow() -> None:
    """The reassignment would not know of the new partitions."""
    with pytest.raises(ReassignmentInProgress):
        decide_expansion("moving", TopicAssignment({0: MOVING}), {1: TWO}, version=3)


def test_a_deletion_is_a_mark() -> None:
    """A later controller goes on from it."""
    assert decide_deletion("a.b") == Create("/admin/delete_topics/a.b", None)
