"""A transaction of our coordinator that Kafka 3.9 ends, and one of Kafka's that ours ends."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from confluent_kafka import ElectionType, TopicPartition

from odradek.model.errors import ErrorCode
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.wire.messages.end_txn import EndTxnRequest
from tests.compat.broker_process import eventually
from tests.compat.hostile import Raw
from tests.live.cluster import PATIENCE_SECONDS, LiveCluster
from tests.live.test_kafka_coordinator import (
    ASK_AGAIN,
    ID,
    KAFKA,
    OURS,
    SETTINGS,
    Copier,
    read_committed,
)

UNBALANCED: Final = {**SETTINGS, "auto.leader.rebalance.enable": "false"}
"""Leaders change when the test wants it: Kafka's controller looks after its first five seconds."""


def ended(copier: Copier) -> None:
    """Committed, once the new coordinator has read what the one before has left."""

    def is_decided() -> bool:
        answer = copier.kafka.ask(EndTxnRequest(ID, *copier.me, committed=True), 3)
        code = ErrorCode(answer.error_code)
        assert code in ASK_AGAIN or not code, code
        return not code

    eventually(is_decided, seconds=PATIENCE_SECONDS, what="nobody ends it")


def leads(cluster: LiveCluster, broker: int) -> None:
    """The state topic is led by this one."""
    eventually(
        lambda: cluster.partitions(TRANSACTION_STATE_TOPIC)[0][0] == broker,
        seconds=PATIENCE_SECONDS,
        what=f"{broker} does not lead",
    )


def test_each_ends_what_the_other_has_begun(kafka_classpath: str, tmp_path: Path) -> None:
    """With the same ids and epochs: state records are read by both, markers taken by both."""
    with LiveCluster(tmp_path, 0, UNBALANCED) as cluster, ExitStack() as stack:
        kafka_broker = cluster.add_kafka(KAFKA, kafka_classpath)
        cluster.add(OURS)
        compact = {"cleanup.policy": "compact"}
        cluster.place(TRANSACTION_STATE_TOPIC, [OURS, KAFKA], **compact)
        cluster.place(GROUP_METADATA_TOPIC, [KAFKA], **compact)
        cluster.place("orders", [KAFKA], [KAFKA])
        kafka = stack.enter_context(Raw(kafka_broker))
        copier = Copier(stack.enter_context(Raw(cluster.brokers[OURS])), kafka)
        copier.begin()
        copier.add(0)
        assert copier.send(0, b"a", 11) is ErrorCode.NONE  # Kafka has asked us
        cluster.brokers[OURS].kill()
        leads(cluster, KAFKA)
        copier.kafka = kafka
        ended(copier)
        cluster.brokers[OURS].start()
        cluster.await_isr(TRANSACTION_STATE_TOPIC, 2)
        copier.add(0, 1)
        assert copier.send(0, b"b", 11) is ErrorCode.NONE
        assert copier.send(1, b"c", 11) is ErrorCode.NONE
        where = [TopicPartition(TRANSACTION_STATE_TOPIC, 0)]
        admin = cluster.admin()
        admin.elect_leaders(ElectionType.PREFERRED, where).result(PATIENCE_SECONDS)
        leads(cluster, OURS)
        copier.kafka = stack.enter_context(Raw(cluster.brokers[OURS]))
        ended(copier)
        assert read_committed(kafka_broker.bootstrap, 3) == [b"a", b"b", b"c"]
