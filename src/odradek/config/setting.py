"""A setting is a row: name, kind, default, how it may change, and a sentence for people.

Broker and topic settings are different types, so that asking a broker's settings for a topic's row
is refused before the program runs. Rows are compared by identity: each exists once, in `rows/`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from odradek.config.kinds import ConfigType, Kind

T = TypeVar("T")


class Mode(Enum):
    """When a broker's setting may change."""

    READ_ONLY = "read-only"  # needs a restart
    PER_BROKER = "per-broker"  # at run time, for one broker at a time
    CLUSTER_WIDE = "cluster-wide"  # at run time, for one broker or as the default of all


class Importance(Enum):
    """How likely it is that somebody has to think about a setting."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, eq=False)
class Setting(Generic[T]):
    """What brokers' and topics' settings have in common."""

    name: str
    kind: Kind[T]
    default: T
    doc: str
    importance: Importance = Importance.MEDIUM
    ours: bool = False  # Kafka has no such setting
    inert: str = ""  # why it has no effect, if it is accepted for the sake of old files only
    kafka_default: str | None = None  # where ours differs

    @property
    def default_text(self) -> str | None:
        """The default as it would be written; None if nothing is said by default."""
        if self.default is None and self.kind.may_be_unset:
            return None
        return self.kind.text(self.default)

    @property
    def sensitive(self) -> bool:
        """Whether the value must not be shown."""
        return self.kind.type is ConfigType.PASSWORD

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class BrokerSetting(Setting[T]):
    """A line of `server.properties`."""

    mode: Mode = Mode.READ_ONLY


@dataclass(frozen=True, slots=True, eq=False)
class TopicSetting(Setting[T]):
    """A setting of one topic, and the broker's settings that speak where the topic is silent.

    Of several the first that is set counts: at run time before in a file, and otherwise the first
    that has a default. Only without any is `default` used.
    """

    inherits: tuple[BrokerSetting[Any], ...] = ()
