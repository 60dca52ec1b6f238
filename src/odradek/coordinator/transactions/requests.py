"""Requests about one transactional id, cut out of wire requests that may be about many."""

from dataclasses import dataclass

from odradek.coordinator.transactions.values import Identity
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis


@dataclass(frozen=True, slots=True)
class InitProducer:
    """InitProducerId with a transactional id; answered with an `InitProducerIdResponse`."""

    transactional_id: str
    timeout: Millis
    expected: Identity | None = None  # who it was until now, if it wants to go on (KIP-360)


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Of AddPartitionsToTxn and AddOffsetsToTxn; answered with a code."""

    transactional_id: str
    identity: Identity
    partitions: frozenset[TopicPartition]
    is_of_broker: bool = False  # a leader asks, for a producer in version 2 of transactions


@dataclass(frozen=True, slots=True)
class VerifyPartitions:
    """Of AddPartitionsToTxn, from a leader; answered with an `AddPartitionsToTxnResult`."""

    transactional_id: str
    identity: Identity
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """EndTxn; answered with an `EndTxnResponse`."""

    transactional_id: str
    identity: Identity
    is_committed: bool
    version: int = 0  # of transactions


@dataclass(frozen=True, slots=True)
class DescribeTransaction:
    """Part of DescribeTransactions; answered with a `TransactionState`."""

    transactional_id: str


TransactionRequest = (
    InitProducer | AddPartitions | VerifyPartitions | EndTransaction | DescribeTransaction
)
MAY_WAIT = (InitProducer, AddPartitions, EndTransaction)
"""Those that are answered when something is committed, or the transaction before has ended."""


def may_be_parked(request: TransactionRequest) -> bool:
    """Whether it may wait for markers. What brokers ask is about many transactions, and may not."""
    return isinstance(request, InitProducer | EndTransaction) or (
        isinstance(request, AddPartitions) and not request.is_of_broker
    )
