"""AddPartitionsToTxn (key 24), versions 0 to 5: where a transaction will have records.

Up to v3 a producer asks, and waits if the transaction before is still being ended. One partition
that does not exist, or that its client may not write to, and none is added: the others are answered
OPERATION_NOT_ATTEMPTED. From v4 on brokers ask, about many transactions: whether each has the
partitions, or that it shall have them (KIP-890). They are answered at once.
v2 PRODUCER_FENCED. v3 flexible. v5 TRANSACTION_ABORTABLE.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from odradek.broker.access.authorizer import NotAuthorized
from odradek.broker.access.need import REFUSALS, Served
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.coordinators.transaction_coordinator import TransactionCoordinator
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.transactions import identity_of, known_code
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.transactions import answers
from odradek.coordinator.transactions.requests import AddPartitions, VerifyPartitions
from odradek.coordinator.transactions.values import Identity
from odradek.metadata.image import ClusterImage
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.names import INTERNAL_TOPICS
from odradek.model.positions import ProducerEpoch
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

OF_BROKERS_SINCE: Final = 4
FENCED_SINCE: Final = 2
WRITE: Final = Operation.WRITE
Codes = dict[TopicPartition, ErrorCode]


def handle(services: Services, pending: PendingRequest, request: AddPartitionsToTxnRequest) -> None:
    """Each transaction where it is coordinated."""
    if pending.version >= OF_BROKERS_SINCE:
        _handle_of_broker(services, pending, request)
    else:
        _handle_of_client(services, pending, request)


async def serve_own(
    transactions: TransactionCoordinator, cluster: MetadataCache, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Of this broker's own partitions."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[AddPartitionsToTxnResponse] = loop.create_future()
    batch = _Batch(cluster.image, request.transactions)

    def answer(found: list[Any]) -> None:
        if not future.done():
            future.set_result(batch.response(found))

    transactions.ask_own(batch.parts, answer)
    return await future


def _handle_of_broker(
    services: Services, pending: PendingRequest, request: AddPartitionsToTxnRequest
) -> None:
    if services.access is not None:
        services.access.check_cluster(pending.connection, Operation.CLUSTER_ACTION)
    batch = _Batch(services.cluster.image, request.transactions)
    services.transactions.ask(
        pending, batch.parts, lambda found: pending.answer(batch.response(found))
    )


def _handle_of_client(
    services: Services, pending: PendingRequest, request: AddPartitionsToTxnRequest
) -> None:
    name = request.v3_and_below_transactional_id
    partitions = _partitions(request.v3_and_below_topics)
    access = services.access
    if access is not None and not access.may(
        pending.connection, WRITE, ResourceType.TRANSACTIONAL_ID, name
    ):
        raise NotAuthorized(ResourceType.TRANSACTIONAL_ID)
    wrong = _missing(services.cluster.image, partitions) | _forbidden(services, pending, partitions)
    if wrong:
        pending.answer(_of_client(name, _not_attempted(partitions, wrong)))
        return
    identity = Identity(
        ProducerId(request.v3_and_below_producer_id),
        ProducerEpoch(request.v3_and_below_producer_epoch),
    )
    asked = AddPartitions(name, identity, frozenset(partitions))

    def answer(found: list[ErrorCode]) -> None:
        code = ErrorCode(known_code(found[0], pending.version, FENCED_SINCE))
        pending.answer(_of_client(name, dict.fromkeys(partitions, code)))

    services.transactions.ask(pending, ((name, asked),), answer)


class _Batch:
    """What a broker asks of many transactions at once."""

    def __init__(
        self, image: ClusterImage, transactions: Sequence[AddPartitionsToTxnTransaction]
    ) -> None:
        self.parts: list[tuple[str, AddPartitions | VerifyPartitions]] = []
        self._refused: list[AddPartitionsToTxnResult] = []
        for it in transactions:
            name, partitions = it.transactional_id, _partitions(it.topics)
            missing = _missing(image, partitions)
            if missing:
                codes = _not_attempted(partitions, missing)
                self._refused.append(answers.results(name, codes))
                continue
            asked: AddPartitions | VerifyPartitions
            if it.verify_only:
                asked = VerifyPartitions(name, identity_of(it), frozenset(partitions))
            else:
                asked = AddPartitions(
                    name, identity_of(it), frozenset(partitions), is_of_broker=True
                )
            self.parts.append((name, asked))

    def response(
        self, found: Sequence[AddPartitionsToTxnResult | ErrorCode]
    ) -> AddPartitionsToTxnResponse:
        """Each transaction's answer."""
        results = [
            answers.results(name, dict.fromkeys(sorted(asked.partitions), it))
            if isinstance(it, ErrorCode)
            else it
            for (name, asked), it in zip(self.parts, found, strict=True)
        ]
        return AddPartitionsToTxnResponse(results_by_transaction=[*results, *self._refused])


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, number) for topic in topics for number in topic.partitions]


def _missing(image: ClusterImage, partitions: Iterable[TopicPartition]) -> Codes:
    return {
        it: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for it in partitions if image.partition(it) is None
    }


def _forbidden(
    services: Services, pending: PendingRequest, partitions: Iterable[TopicPartition]
) -> Codes:
    """Those of topics that the client may not write to; no client may write to internal ones."""
    access = services.access
    topics = dict.fromkeys(it.topic for it in partitions)
    may = {
        topic: topic not in INTERNAL_TOPICS
        and (access is None or access.may(pending.connection, WRITE, ResourceType.TOPIC, topic))
        for topic in topics
    }
    return {it: REFUSALS[ResourceType.TOPIC] for it in partitions if not may[it.topic]}


def _not_attempted(partitions: Iterable[TopicPartition], wrong: Codes) -> Codes:
    return {it: wrong.get(it, ErrorCode.OPERATION_NOT_ATTEMPTED) for it in partitions}


def _of_client(name: str, codes: Codes) -> AddPartitionsToTxnResponse:
    results = answers.results(name, codes)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results.topic_results)


def refuse(
    request: AddPartitionsToTxnRequest, version: int, code: ErrorCode, message: str
) -> AddPartitionsToTxnResponse:
    """The code for each partition; for brokers as a whole."""
    del message
    if version >= OF_BROKERS_SINCE:
        return AddPartitionsToTxnResponse(error_code=code)
    codes = dict.fromkeys(_partitions(request.v3_and_below_topics), code)
    return _of_client(request.v3_and_below_transactional_id, codes)


API: Final = Api(
    key=24,
    versions=range(6),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(WRITE, ResourceType.TRANSACTIONAL_ID, "refused; up to version 3"),
        Served(WRITE, ResourceType.TOPIC, "none is added; up to version 3"),
        Served(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, "refused; from version 4 on"),
    ),
)
