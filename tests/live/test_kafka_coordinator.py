"""Transactions whose coordinator is a Kafka 3.9 broker, in partitions and groups that we lead."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from odradek.model.errors import ErrorCode
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.compat.broker_process import eventually
from tests.compat.hostile import Raw
from tests.live.cluster import PATIENCE_SECONDS, LiveCluster

KAFKA: Final = 3
OURS: Final = 1
ID: Final = "copier"
GROUP: Final = "readers"
SETTINGS: Final = {
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
    "zookeeper.session.timeout.ms": "3000",
}
ASK_AGAIN: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


class Identity(NamedTuple):
    """Of a transactional producer."""

    producer_id: int
    epoch: int


class Copier:
    """A producer in version 1 of transactions: its coordinator is Kafka, its leader ours."""

    def __init__(self, kafka: Raw, ours: Raw) -> None:
        self.kafka, self.ours = kafka, ours
        self.me = Identity(-1, -1)
        self.sequences: dict[int, int] = {}

    def begin(self) -> None:
        """An id, once the coordinator is there."""

        def is_given() -> bool:
            answer = self.kafka.ask(InitProducerIdRequest(ID, 60_000), 4)
            code = ErrorCode(answer.error_code)
            assert code in ASK_AGAIN or not code, code
            self.me = Identity(answer.producer_id, answer.producer_epoch)
            return not code

        eventually(is_given, seconds=PATIENCE_SECONDS, what="there is no coordinator")

    def add(self, *partitions: int) -> None:
        """AddPartitionsToTxn, as clients send it."""
        topics = [AddPartitionsToTxnTopic("orders", list(partitions))]

        def is_added() -> bool:
            request = AddPartitionsToTxnRequest((), ID, *self.me, topics)
            (topic,) = self.kafka.ask(request, 3).results_by_topic_v3_and_below
            codes = {ErrorCode(row.partition_error_code) for row in topic.results_by_partition}
            assert codes <= ASK_AGAIN | {ErrorCode.NONE}, codes
            return codes == {ErrorCode.NONE}

        eventually(is_added, seconds=PATIENCE_SECONDS, what="the last one does not end")

    def send(self, partition: int, value: bytes, version: int = 11) -> ErrorCode:
        """One record."""
        sequence = self.sequences.get(partition, 0)
        batch = build_batch(
            [Record(0, 1_700_000_000_000, None, value)],
            producer_id=self.me.producer_id,
            producer_epoch=self.me.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        topics = [
            TopicProduceData("orders", partition_data=[PartitionProduceData(partition, batch)])
        ]
        answer = self.ours.ask(ProduceRequest(ID, -1, 10_000, topics), version)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if not code:
            self.sequences[partition] = sequence + 1
        return code

    def commit_offset(self, offset: int) -> ErrorCode:
        """AddOffsetsToTxn, then TxnOffsetCommit."""
        added = self.kafka.ask(AddOffsetsToTxnRequest(ID, *self.me, GROUP), 3)
        assert not added.error_code
        return self.commit_alone(offset)

    def commit_alone(self, offset: int) -> ErrorCode:
        """TxnOffsetCommit, whether it was added or not."""
        rows = [TxnOffsetCommitRequestPartition(0, offset)]
        topics = [TxnOffsetCommitRequestTopic("orders", rows)]
        request = TxnOffsetCommitRequest(ID, GROUP, *self.me, topics=topics)
        answer = self.ours.ask(request, 4)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, *, committed: bool) -> None:
        """EndTxn: it is decided."""
        answer = self.kafka.ask(EndTxnRequest(ID, *self.me, committed), 3)
        assert not answer.error_code


def stable_offset(ours: Raw) -> int:
    """Of the group, once nothing is undecided."""
    found: list[int] = []

    def is_stable() -> bool:
        wanted = OffsetFetchRequestTopics("orders", partition_indexes=[0])
        group = OffsetFetchRequestGroup(GROUP, topics=[wanted])
        answer = ours.ask(OffsetFetchRequest(groups=[group], require_stable=True), 8)
        row = answer.groups[0].topics[0].partitions[0]
        found.append(row.committed_offset)
        return not row.error_code

    eventually(is_stable, seconds=PATIENCE_SECONDS, what="an offset stays undecided")
    return found[-1]


def raised(ours: Raw) -> ErrorCode:
    """What is said to a level of transactions that no Kafka bears."""
    update = FeatureUpdateKey("transaction.version", 2)
    answer = ours.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
    return ErrorCode(answer.results[0].error_code)


def read_committed(bootstrap: str, count: int) -> list[bytes]:
    """As many committed records of both partitions as there shall be, and what else is there."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "anybody",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }
    consumer = Consumer(settings)
    found: list[bytes] = []
    try:
        consumer.assign([TopicPartition("orders", number, 0) for number in range(2)])

        def are_there() -> bool:
            found.extend(it.value() for it in consumer.consume(100, 0.5))
            return len(found) >= count

        eventually(are_there, seconds=PATIENCE_SECONDS, what="records stay undecided")
        found.extend(it.value() for it in consumer.consume(100, 1.0))
    finally:
        consumer.close()
    return sorted(found)


def test_a_kafka_coordinator_ends_transactions_where_we_lead(
    kafka_classpath: str, tmp_path: Path
) -> None:
    """We ask it before we take a batch, and take its markers: for records and for groups."""
    with LiveCluster(tmp_path, 0, SETTINGS) as cluster, ExitStack() as stack:
        kafka_broker = cluster.add_kafka(KAFKA, kafka_classpath)
        cluster.add(OURS)
        cluster.place(TRANSACTION_STATE_TOPIC, [KAFKA], **{"cleanup.policy": "compact"})
        cluster.place(GROUP_METADATA_TOPIC, [OURS], **{"cleanup.policy": "compact"})
        cluster.place("orders", [OURS], [OURS])
        kafka = stack.enter_context(Raw(kafka_broker))
        ours = stack.enter_context(Raw(cluster.brokers[OURS]))
        assert raised(ours) is ErrorCode.FEATURE_UPDATE_FAILED  # the Kafka would end itself
        copier = Copier(kafka, ours)
        copier.begin()
        copier.add(0)
        assert copier.send(0, b"a") is ErrorCode.NONE
        assert copier.send(1, b"never") is ErrorCode.TRANSACTION_ABORTABLE
        assert copier.send(1, b"never", 10) is ErrorCode.INVALID_TXN_STATE
        assert copier.commit_alone(5) is ErrorCode.TRANSACTION_ABORTABLE
        assert copier.commit_offset(5) is ErrorCode.NONE
        copier.add(1)
        assert copier.send(1, b"b") is ErrorCode.NONE
        copier.end(committed=True)
        assert stable_offset(ours) == 5
        copier.add(0, 1)
        assert copier.send(0, b"aborted") is ErrorCode.NONE
        assert copier.send(1, b"aborted") is ErrorCode.NONE
        assert copier.commit_offset(6) is ErrorCode.NONE
        copier.end(committed=False)
        assert stable_offset(ours) == 5
        ghost = Copier(kafka, ours)
        ghost.me, ghost.sequences = copier.me, dict(copier.sequences)
        copier.begin()
        copier.sequences.clear()
        copier.add(0)
        assert ghost.send(0, b"ghost") is ErrorCode.INVALID_PRODUCER_EPOCH
        assert copier.send(0, b"c") is ErrorCode.NONE
        copier.end(committed=True)
        assert read_committed(cluster.brokers[OURS].bootstrap, 3) == [b"a", b"b", b"c"]
