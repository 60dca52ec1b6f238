"""Transactions as operators see them: at their coordinators, in partitions, and those that hang.

A transaction hangs (KIP-664) where a partition has it open and no coordinator will ever end it
there: none knows its producer, or the transaction that it knows is another one.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.coordinators import TRANSACTION
from odradek.client.errors import Refused, UnreadableLog, check
from odradek.model.errors import BrokerError, ErrorCode, UnsupportedVersion
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Timestamp
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    TransactionState,
)
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
MARKERS_VERSION: Final = 1  # as every Kafka knows it: at the epoch of the open transaction


class Listed(NamedTuple):
    """A transactional id."""

    transactional_id: str
    coordinator: BrokerId
    producer_id: int
    state: str


class ListedTransactions(NamedTuple):
    """By id, and who cannot read the logs of others."""

    found: list[Listed]
    unreadable: list[UnreadableLog]


class OpenTransaction(NamedTuple):
    """In one partition."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp: Timestamp


class Looked(NamedTuple):
    """What is open, and the partitions that could not be asked, with why."""

    found: list[OpenTransaction]
    not_asked: dict[TopicPartition, BrokerError]


class NothingOpen(BrokerError):
    """The transaction has ended meanwhile; there may be another one of its producer."""

    code = ErrorCode.INVALID_TXN_STATE


async def list_transactions(
    cluster: Cluster,
    states: Sequence[str] = (),
    producers: Sequence[int] = (),
    *,
    longer_than: int = -1,
) -> list[Listed]:
    """Those of every coordinator, and of none if some cannot be read.

    With `longer_than` those that have been open for more than so many milliseconds.
    """

    async def attempt() -> list[Listed]:
        await cluster.refresh([])
        request = ListTransactionsRequest(states, producers, longer_than)
        told = await transactions_of(cluster, sorted(cluster.brokers), request)
        if told.unreadable:
            raise told.unreadable[0]
        return told.found

    return await cluster.patiently(attempt)


async def transactions_of(
    cluster: Cluster, brokers: Iterable[BrokerId], request: ListTransactionsRequest
) -> ListedTransactions:
    """Those that these brokers coordinate, all of which are asked at the same time."""

    async def of(broker: BrokerId) -> tuple[list[Listed], UnreadableLog | None]:
        answer = await (await cluster.broker(broker)).ask(request)
        is_unreadable = answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        if not is_unreadable:
            check(answer.error_code)
        if answer.unknown_state_filters:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"no state {answer.unknown_state_filters[0]!r}"
            )
        rows = [
            Listed(it.transactional_id, broker, it.producer_id, it.transaction_state)
            for it in answer.transaction_states
        ]
        return rows, UnreadableLog(broker, "transactional ids") if is_unreadable else None

    told = await asyncio.gather(*map(of, brokers))
    return ListedTransactions(
        sorted(it for rows, _ in told for it in rows),
        [it for _, it in told if it is not None],
    )


async def describe(cluster: Cluster, transactional_id: str) -> TransactionState:
    """What its coordinator knows of it."""
    request = DescribeTransactionsRequest([transactional_id])
    answer = await cluster.ask_coordinator(transactional_id, request, TRANSACTION)
    state: TransactionState = answer.transaction_states[0]
    check(state.error_code, about=repr(transactional_id))
    return state


async def started(cluster: Cluster) -> dict[str, Timestamp]:
    """When each transaction began that is open, or decided and not complete, by its id."""
    listed = await list_transactions(cluster, OPEN_STATES)
    states = await asyncio.gather(*(_known(cluster, it.transactional_id) for it in listed))
    return {
        it.transactional_id: Timestamp(it.transaction_start_time_ms)
        for it in states
        if it is not None and it.transaction_state in OPEN_STATES
    }


async def open_in(cluster: Cluster, partition: TopicPartition) -> list[OpenTransaction]:
    """Those that a partition has open, the one behind which readers wait first."""
    request = DescribeProducersRequest([TopicRequest(partition.topic, [partition.partition])])
    answer = await (await cluster.leader(partition)).ask(request)
    found = answer.topics[0].partitions[0]
    check(found.error_code, found.error_message, about=str(partition))
    return sorted(
        (
            OpenTransaction(
                partition,
                row.producer_id,
                row.producer_epoch,
                row.coordinator_epoch,
                row.current_txn_start_offset,
                Timestamp(row.last_timestamp),
            )
            for row in found.active_producers
            if row.current_txn_start_offset >= 0
        ),
        key=lambda it: it.start_offset,
    )


