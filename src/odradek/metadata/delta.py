"""What became different from one image to the next.

What acts on a new image asks for the difference, however many images came between.
Topics and chunks of partitions that are the same object are skipped without a look inside, so the
cost is that of the change, plus one comparison of identities for each topic.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.metadata.image import ClusterImage, PartitionImage, TopicImage
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.settings import Entity
from odradek.model.ids import BrokerId, TopicPartition


@dataclass(frozen=True, slots=True)
class BrokersDelta:
    """How the brokers changed. One that bounced came back as a new life between two looks."""

    added: tuple[BrokerId, ...] = ()
    removed: tuple[BrokerId, ...] = ()
    bounced: tuple[BrokerId, ...] = ()
    altered: tuple[BrokerId, ...] = ()  # the same life, with other endpoints, rack or features

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.bounced or self.altered)


@dataclass(frozen=True, slots=True)
class ClusterDelta:
    """The difference between two images. A topic that was made anew is removed and added."""

    brokers: BrokersDelta = BrokersDelta()
    topics_added: tuple[str, ...] = ()
    topics_removed: tuple[str, ...] = ()
    partitions_changed: tuple[TopicPartition, ...] = ()  # with those of topics that were added
    settings_changed: tuple[Entity, ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.brokers
            or self.topics_added
            or self.topics_removed
            or self.partitions_changed
            or self.settings_changed
        )


def delta(old: ClusterImage, new: ClusterImage) -> ClusterDelta:
    """The difference, in an order that is the same in every run."""
    if old is new:
        return ClusterDelta()
    topics = {} if old.topics is new.topics else _changed_topics(old.topics, new.topics)
    added = [name for name, (was, now) in topics.items() if now and _is_another(now, was)]
    return ClusterDelta(
        brokers=brokers_delta(old.brokers, new.brokers),
        topics_added=tuple(added),
        topics_removed=_removed(topics),
        partitions_changed=tuple(_changed_partitions(topics)),
        settings_changed=_changed_settings(old, new),
    )


def topics_removed(old: ClusterImage, new: ClusterImage) -> tuple[str, ...]:
    """The topics that are no more, or were made anew: what was known of them is worth nothing."""
    if old.topics is new.topics:
        return ()
    return _removed(_changed_topics(old.topics, new.topics))


def brokers_delta(old: Mapping[BrokerId, Broker], new: Mapping[BrokerId, Broker]) -> BrokersDelta:
    """How the brokers changed."""
    both = sorted(old.keys() & new.keys())
    return BrokersDelta(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        bounced=tuple(it for it in both if old[it].epoch != new[it].epoch),
        altered=tuple(it for it in both if old[it].epoch == new[it].epoch and old[it] != new[it]),
    )


_Turn = tuple[TopicImage | None, TopicImage | None]


def _changed_topics(
    old: Mapping[str, TopicImage], new: Mapping[str, TopicImage]
) -> dict[str, _Turn]:
    changed = [name for name, topic in new.items() if old.get(name) is not topic]
    gone = old.keys() - new.keys()
    return {name: (old.get(name), new.get(name)) for name in sorted({*changed, *gone})}


def _removed(changed: Mapping[str, _Turn]) -> tuple[str, ...]:
    return tuple(name for name, (was, now) in changed.items() if was and _is_another(was, now))


def _is_another(topic: TopicImage, than: TopicImage | None) -> bool:
    """A topic that had no id and now has one is the same."""
    if than is None:
        return True
    return None not in {topic.topic_id, than.topic_id} and topic.topic_id != than.topic_id


def _changed_partitions(topics: Mapping[str, _Turn]) -> list[TopicPartition]:
    changed = []
    for name, (was, now) in topics.items():
        if now is None:
            continue
        before: Mapping[int, PartitionImage] = (
            {} if was is None or _is_another(was, now) else was.partitions
        )
        changed += [TopicPartition(name, it) for it in now.partitions.different_from(before)]
    return changed


def _changed_settings(old: ClusterImage, new: ClusterImage) -> tuple[Entity, ...]:
    if old.settings is new.settings:
        return ()
    entities = {*old.settings, *new.settings}
    changed = [it for it in entities if old.settings_of(it) != new.settings_of(it)]
    return tuple(sorted(changed, key=str))
