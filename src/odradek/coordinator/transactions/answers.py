"""Responses: what a producer is told when all went well, and the form of every refusal."""

from collections.abc import Mapping
from typing import Any

from odradek.coordinator.transactions.requests import (
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    InitProducer,
    VerifyPartitions,
)
from odradek.coordinator.transactions.values import Identity, Transaction
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition, by_topic
from odradek.model.positions import NO_PRODUCER_EPOCH
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.wire.messages.describe_transactions import TopicData, TransactionState
from odradek.wire.messages.end_txn import EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdResponse
from odradek.wire.schema import Struct


def began(identity: Identity) -> InitProducerIdResponse:
    """Who the producer is from now on."""
    return InitProducerIdResponse(
        producer_id=identity.producer_id, producer_epoch=identity.producer_epoch
    )


def ended(identity: Identity) -> EndTxnResponse:
    """Who the producer is in its next transaction, which version 2 alone wants to know."""
    return EndTxnResponse(producer_id=identity.producer_id, producer_epoch=identity.producer_epoch)


def results(
    transactional_id: str, codes: Mapping[TopicPartition, ErrorCode]
) -> AddPartitionsToTxnResult:
    """A code for each partition."""
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, partition), code in codes.items():
        topics.setdefault(topic, []).append(AddPartitionsToTxnPartitionResult(partition, code))
    return AddPartitionsToTxnResult(
        transactional_id, [AddPartitionsToTxnTopicResult(*it) for it in topics.items()]
    )


def described(transactional_id: str, transaction: Transaction) -> TransactionState:
    """For operators."""
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.title,
        transaction_timeout_ms=transaction.timeout,
        transaction_start_time_ms=transaction.started_at,
        producer_id=transaction.identity.producer_id,
        producer_epoch=transaction.identity.producer_epoch,
        topics=[TopicData(*it) for it in by_topic(sorted(transaction.partitions)).items()],
    )


def refusal(request: Any, code: ErrorCode) -> Struct | ErrorCode:
    """The response to this request that says nothing but the code."""
    match request:
        case InitProducer():
            return InitProducerIdResponse(error_code=code, producer_epoch=NO_PRODUCER_EPOCH)
        case AddPartitions():
            return code
        case VerifyPartitions():
            return results(
                request.transactional_id, dict.fromkeys(sorted(request.partitions), code)
            )
        case EndTransaction():
            return EndTxnResponse(error_code=code)
        case DescribeTransaction():
            return TransactionState(code, request.transactional_id)
        case _:
            raise AssertionError(request)
