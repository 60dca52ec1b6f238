"""The coordinator of groups in a broker: `coordinators` over the rules of `coordinator.groups`.

Groups live in the partitions of `__consumer_offsets` that this broker leads. What it adds to the
shell is what only groups have: the topic's records, the list of all groups, and offsets that go
when their topic goes.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.coordinators.record_topics import CoordinatorShell, RecordTopic, Surroundings
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.settings import SettingsSource
from odradek.config.rows import groups as rows
from odradek.config.rows import topic as topic_rows
from odradek.coordinator.coordinator import Coordinator, Shards
from odradek.coordinator.groups import admin, answers, codec
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.groups.settings import GroupSettings
from odradek.metadata.delta import topics_removed
from odradek.metadata.image import ClusterImage
from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.positions import Offset
from odradek.ports import Random
from odradek.records.compression import Codec
from odradek.wire.messages.list_groups import ListedGroup


class GroupCoordinator:
    """What the handlers of the group APIs ask."""

    def __init__(
        self, settings: SettingsSource, cluster: MetadataCache, random: Random, around: Surroundings
    ) -> None:
        self._cluster = cluster
        rules = GroupSettings.of(settings.broker)
        made_of = Shards(
            self._partitions,
            lambda: GroupMachine(rules, random),
            answers.refusal,
            rules.commit_timeout,
        )
        self._core = Coordinator(made_of)
        self._shell = CoordinatorShell(self._core, _keeping(settings), around)
        cluster.watchers.append(self._on_image)

    def ask(
        self,
        pending: PendingRequest,
        parts: Sequence[tuple[str, Any]],
        tell: Callable[[list[Any]], None],
    ) -> None:
        """Puts each part to the group that it is about; tells once all are answered."""
        self._shell.ask(pending, parts, tell)

    def partition_of(self, group: str) -> TopicPartition | None:
        """Where the group belongs; None as long as there is no topic for groups."""
        partition = self._core.partition_of(group)
        return None if partition is None else TopicPartition(GROUP_METADATA_TOPIC, partition)

    def list_groups(
        self, states: Collection[str], types: Collection[str]
    ) -> tuple[list[ListedGroup], bool]:
        """All groups that are coordinated here, and whether some are not known yet."""
        found = [
            group
            for machine in self._core.machines()
            for group in admin.list_groups(machine.groups, states, types)
        ]
        return found, self._core.loading

    def committed(self) -> Iterator[tuple[str, TopicPartition, Offset]]:
        """What every group that is coordinated here has committed; it may change meanwhile."""
        for machine in list(self._core.machines()):
            for group, offsets in list(machine.groups.ledger.offsets.items()):
                for partition, recorded in list(offsets.items()):
                    yield group, partition, recorded.committed.offset

    def close(self) -> None:
        """The broker stops."""
        self._shell.close()

    def _partitions(self) -> int:
        topic = self._cluster.image.topics.get(GROUP_METADATA_TOPIC)
        return len(topic.partitions) if topic else 0

    def _on_image(self, old: ClusterImage, new: ClusterImage) -> None:
        gone = topics_removed(old, new)
        if gone:
            self._shell.everywhere(lambda machine, now: machine.forget_topics(gone, now))


def _keeping(settings: SettingsSource) -> RecordTopic:
    return RecordTopic(
        GROUP_METADATA_TOPIC,
        codec.encode,
        codec.decode,
        lambda: Codec(settings.broker[rows.OFFSETS_TOPIC_COMPRESSION_CODEC]),
        lambda: settings.topic(GROUP_METADATA_TOPIC)[topic_rows.MAX_MESSAGE_BYTES],
    )
