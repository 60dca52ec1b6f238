"""Where a reader is in each partition: what checkpoints hold, and the commits of tables.

Beside the offset stand the topic's id and the leader epoch that the offset was seen under, and the
cluster's id once. They tell a topic that was deleted and made again from one that lost records to
retention, and both from a log that was truncated after an unclean election.

    {"version": 1, "cluster_id": "…", "topics": {"orders": {"topic_id": "…",
     "offsets": {"0": 1200, "1": 1187}, "leader_epochs": {"0": 4, "1": 4}}}}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import PipelineError

VERSION: Final = 1
NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Records of one partition from `start` on, up to and without `end`.

    `topic_id` is the text form, "" where the broker has none; `leader_epoch` is the epoch under
    which `start` was seen, -1 where it is not known: a log that was truncated below it is noticed.
    """

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    leader_epoch: int = NO_EPOCH

    @property
    def topic_partition(self) -> TopicPartition:
        """Of which log."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """How many offsets: compaction and transactions may leave fewer records."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class TopicPositions:
    """The offsets of one topic: the next one to be read, by partition."""

    topic_id: str
    offsets: Mapping[int, int]
    leader_epochs: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Positions:
    """The offsets of all topics of one reader."""

    cluster_id: str
    topics: Mapping[str, TopicPositions]

    def __iter__(self) -> Iterator[TopicPartition]:
        """Every partition, in order."""
        for name, topic in sorted(self.topics.items()):
            for partition in sorted(topic.offsets):
                yield TopicPartition(name, partition)

    def offset(self, of: TopicPartition) -> int | None:
        """The next offset of a partition; None: it is not among these."""
        topic = self.topics.get(of.topic)
        return None if topic is None else topic.offsets.get(of.partition)

    def leader_epoch(self, of: TopicPartition) -> int:
        """Under which leader epoch the offset was seen; -1: not known."""
        topic = self.topics.get(of.topic)
        return NO_EPOCH if topic is None else topic.leader_epochs.get(of.partition, NO_EPOCH)

    def moved(self, offsets: Mapping[TopicPartition, int]) -> "Positions":
        """The same, with other offsets where some are given."""
        topics = {
            name: TopicPositions(
                topic.topic_id,
                {
                    number: offsets.get(TopicPartition(name, number), offset)
                    for number, offset in topic.offsets.items()
                },
                topic.leader_epochs,
            )
            for name, topic in self.topics.items()
        }
        return Positions(self.cluster_id, topics)

    def to_json(self) -> dict[str, Any]:
        """As a checkpoint keeps it. Equal positions give equal text: Spark compares texts."""
        return {
            "version": VERSION,
            "cluster_id": self.cluster_id,
            "topics": {
                name: {
                    "topic_id": topic.topic_id,
                    "offsets": _to_texts(topic.offsets),
                    "leader_epochs": _to_texts(topic.leader_epochs),
                }
                for name, topic in sorted(self.topics.items())
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Positions":
        """The inverse of `to_json`; PipelineError for what another release or program wrote."""
        version = data.get("version")
        if version != VERSION:
            raise PipelineError(
                f"the checkpoint has format version {version!r}, this release reads {VERSION}; "
                "it was written by a newer release or by another source"
            )
        try:
            topics = {
                name: TopicPositions(
                    topic["topic_id"],
                    _to_numbers(topic["offsets"]),
                    _to_numbers(topic["leader_epochs"]),
                )
                for name, topic in data["topics"].items()
            }
            return cls(data["cluster_id"], topics)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PipelineError(f"the checkpoint cannot be read: {error!r}") from error


def _to_texts(numbers: Mapping[int, int]) -> dict[str, int]:
    return {str(key): value for key, value in sorted(numbers.items())}


def _to_numbers(texts: Mapping[str, int]) -> dict[int, int]:
    return {int(key): int(value) for key, value in texts.items()}
