"""Which topics a member subscribes to, as far as the coordinator knows.

What members put into JoinGroup is theirs: the coordinator passes it on and need not understand it.
It looks all the same, so that it neither deletes nor expires offsets that somebody reads from. A
client may write anything there; then nothing is known, and nothing is deleted. Every version begins
like the first, which has the topics: it is read as that, so that later versions need not be known.
"""

from collections.abc import Iterable
from typing import Final

from odradek.model.errors import BrokerError
from odradek.wire.codec import decode
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription

CONSUMER: Final = "consumer"
"""The protocol type of consumers: only theirs is a format that Kafka defines."""
VERSION_BYTES: Final = 2


def topics_of(subscription: bytes) -> frozenset[str] | None:
    """The topics that one consumer names; None if that cannot be read."""
    try:
        parsed, _ = decode(ConsumerProtocolSubscription, 0, subscription, VERSION_BYTES)
    except BrokerError:
        return None
    return frozenset(parsed.topics)


def topics_of_all(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics that any of them names; None if one of them cannot be read."""
    topics: set[str] = set()
    for subscription in subscriptions:
        found = topics_of(subscription)
        if found is None:
            return None
        topics |= found
    return frozenset(topics)
