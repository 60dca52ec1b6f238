"""ConsumerProtocolSubscription, ConsumerProtocolAssignment.

Generated from `codegen/messages/consumer_protocol.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import BYTES, INT32, STRING, Array, Buffer, Field, Message, Struct


class TopicPartition(Struct):
    """Of `ConsumerProtocolSubscription.owned_partitions` and `ConsumerProtocolAssignment.assigned_partitions`."""

    __slots__ = ("topic", "partitions")

    FIELDS = (
        Field("topic", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class ConsumerProtocolSubscription(Message):
    """Its versions 0 to 3."""

    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")

    VERSIONS = range(0, 4)

    FIELDS = (
        Field("topics", Array(STRING)),
        Field("user_data", BYTES, default=None, null=(0, 32767)),
        Field("owned_partitions", Array(TopicPartition), since=1, ignorable=True),
        Field("generation_id", INT32, since=2, default=-1, ignorable=True),
        Field("rack_id", STRING, since=3, default=None, null=(3, 32767), ignorable=True),
    )

    def __init__(
        self,
        topics: Sequence[str] = (),
        user_data: Buffer | None = None,
        owned_partitions: Sequence[TopicPartition] = (),
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = topics
        self.user_data = user_data
        self.owned_partitions = owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id


class ConsumerProtocolAssignment(Message):
    """Its versions 0 to 3."""

    __slots__ = ("assigned_partitions", "user_data")

    VERSIONS = range(0, 4)

    FIELDS = (
        Field("assigned_partitions", Array(TopicPartition)),
        Field("user_data", BYTES, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        assigned_partitions: Sequence[TopicPartition] = (),
        user_data: Buffer | None = None,
    ) -> None:
        self.assigned_partitions = assigned_partitions
        self.user_data = user_data
