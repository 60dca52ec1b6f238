"""AddPartitionsToTxn (key 24), versions 0 to 5, flexible from 3.

Generated from `codegen/messages/add_partitions_to_txn.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class AddPartitionsToTxnTopic(Struct):
    """Of `AddPartitionsToTxnRequest.v3_and_below_topics` and `AddPartitionsToTxnTransaction.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AddPartitionsToTxnTransaction(Struct):
    """Of `AddPartitionsToTxnRequest.transactions`."""

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

    FIELDS = (
        Field("transactional_id", STRING),
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("verify_only", BOOL),
        Field("topics", Array(AddPartitionsToTxnTopic)),
    )

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = topics


class AddPartitionsToTxnRequest(Request):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 24

    FIELDS = (
        Field("transactions", Array(AddPartitionsToTxnTransaction), since=4),
        Field("v3_and_below_transactional_id", STRING, until=3),
        Field("v3_and_below_producer_id", INT64, until=3),
        Field("v3_and_below_producer_epoch", INT16, until=3),
        Field("v3_and_below_topics", Array(AddPartitionsToTxnTopic), until=3),
    )

    def __init__(
        self,
        transactions: Sequence[AddPartitionsToTxnTransaction] = (),
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactions = transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = v3_and_below_topics


class AddPartitionsToTxnPartitionResult(Struct):
    """Of `AddPartitionsToTxnTopicResult.results_by_partition`."""

    __slots__ = ("partition_index", "partition_error_code")

    FIELDS = (
        Field("partition_index", INT32),
        Field("partition_error_code", INT16),
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult(Struct):
    """Of `AddPartitionsToTxnResponse.results_by_topic_v3_and_below` and `AddPartitionsToTxnResult.topic_results`."""

    __slots__ = ("name", "results_by_partition")

    FIELDS = (
        Field("name", STRING),
        Field("results_by_partition", Array(AddPartitionsToTxnPartitionResult)),
    )

    def __init__(
        self,
        name: str = "",
        results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = (),
    ) -> None:
        self.name = name
        self.results_by_partition = results_by_partition


class AddPartitionsToTxnResult(Struct):
    """Of `AddPartitionsToTxnResponse.results_by_transaction`."""

    __slots__ = ("transactional_id", "topic_results")

    FIELDS = (
        Field("transactional_id", STRING),
        Field("topic_results", Array(AddPartitionsToTxnTopicResult)),
    )

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = topic_results


class AddPartitionsToTxnResponse(Response):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
    )

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 24

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16, since=4, ignorable=True),
        Field("results_by_transaction", Array(AddPartitionsToTxnResult), since=4),
        Field("results_by_topic_v3_and_below", Array(AddPartitionsToTxnTopicResult), until=3),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: Sequence[AddPartitionsToTxnResult] = (),
        results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = results_by_transaction
        self.results_by_topic_v3_and_below = results_by_topic_v3_and_below
