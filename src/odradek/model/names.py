"""Which names a topic may have, which topics are ours, and the name of what has none.

A topic's name becomes a directory and part of a metric, so the rules are those of a careful
file name: Kafka's, to the letter.
"""

import re
from typing import Final

TOPIC_NAME_MAX: Final = 249  # with "-<partition>" and a suffix, still a legal file name
GROUP_METADATA_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC})
DEFAULT_ENTITY: Final = "<default>"
"""Stands for every broker (client, user, address) that has no settings of its own."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_fault(name: str) -> str | None:
    """What is wrong with a topic's name, as a sentence for its owner; None if nothing is."""
    if not name:
        return "a topic name must not be empty"
    if name in {".", ".."}:
        return "a topic name must not be '.' or '..'"
    if len(name) > TOPIC_NAME_MAX:
        return f"a topic name has at most {TOPIC_NAME_MAX} characters, this one has {len(name)}"
    if wrong := _LEGAL.sub("", name):
        legal = "ASCII letters, digits, '.', '_' and '-' only"
        return f"a topic name is made of {legal}: {wrong[0]!r} cannot be in one"
    return None


def metric_collision_key(name: str) -> str:
    """Topics of equal key share their metrics: '.' and '_' are one character there."""
    return name.replace(".", "_")
