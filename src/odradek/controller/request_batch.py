"""What brokers are to be told, collected while a decision is carried out, then built at once.

A partition is told once, as it is at the end. Marks stick: what is new for one reason stays new,
what is to be deleted stays to be deleted. The order is Kafka's: LeaderAndIsr, so that a leader
leads before clients hear of it, then UpdateMetadata, then StopReplica. A broker that has just
arrived, and everybody at the start of a controller, gets the whole metadata before all that.
"""

from collections.abc import Iterable

from odradek.model.ids import BrokerId, TopicPartition

Marked = dict[TopicPartition, bool]


class RequestBatch:
    """Filled by the decisions; `controller.messages` turns it into requests and empties it."""

    def __init__(self) -> None:
        self.full: dict[BrokerId, None] = {}  # brokers that need the whole metadata
        self.lead: dict[BrokerId, Marked] = {}  # LeaderAndIsr; the mark is `is_new`
        self.update: dict[TopicPartition, None] = {}  # UpdateMetadata, to everybody
        self.has_news = False  # somebody came or went: UpdateMetadata even without partitions
        self.stop: dict[BrokerId, Marked] = {}  # StopReplica; the mark is `delete`

    def add_lead(
        self, brokers: Iterable[BrokerId], partition: TopicPartition, *, is_new: bool = False
    ) -> None:
        """These brokers hear who leads a partition, and everybody hears of its metadata."""
        for broker in brokers:
            marked = self.lead.setdefault(broker, {})
            marked[partition] = is_new or marked.get(partition, False)
        self.update[partition] = None

    def add_update(self, partitions: Iterable[TopicPartition]) -> None:
        """Everybody hears of the metadata of these partitions."""
        self.update.update(dict.fromkeys(partitions))
        self.has_news = True

    def add_stop(self, broker: BrokerId, partition: TopicPartition, *, delete: bool) -> None:
        """A broker gives up its replica."""
        marked = self.stop.setdefault(broker, {})
        marked[partition] = delete or marked.get(partition, False)

    def __bool__(self) -> bool:
        return bool(self.full or self.lead or self.update or self.stop or self.has_news)
