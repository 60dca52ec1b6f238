"""The coordinator of groups in a broker: `record_topics` over the rules of `coordinator.groups`.

A broker coordinates the groups whose partition of `__consumer_offsets` it leads. This module adds
what only groups have: the topic's records, the list of all groups, and the removal of offsets when
their topic is deleted.
"""

from collections.abc import Collection, Iterator

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.coordinators.record_topics import CoordinatorDeps, CoordinatorShell, RecordTopic
from odradek.broker.settings import SettingsSource
from odradek.config.rows import groups as rows
from odradek.config.rows import topic as topic_rows
from odradek.coordinator.coordinator import Coordinator, CoordinatorSpec
from odradek.coordinator.groups import answers, codec
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.groups.steps import admin
from odradek.metadata.delta import topics_removed
from odradek.metadata.image import ClusterImage
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.positions import Offset
from odradek.ports import Random
from odradek.records.compression import Codec
from odradek.wire.messages.list_groups import ListedGroup


class GroupCoordinator(CoordinatorShell[GroupMachine]):
    """What the handlers of the group APIs call."""

    def __init__(
        self,
        settings: SettingsSource,
        cluster: MetadataCache,
        random: Random,
        deps: CoordinatorDeps,
    ) -> None:
        self._cluster = cluster
        rules = GroupSettings.of(settings.broker)
        spec = CoordinatorSpec(
            self._partitions,
            lambda: GroupMachine(rules, random, self._topic_id),
            answers.refusal,
            rules.commit_timeout,
        )
        super().__init__(Coordinator(spec), _record_topic(settings), deps)

    def list_groups(
        self, states: Collection[str], types: Collection[str]
    ) -> tuple[list[ListedGroup], bool]:
        """All groups that are coordinated here, and whether some are not known yet."""
        found = [
            group
            for machine in self._core.machines()
            for group in admin.list_groups(machine.groups, states, types)
        ]
        return found, self.is_loading

    def committed(self) -> Iterator[tuple[str, TopicPartition, Offset]]:
        """What every group that is coordinated here has committed; it may change meanwhile."""
        for machine in list(self._core.machines()):
            groups = machine.groups
            for group, offsets in list(groups.ledger.offsets.items()):
                for partition, (it, _) in list(offsets.items()):
                    if not groups.is_of_earlier_topic(partition.topic, it):
                        yield group, partition, it.offset

    def _partitions(self) -> int:
        topic = self._cluster.image.topics.get(GROUP_METADATA_TOPIC)
        return len(topic.partitions) if topic else 0

    def _topic_id(self, topic: str) -> TopicId | None:
        found = self._cluster.image.topics.get(topic)
        return None if found is None else found.topic_id

    def on_image(self, old: ClusterImage, new: ClusterImage) -> None:
        """What was committed for topics that are gone is forgotten."""
        gone = topics_removed(old, new)
        if gone:
            self.everywhere(lambda machine, now: machine.forget_topics(gone, now))


def _record_topic(settings: SettingsSource) -> RecordTopic:
    return RecordTopic(
        GROUP_METADATA_TOPIC,
        codec.encode,
        codec.decode,
        lambda: Codec(settings.broker[rows.OFFSETS_TOPIC_COMPRESSION_CODEC]),
        lambda: settings.topic(GROUP_METADATA_TOPIC)[topic_rows.MAX_MESSAGE_BYTES],
    )
