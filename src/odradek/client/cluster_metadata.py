"""The cluster as Metadata answers tell it: brokers, topics with their ids, leaders with epochs.

An image is immutable; an answer makes the next one. An answer may come from a broker that lags
behind: of a topic with the same id a partition's leader is replaced only by one of the same or a
later leader epoch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from odradek.client.errors import NoLeader
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.ports import Address
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


class BrokerEndpoint(NamedTuple):
    """Where a broker is."""

    address: Address
    rack: str | None


class PartitionMetadata(NamedTuple):
    """One partition: who leads it, and where its replicas are."""

    leader: BrokerId  # NO_BROKER: it has none
    leader_epoch: LeaderEpoch
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    offline: tuple[BrokerId, ...]
    error: ErrorCode


class TopicMetadata(NamedTuple):
    """One topic, or why there is nothing to say of it."""

    name: str
    topic_id: TopicId
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What is known of a cluster."""

    cluster_id: str = ""
    controller: BrokerId = NO_BROKER
    brokers: Mapping[BrokerId, BrokerEndpoint] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)

    def partition(self, partition: TopicPartition) -> PartitionMetadata | None:
        """What is known of a partition."""
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic is not None else None

    def leader(self, partition: TopicPartition) -> BrokerId:
        """Who leads it; NoLeader where that is not known."""
        known = self.partition(partition)
        if known is None or known.leader not in self.brokers:
            raise NoLeader(f"{partition} has no leader, or does not exist")
        return known.leader

    def topic_id(self, topic: str) -> TopicId:
        """The id of a topic; NO_TOPIC_ID where the brokers do not tell, or the topic is unknown."""
        known = self.topics.get(topic)
        return known.topic_id if known is not None else NO_TOPIC_ID

    def after(self, answer: MetadataResponse) -> "ClusterMetadata":
        """With what an answer tells; topics that it does not name stay."""
        brokers = {
            BrokerId(row.node_id): BrokerEndpoint((row.host, row.port), row.rack)
            for row in answer.brokers
        }
        topics = dict(self.topics)
        for row in answer.topics:
            if row.name is not None:
                topics[row.name] = _newer(topics.get(row.name), _topic(row, row.name))
        cluster_id = answer.cluster_id or self.cluster_id
        return ClusterMetadata(cluster_id, BrokerId(answer.controller_id), brokers, topics)

    def of_topics(self, names: frozenset[str]) -> "ClusterMetadata":
        """The same cluster with these topics only."""
        return replace(self, topics={it: row for it, row in self.topics.items() if it in names})

    def without_topic(self, name: str) -> "ClusterMetadata":
        """What was known of a topic turned out to be wrong."""
        return replace(self, topics={it: row for it, row in self.topics.items() if it != name})


def _topic(row: MetadataResponseTopic, name: str) -> TopicMetadata:
    partitions = {it.partition_index: _partition(it) for it in row.partitions}
    topic_id = TopicId(row.topic_id)
    return TopicMetadata(name, topic_id, row.is_internal, partitions, ErrorCode(row.error_code))


def _partition(row: MetadataResponsePartition) -> PartitionMetadata:
    return PartitionMetadata(
        BrokerId(row.leader_id),
        LeaderEpoch(row.leader_epoch),
        _brokers(row.replica_nodes),
        _brokers(row.isr_nodes),
        _brokers(row.offline_replicas),
        ErrorCode(row.error_code) if row.error_code else ErrorCode.NONE,
    )


def _brokers(ids: Sequence[int]) -> tuple[BrokerId, ...]:
    """All at once: a listing of ten thousand partitions has many."""
    return cast("tuple[BrokerId, ...]", tuple(ids))


def _newer(known: TopicMetadata | None, told: TopicMetadata) -> TopicMetadata:
    """Partition by partition the later leadership, as long as it is the same topic."""
    if known is None or told.error or known.topic_id != told.topic_id:
        return told
    partitions = {
        number: _later(known.partitions.get(number), row) for number, row in told.partitions.items()
    }
    return told._replace(partitions=partitions)


def _later(known: PartitionMetadata | None, told: PartitionMetadata) -> PartitionMetadata:
    stale = known is not None and 0 <= told.leader_epoch < known.leader_epoch
    return known if known is not None and stale else told
