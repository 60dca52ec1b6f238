"""Records of __transaction_state: TransactionLog.

Generated from `codegen/messages/transaction_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Array,
    Field,
    RecordKey,
    RecordValue,
    Struct,
)


class TransactionLogKey(RecordKey):
    """Version 0."""

    __slots__ = ("transactional_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__transaction_state"
    TYPE = 0

    FIELDS = (Field("transactional_id", STRING),)

    def __init__(
        self,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id


class PartitionsSchema(Struct):
    """Of `TransactionLogValue.transaction_partitions`."""

    __slots__ = ("topic", "partition_ids")

    FIELDS = (
        Field("topic", STRING),
        Field("partition_ids", Array(INT32)),
    )

    def __init__(
        self,
        topic: str = "",
        partition_ids: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partition_ids = partition_ids


class TransactionLogValue(RecordValue):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    TOPIC = "__transaction_state"
    TYPE = 0

    FIELDS = (
        Field("producer_id", INT64),
        Field("previous_producer_id", INT64, since=1, default=-1, tag=0),
        Field("next_producer_id", INT64, since=1, default=-1, tag=1),
        Field("producer_epoch", INT16),
        Field("next_producer_epoch", INT16, since=1, default=-1, tag=3),
        Field("transaction_timeout_ms", INT32),
        Field("transaction_status", INT8),
        Field("transaction_partitions", Array(PartitionsSchema), null=(0, 32767)),
        Field("transaction_last_update_timestamp_ms", INT64),
        Field("transaction_start_timestamp_ms", INT64),
        Field("client_transaction_version", INT16, since=1, tag=2),
    )

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: Sequence[PartitionsSchema] | None = (),
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
