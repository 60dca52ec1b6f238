"""The versions of Kafka that settings may name, read as Kafka 3.9 reads them.

Of `2.8.1` or `0.11.0.2` the first two or three parts count; a revision such as `3.0-IV1` must be
one that there was. What Kafka 3.9 calls unstable (4.0-IV0) is refused.
Source: MetadataVersion.java of Kafka 3.9.1.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.config.kinds import ConfigType, Kind, NotAllowed

REVISIONS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("0.8.0", "0.8.1", "0.8.2", "0.9.0"), 0),
        "0.10.0": 2,
        "0.10.1": 3,
        "0.10.2": 1,
        "0.11.0": 3,
        "1.0": 1,
        "1.1": 1,
        "2.0": 2,
        "2.1": 3,
        "2.2": 2,
        "2.3": 2,
        "2.4": 2,
        "2.5": 1,
        "2.6": 1,
        "2.7": 3,
        "2.8": 2,
        "3.0": 2,
        "3.1": 1,
        "3.2": 1,
        "3.3": 4,
        "3.4": 1,
        "3.5": 3,
        "3.6": 3,
        "3.7": 5,
        "3.8": 1,
        "3.9": 1,
    }
)
"""Releases, and how many revisions (-IV0, -IV1, ...) each had."""


def kafka_version(example: str) -> Kind[str]:
    """A version of Kafka up to 3.9; its text is kept as it was given."""
    allowed = f"a version of Kafka up to 3.9, such as {example}"

    def parse(text: str) -> str:
        if not _is_version(text):
            raise NotAllowed(f"must be {allowed}")
        return text

    return Kind(ConfigType.STRING, parse, str, allowed)


def _is_version(text: str) -> bool:
    count = 3 if text.startswith("0.") else 2
    parts = text.split(".", count)
    release, dash, revision = ".".join(parts[:count]).partition("-IV")
    if release not in REVISIONS:
        return False
    return not dash or revision in map(str, range(REVISIONS[release]))
