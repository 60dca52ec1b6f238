"""Identities read and print as Kafka's do."""

import pytest

from odradek.model.ids import TopicId, TopicPartition, topic_id_from_text, topic_id_text


def test_a_topic_id_survives_its_text() -> None:
    """Every id comes back from the text that people see, also those that need '-' and '_'."""
    for raw in (bytes(16), bytes(range(16)), b"\xff" * 16, b"\xfb\xef\xbe" * 5 + b"\x00"):
        text = topic_id_text(TopicId(raw))
        assert len(text) == 22
        assert topic_id_from_text(text) == raw


@pytest.mark.parametrize("text", ["", "A", "A" * 21, "A" * 23, "A" * 21 + "!", "Ä" * 22])
def test_what_is_not_a_topic_id_is_named(text: str) -> None:
    """A text of another length or alphabet is refused, and quoted."""
    with pytest.raises(ValueError, match="not a topic id"):
        topic_id_from_text(text)


def test_a_partition_prints_as_its_directory() -> None:
    """The text of a partition is the name of its directory in every log dir."""
    assert str(TopicPartition("orders", 7)) == "orders-7"
