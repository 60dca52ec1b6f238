"""What leaders ask of coordinators of transactions: AddPartitionsToTxn among brokers (KIP-890).

All questions of one turn of the loop to one coordinator are one request. An answer that does not
come is NETWORK_EXCEPTION: it is not known what the coordinator has done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final, TypeAlias

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import Brokers
from odradek.broker.jobs import begin
from odradek.broker.partitions.replicas.confirmations import Question, Told
from odradek.broker.timers import Timers
from odradek.coordinator.placement import partition_of
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition, by_topic
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

Asked: TypeAlias = dict[TopicPartition, list[Told]]
Local: TypeAlias = Callable[[AddPartitionsToTxnRequest], Awaitable[AddPartitionsToTxnResponse]]

NOT_ALLOWED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
"""Of this broker with the coordinator. The producer has nothing to do with it."""


class TransactionQuestions:
    """The way to the coordinators, wherever they are."""

    def __init__(
        self,
        cluster: MetadataCache,
        brokers: Brokers,
        timers: Timers,
        tasks: asyncio.TaskGroup,
        *,
        local: Local,
    ) -> None:
        """`local`: this broker's own coordinator."""
        self._local = local
        self.timers = timers
        self._cluster = cluster
        self._brokers = brokers
        self._tasks = tasks
        self._turn: dict[Question, Asked] = {}

    def ask(self, question: Question, partition: TopicPartition, told: Told) -> None:
        """Tells in a later turn."""
        if not self._turn:
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._turn.setdefault(question, {}).setdefault(partition, []).append(told)

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, {}
        by_coordinator: dict[BrokerId | None, dict[Question, Asked]] = {}
        for question, asked in turn.items():
            coordinator = self._coordinator_of(question.transactional_id)
            by_coordinator.setdefault(coordinator, {})[question] = asked
        for coordinator, questions in by_coordinator.items():
            for batch in _without_repeats(questions):
                if begin(self._tasks, self._ask(coordinator, batch)) is None:
                    _tell_all(batch, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _coordinator_of(self, transactional_id: str) -> BrokerId | None:
        image = self._cluster.image
        topic = image.topics.get(TRANSACTION_STATE_TOPIC)
        if topic is None or not topic.partitions:
            return None
        number = partition_of(transactional_id, len(topic.partitions))
        found = topic.partitions.get(number)
        return None if found is None or found.state is None else found.state.leader

    async def _ask(self, coordinator: BrokerId | None, batch: Mapping[Question, Asked]) -> None:
        try:
            response = await self._answer(coordinator, _request(batch))
        except BrokerError:
            response = AddPartitionsToTxnResponse(error_code=ErrorCode.NETWORK_EXCEPTION)
        except asyncio.CancelledError:
            _tell_all(batch, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            raise
        if response.error_code:
            code = ErrorCode(response.error_code)
            _tell_all(batch, ErrorCode.INVALID_TXN_STATE if code is NOT_ALLOWED else code)
        else:
            _tell(batch, response)

    async def _answer(
        self, coordinator: BrokerId | None, request: AddPartitionsToTxnRequest
    ) -> AddPartitionsToTxnResponse:
        if coordinator is None:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            return AddPartitionsToTxnResponse(error_code=code)
        if coordinator == self._cluster.me:
            return await self._local(request)
        response = await self._brokers.ask(coordinator, request)
        assert isinstance(response, AddPartitionsToTxnResponse), response
        return response


def _without_repeats(questions: Mapping[Question, Asked]) -> Iterator[dict[Question, Asked]]:
    """A request names each transactional id once: the answer is found by it."""
    left = dict(questions)
    while left:
        batch: dict[str, Question] = {}
        for question in left:
            batch.setdefault(question.transactional_id, question)
        yield {question: left.pop(question) for question in batch.values()}


def _request(batch: Mapping[Question, Asked]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        [
            AddPartitionsToTxnTransaction(
                question.transactional_id,
                question.producer_id,
                question.producer_epoch,
                verify_only=not question.adds,
                topics=[
                    AddPartitionsToTxnTopic(topic, numbers)
                    for topic, numbers in by_topic(asked).items()
                ],
            )
            for question, asked in batch.items()
        ]
    )


def _tell(batch: Mapping[Question, Asked], response: AddPartitionsToTxnResponse) -> None:
    """What an answer leaves out is as if it had not come."""
    codes = {
        (result.transactional_id, topic.name, row.partition_index): row.partition_error_code
        for result in response.results_by_transaction
        for topic in result.topic_results
        for row in topic.results_by_partition
    }
    for question, asked in batch.items():
        for (topic, number), told in asked.items():
            code = codes.get((question.transactional_id, topic, number))
            for tell in told:
                tell(ErrorCode.NETWORK_EXCEPTION if code is None else ErrorCode(code))


def _tell_all(batch: Mapping[Question, Asked], code: ErrorCode) -> None:
    for asked in batch.values():
        for told in asked.values():
            for tell in told:
                tell(code)
