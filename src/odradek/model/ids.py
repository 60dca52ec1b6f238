"""Who and where: the identities that every layer speaks of."""

import base64
import binascii
from collections.abc import Iterable
from typing import Final, NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
"""One broker's number, for life: `broker.id`."""

ProducerId = NewType("ProducerId", int)
"""A producer that counts its batches, so that a repeated one is recognised (KIP-98)."""

TopicId = NewType("TopicId", bytes)
"""Sixteen bytes that tell a topic from a later one of the same name (KIP-516)."""

NO_BROKER: Final = BrokerId(-1)
NO_PRODUCER: Final = ProducerId(-1)
NO_TOPIC_ID: Final = TopicId(bytes(16))


class TopicPartition(NamedTuple):
    """One log of one topic: what is led, followed, fetched and committed."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """`orders-0`: also the name of its directory, so topics order before numbers do."""
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of each topic's partitions, in the order in which they come."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


def topic_id_text(topic_id: TopicId) -> str:
    """As Kafka prints it: URL-safe base64 without padding, 22 characters."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode("ascii")


def topic_id_from_text(text: str) -> TopicId:
    """The inverse of `topic_id_text`; a ValueError names the text that is not one."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"==", altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raw = b""
    if len(text) != 22 or len(raw) != 16:
        message = f"not a topic id: {text[:64]!r}"
        raise ValueError(message)
    return TopicId(raw)
