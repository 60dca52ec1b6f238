"""The znodes by which others ask something of the controller, or tell it something."""

from collections.abc import Iterable, Mapping
from typing import Final

from odradek.metadata.json_body import Body, Json, encoded
from odradek.metadata.znodes.topic import legal_topic
from odradek.model.ids import BrokerId, TopicPartition

LOG_DIR_FAILURE: Final = 1  # the only event there has ever been


class DeleteTopicZnode:
    """A topic that shall be deleted. It holds nothing."""

    PARENT: Final = "/admin/delete_topics"

    @classmethod
    def path(cls, topic: str) -> str:
        """The mark of one topic."""
        return f"{cls.PARENT}/{topic}"

    @classmethod
    def decode_name(cls, name: str) -> str:
        """The topic that a child stands for."""
        return legal_topic(cls.PARENT, name)


class ReassignPartitionsZnode:
    """Partitions and their new replicas, from tools older than KIP-455."""

    PATH: Final = "/admin/reassign_partitions"

    @staticmethod
    def encode(targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> bytes:
        """In the order of the partitions."""
        return encoded(
            {
                "version": 1,
                "partitions": [
                    {"topic": partition.topic, "partition": partition.partition, "replicas": target}
                    for partition, target in sorted(targets.items())
                ],
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The replicas asked for, of each partition."""
        bodies = Body.parse(cls.PATH, data).bodies("partitions")
        return {
            _partition(cls.PATH, body): tuple(map(BrokerId, body.distinct_integers("replicas")))
            for body in bodies
        }


class PreferredElectionZnode:
    """Partitions whose preferred replica shall lead, from tools older than KIP-183."""

    PATH: Final = "/admin/preferred_replica_election"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        """In the order of the partitions."""
        return _encoded_partitions(partitions)

    @classmethod
    def decode(cls, data: bytes | None) -> list[TopicPartition]:
        """The partitions asked for."""
        return _decoded_partitions(cls.PATH, data)


class IsrChangeZnode:
    """Sequential: partitions whose ISR a leader changed by itself, as before Kafka 2.7."""

    PARENT: Final = "/isr_change_notification"
    CREATE_PATH: Final = f"{PARENT}/isr_change_"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        """In the order of the partitions."""
        return _encoded_partitions(partitions)

    @classmethod
    def decode(cls, data: bytes | None) -> list[TopicPartition]:
        """The partitions whose state is to be read anew."""
        return _decoded_partitions(cls.PARENT, data)


class LogDirEventZnode:
    """Sequential: a broker on which a log dir has failed."""

    PARENT: Final = "/log_dir_event_notification"
    CREATE_PATH: Final = f"{PARENT}/log_dir_event_"

    @staticmethod
    def encode(broker: BrokerId) -> bytes:
        """The broker alone: it knows which replicas are gone."""
        return encoded({"version": 1, "broker": broker, "event": LOG_DIR_FAILURE})

    @classmethod
    def decode(cls, data: bytes | None) -> BrokerId:
        """The broker to be asked."""
        return BrokerId(Body.parse(cls.PARENT, data).integer("broker", low=0))


def _encoded_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    named: list[Json] = [
        {"topic": it.topic, "partition": it.partition} for it in sorted(partitions)
    ]
    return encoded({"version": 1, "partitions": named})


def _decoded_partitions(path: str, data: bytes | None) -> list[TopicPartition]:
    return [_partition(path, body) for body in Body.parse(path, data).bodies("partitions")]


def _partition(path: str, body: Body) -> TopicPartition:
    return TopicPartition(legal_topic(path, body.text("topic")), body.integer("partition", low=0))