async def hanging(
    cluster: Cluster, partitions: Iterable[TopicPartition], before: Timestamp
) -> Looked:
    """Of those without a record since this moment, the ones that no coordinator will end.

    Who is in no list of a coordinator is looked for twice: the first time the transaction may have
    ended since its partition was asked, or its id may have changed its coordinator meanwhile.
    """
    first = await open_in_all(cluster, partitions)
    late = [it for it in first.found if it.last_timestamp < before]
    unknown = await _without_coordinator(cluster, late)
    again = await open_in_all(cluster, sorted({it.partition for it in unknown}))
    starts = {(it.partition, it.producer_id, it.start_offset) for it in again.found}
    left = [it for it in unknown if (it.partition, it.producer_id, it.start_offset) in starts]
    return Looked(await _without_coordinator(cluster, left), {**first.not_asked, **again.not_asked})


async def open_in_all(cluster: Cluster, partitions: Iterable[TopicPartition]) -> Looked:
    """Those of several partitions; one that cannot be asked is passed over."""
    looked = Looked([], {})
    for partition in partitions:
        try:
            looked.found.extend(await open_in(cluster, partition))
        except BrokerError as error:
            looked.not_asked[partition] = error
    return looked


async def _without_coordinator(
    cluster: Cluster, suspects: Sequence[OpenTransaction]
) -> list[OpenTransaction]:
    """Those whose partition no coordinator has in a transaction of their producer."""
    if not suspects:
        return []
    producers = sorted({it.producer_id for it in suspects})
    listed = await list_transactions(cluster, producers=producers)
    states = await asyncio.gather(*(_known(cluster, it.transactional_id) for it in listed))
    known = {
        (state.producer_id, topic.topic, number)
        for state in states
        if state is not None
        for topic in state.topics
        for number in topic.partitions
    }
    return [it for it in suspects if (it.producer_id, *it.partition) not in known]


async def _known(cluster: Cluster, transactional_id: str) -> TransactionState | None:
    """None: it has expired since it was listed."""
    try:
        return await describe(cluster, transactional_id)
    except Refused as refusal:
        if refusal.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise
        return None


async def abort(cluster: Cluster, it: OpenTransaction) -> None:
    """Ends it in its partition: its leader is sent the marker that no coordinator sends.

    The marker names the producer alone, so it is looked first whether it is still that transaction.
    """
    now = await open_in(cluster, it.partition)
    if not any(one._replace(last_timestamp=it.last_timestamp) == it for one in now):
        raise NothingOpen(
            f"{it.partition}: no transaction is open from offset {it.start_offset} on"
        )
    await _end(cluster, it)


async def abort_named(
    cluster: Cluster, partition: TopicPartition, producer_id: int, epochs: tuple[int, int]
) -> None:
    """Likewise, by its producer and the epochs of producer and coordinator.

    These are a marker's, and become those of the producer in this partition: where one is too high,
    what the producer or its coordinator write there is refused from then on. So they must be those
    of what is open. A broker that cannot say what is open, a Kafka before 3.0, is sent the marker.
    """
    producer_epoch, coordinator_epoch = epochs
    named = OpenTransaction(
        partition, producer_id, producer_epoch, max(coordinator_epoch, 0), -1, Timestamp(-1)
    )
    try:
        known = await open_in(cluster, partition)
    except UnsupportedVersion:
        await _end(cluster, named)
        return
    found = next((it for it in known if it.producer_id == producer_id), None)
    if found is None:
        raise NothingOpen(f"{partition}: producer {producer_id} has no transaction open")
    theirs = found.producer_epoch, max(found.coordinator_epoch, 0)
    if theirs != (named.producer_epoch, named.coordinator_epoch):
        raise NothingOpen(
            f"{partition}: producer {producer_id} has a transaction open with producer epoch "
            f"{found.producer_epoch} and coordinator epoch {found.coordinator_epoch}, and no other"
        )
    await _end(cluster, found)


async def _end(cluster: Cluster, it: OpenTransaction) -> None:
    """Whatever the partition has open."""
    marker = WritableTxnMarker(
        it.producer_id,
        it.producer_epoch,
        False,  # noqa: FBT003 - the field of a message
        [WritableTxnMarkerTopic(it.partition.topic, [it.partition.partition])],
        max(it.coordinator_epoch, 0),
    )
    connection = await cluster.leader(it.partition)
    answer = await connection.ask(WriteTxnMarkersRequest([marker]), MARKERS_VERSION)
    (row,) = answer.markers[0].topics[0].partitions
    check(row.error_code, about=str(it.partition))
