"""The cluster as one broker knows it: immutable, and shared by all who ask.

A new image shares with the old one whatever did not change: a topic's partitions lie in chunks, and
only the chunks that are touched are copied. So a change costs what it touches plus one copy of the
table of topics, however many may hold the old image, and two images are compared by identity first
(`delta`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from odradek.metadata.nouns import Assignment, Broker, PartitionState
from odradek.metadata.number_table import NumberTable
from odradek.metadata.znodes.settings import Entity
from odradek.model.ids import BrokerId, TopicId, TopicPartition

NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


def _nothing() -> Mapping[Any, Any]:
    """The same for all: a default of a dataclass must be made."""
    return NOTHING


class PartitionImage(NamedTuple):
    """One partition: who shall hold it, and who leads it. A new one has no state yet."""

    assignment: Assignment
    state: PartitionState | None = None
    offline: frozenset[BrokerId] = frozenset()  # replicas on log dirs that failed

    @property
    def leader(self) -> BrokerId | None:
        """Who leads it, if anybody does."""
        return self.state.leader if self.state else None


@dataclass(frozen=True, slots=True)
class TopicImage:
    """One topic with its partitions, by number."""

    name: str
    topic_id: TopicId | None
    partitions: NumberTable[PartitionImage]

    def with_partitions(self, changed: Mapping[int, PartitionImage]) -> Self:
        """The same topic, with these partitions replaced or added."""
        return replace(self, partitions=self.partitions.replaced(changed))


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """Brokers, topics and settings. `names` finds a topic by its id."""

    brokers: Mapping[BrokerId, Broker] = field(default_factory=_nothing)
    topics: Mapping[str, TopicImage] = field(default_factory=_nothing)
    names: Mapping[TopicId, str] = field(default_factory=_nothing)
    settings: Mapping[Entity, Mapping[str, str]] = field(default_factory=_nothing)
    controller: BrokerId | None = None

    def partition(self, partition: TopicPartition) -> PartitionImage | None:
        """One partition, if there is one."""
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

    def topic_of_id(self, topic_id: TopicId) -> TopicImage | None:
        """The topic of an id, if there is one."""
        name = self.names.get(topic_id)
        return None if name is None else self.topics[name]

    def settings_of(self, entity: Entity) -> Mapping[str, str]:
        """What is set for an entity itself, as texts."""
        return self.settings.get(entity, NOTHING)

    def is_online(self, partition: TopicPartition, replica: BrokerId) -> bool:
        """Whether a replica's broker is alive and its log dir has not failed."""
        image = self.partition(partition)
        return replica in self.brokers and not (image and replica in image.offline)


class Changes:
    """What is to become of one image. Collected, then taken over all at once."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._brokers: Mapping[BrokerId, Broker] | None = None
        self._topics: dict[str, TopicImage | None] = {}
        self._partitions: dict[str, dict[int, PartitionImage]] = {}
        self._settings: dict[Entity, Mapping[str, str]] = {}
        self._controller = image.controller

    def brokers(self, brokers: Iterable[Broker]) -> Self:
        """Replaces all the brokers."""
        ordered = sorted(brokers, key=lambda broker: broker.id)
        self._brokers = MappingProxyType({broker.id: broker for broker in ordered})
        return self

    def topic(
        self, name: str, topic_id: TopicId | None, partitions: Mapping[int, PartitionImage]
    ) -> Self:
        """Adds a topic, or replaces one as a whole."""
        self._topics[name] = TopicImage(name, topic_id, NumberTable.of(partitions))
        self._partitions.pop(name, None)
        return self

    def remove_topic(self, name: str) -> Self:
        """Takes a topic away."""
        self._topics[name] = None
        self._partitions.pop(name, None)
        return self

    def partition(self, partition: TopicPartition, image: PartitionImage) -> Self:
        """Replaces or adds one partition of a topic that is there."""
        self._partitions.setdefault(partition.topic, {})[partition.partition] = image
        return self

    def settings(self, entity: Entity, settings: Mapping[str, str]) -> Self:
        """Replaces the settings of an entity; without any it is forgotten."""
        self._settings[entity] = settings
        return self

    def controller(self, broker: BrokerId | None) -> Self:
        """Names the controller."""
        self._controller = broker
        return self

    def image(self) -> ClusterImage:
        """The next image; the very same one where nothing was asked for."""
        topics = self._next_topics()
        return replace(
            self._image,
            brokers=self._image.brokers if self._brokers is None else self._brokers,
            topics=topics,
            names=self._next_names(),
            settings=self._next_settings(),
            controller=self._controller,
        )

    def _next_topics(self) -> Mapping[str, TopicImage]:
        if not self._topics and not self._partitions:
            return self._image.topics
        topics = {**self._image.topics}
        for name, topic in self._topics.items():
            if topic is None:
                topics.pop(name, None)
            else:
                topics[name] = topic
        for name, partitions in self._partitions.items():
            assert name in topics, name
            topics[name] = topics[name].with_partitions(partitions)
        return MappingProxyType(topics)

    def _next_names(self) -> Mapping[TopicId, str]:
        if not self._topics:
            return self._image.names
        names = {**self._image.names}
        for name, topic in self._topics.items():
            old = self._image.topics.get(name)
            if old is not None and old.topic_id is not None:
                names.pop(old.topic_id, None)
            if topic is not None and topic.topic_id is not None:
                names[topic.topic_id] = name
        return MappingProxyType(names)

    def _next_settings(self) -> Mapping[Entity, Mapping[str, str]]:
        if not self._settings:
            return self._image.settings
        settings = {**self._image.settings}
        for entity, values in self._settings.items():
            if values:
                settings[entity] = MappingProxyType({**values})
            else:
                settings.pop(entity, None)
        return MappingProxyType(settings)
