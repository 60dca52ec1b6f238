"""DescribeTransactions (key 65), version 0, flexible from 0.

Generated from `codegen/messages/describe_transactions.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class DescribeTransactionsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("transactional_ids",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 65

    FIELDS = (Field("transactional_ids", Array(STRING)),)

    def __init__(
        self,
        transactional_ids: Sequence[str] = (),
    ) -> None:
        self.transactional_ids = transactional_ids


class TopicData(Struct):
    """Of `TransactionState.topics`."""

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


class TransactionState(Struct):
    """Of `DescribeTransactionsResponse.transaction_states`."""

    __slots__ = (
        "error_code",
        "transactional_id",
        "transaction_state",
        "transaction_timeout_ms",
        "transaction_start_time_ms",
        "producer_id",
        "producer_epoch",
        "topics",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("transactional_id", STRING),
        Field("transaction_state", STRING),
        Field("transaction_timeout_ms", INT32),
        Field("transaction_start_time_ms", INT64),
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("topics", Array(TopicData)),
    )

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = topics


class DescribeTransactionsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "transaction_states")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 65

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("transaction_states", Array(TransactionState)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: Sequence[TransactionState] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = transaction_states
