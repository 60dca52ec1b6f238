"""Producing finished batches idempotently: the shell around `Sequencing`."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from odradek.client.blocking.cluster import BlockingCluster, pause
from odradek.client.blocking.connection import PendingAnswer
from odradek.client.blocking.wire import now
from odradek.client.errors import NoLeader, check
from odradek.client.records.sequencing import Outgoing, Produced, ProducerIdentity, Sequencing
from odradek.client.retries import Retries
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId, ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.model.units import MIB, SECOND, Bytes, Millis
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

ACKS_ALL: Final = -1
IN_FLIGHT_MAX: Final = 5  # requests to one broker


@dataclass(frozen=True, slots=True)
class BlockingProducerSettings:
    """How batches are produced; always with acks=all."""

    idempotent: bool = True
    timeout_ms: int = 30_000  # how long a leader waits for its followers
    delivery_ms: Millis = Millis(120 * SECOND)  # how long without progress a batch is sent again
    request_bytes_max: Bytes = Bytes(4 * MIB)
    buffer_bytes_max: Bytes = Bytes(32 * MIB)  # unacknowledged; beyond them `send` waits


class InTransactions(NamedTuple):
    """Whose transactions batches belong to."""

    transactional_id: str
    identity: ProducerIdentity
    produce_version: int


class _InFlight(NamedTuple):
    """One request."""

    pending: PendingAnswer
    batches: list[Outgoing]


class BlockingProducer:
    """`send` finished batches, then `flush`. After a refusal it is of no more use."""

    def __init__(
        self,
        cluster: BlockingCluster,
        settings: BlockingProducerSettings,
        transactions: InTransactions | None = None,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._retries = Retries(now(), settings.delivery_ms)
        if transactions is None:
            self._transactional_id, self._version = None, None
            self.identity = cluster.patiently(self._take_identity)
        else:
            self._transactional_id, self.identity, self._version = transactions
        self._sequencing = Sequencing(self.identity, is_transactional=transactions is not None)
        self._in_flight: dict[BrokerId, deque[_InFlight]] = {}
        self._produced: list[Produced] = []

    def send(self, partition: TopicPartition, batch: bytearray) -> None:
        """Takes one finished batch; it is changed here (producer fields, checksum).

        Returns before it is acknowledged, unless too much waits for that already.
        """
        if not self._sequencing.unacknowledged_bytes:
            self._retries.progress(now())
        self._sequencing.add(partition, batch)
        self._send_ready()
        while self._sequencing.unacknowledged_bytes > self._settings.buffer_bytes_max:
            self._step()

    def flush(self) -> list[Produced]:
        """Returns once all is acknowledged: the batches since the last flush."""
        while self._sequencing.unacknowledged_bytes:
            self._step()
        produced, self._produced = self._produced, []
        return produced

    def _take_identity(self) -> ProducerIdentity:
        if not self._settings.idempotent:
            return ProducerIdentity()
        answer = self._cluster.any().ask(InitProducerIdRequest(None, 0))
        check(answer.error_code)
        return ProducerIdentity(
            ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch)
        )

    def _step(self) -> None:
        """Sends what may go out, and waits for the oldest answer."""
        error = self._send_ready()
        waiting = [queue[0] for queue in self._in_flight.values() if queue]
        for queue in self._in_flight.values():
            if queue:
                error = self._receive(queue) or error
        if error is not None:
            pause(self._retries.pause_after(error, now()))
        assert waiting or error, "what is not acknowledged is in flight, or could not be sent"

    def _send_ready(self) -> BrokerError | None:
        """One request for each leader as long as there are batches; why some could not go out."""
        try:
            return self._try_to_send()
        except BrokerError as error:
            if not error.code.retriable:
                raise
            return error

    def _try_to_send(self) -> BrokerError | None:
        cluster, failure = self._cluster, None
        while True:
            ready = self._sequencing.partitions()
            cluster.learn(it.topic for it in ready)
            by_leader: dict[BrokerId, list[TopicPartition]] = {}
            for partition in ready:
                try:
                    leader = cluster.metadata.leader(partition)
                except NoLeader as error:
                    cluster.forget([partition.topic])
                    failure = error
                    continue
                if len(self._in_flight.get(leader, ())) < IN_FLIGHT_MAX:
                    by_leader.setdefault(leader, []).append(partition)
            if not by_leader:
                return failure
            for leader, partitions in by_leader.items():
                self._send_to(leader, partitions)

    def _send_to(self, leader: BrokerId, partitions: list[TopicPartition]) -> None:
        connection = self._cluster.broker(leader)
        batches = self._sequencing.take(partitions, self._settings.request_bytes_max)
        topics: dict[str, list[PartitionProduceData]] = {}
        for it in batches:
            row = PartitionProduceData(it.partition.partition, it.data)
            topics.setdefault(it.partition.topic, []).append(row)
        rows = [TopicProduceData(name, partition_data=them) for name, them in topics.items()]
        request = ProduceRequest(self._transactional_id, ACKS_ALL, self._settings.timeout_ms, rows)
        try:
            pending = connection.send(request, self._version)
        except BrokerError as error:
            self._failed(batches, error)
            raise
        self._in_flight.setdefault(leader, deque()).append(_InFlight(pending, batches))

    def _receive(self, queue: deque[_InFlight]) -> BrokerError | None:
        """The oldest answer of one broker; an error that is to be mended by trying again."""
        pending, batches = queue.popleft()
        try:
            answer = pending.wait()
        except BrokerError as error:
            self._failed(batches, error)
            return error
        return self._read(answer, batches)

    def _failed(self, batches: list[Outgoing], error: BrokerError) -> None:
        """It is unknown whether they were stored: they are sent again."""
        for batch in batches:
            self._cluster.forget([batch.partition.topic])
            self._sequencing.answered(batch, error.code)

    def _read(self, answer: Any, batches: list[Outgoing]) -> BrokerError | None:
        rows = {
            TopicPartition(topic.name, row.index): row
            for topic in answer.responses
            for row in topic.partition_responses
        }
        mend: BrokerError | None = None
        refused: BrokerError | None = None
        for batch in batches:
            row = rows[batch.partition]
            outcome = self._sequencing.answered(
                batch, row.error_code, row.base_offset, row.error_message
            )
            if isinstance(outcome, Produced):
                self._produced.append(outcome)
                self._retries.progress(now())
            elif outcome is not None:
                refused = refused or outcome
            else:
                self._cluster.forget([batch.partition.topic])
                mend = mend or NoLeader(f"{batch.partition}: error {row.error_code}")
        if refused is not None:
            raise refused
        return mend
