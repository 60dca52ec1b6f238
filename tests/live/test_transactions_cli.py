"""What an operator sees of transactions, and does about one that hangs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from odradek.model.ids import NO_BROKER
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.compat.broker_process import eventually
from tests.compat.hostile import Raw
from tests.compat.java_clients import fresh
from tests.compat.odradek_shell import Shell
from tests.live.cluster import PATIENCE_SECONDS, LiveCluster

SETTINGS = {
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.partition.verification.enable": "false",
}
STRANGER = 9_999_999


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """Brokers that ask no coordinator: so a transaction may hang."""
    with LiveCluster(tmp_path_factory.mktemp("cluster"), 2, SETTINGS) as found:
        yield found


def strays(cluster: LiveCluster, topic: str) -> None:
    """A batch of a transaction of which no coordinator knows."""
    batch = build_batch(
        [Record(0, 1_700_000_000_000, None, b"stray")],
        producer_id=STRANGER,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    topics = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
    with Raw(cluster.brokers[1]) as raw:
        answer = raw.ask(ProduceRequest("stray", -1, 10_000, topics), 11)
    assert not answer.responses[0].partition_responses[0].error_code


def test_a_transaction_that_hangs_is_ended(cluster: LiveCluster, odradek: Shell) -> None:
    """One that its coordinator will end is left to it, and one that hangs is ended."""
    topic, name = fresh("orders"), fresh("mover")
    cluster.place(topic, [1], [1])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": name})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, "a", partition=0)
    producer.flush(PATIENCE_SECONDS)
    (listed,) = odradek("transaction", "list", "--state", "Ongoing").rows
    assert listed[0] == name
    (described,) = odradek("transaction", "describe", name).rows
    assert (described[4], described[7]) == ("Ongoing", f"{topic}-0")
    assert "(TRANSACTIONAL_ID_NOT_FOUND)" in odradek.fails("transaction", "describe", "nobody")
    assert ", Ongoing, " in odradek.misused("transaction", "list", "--state", "Nonsense")
    strays(cluster, topic)
    found = odradek("transaction", "producers", topic).rows
    assert [(row[2] == str(STRANGER), row[5]) for row in found] == [(False, "0"), (True, "1")]
    assert not odradek("transaction", "hanging", topic).rows  # it is too young
    ended = odradek.run("transaction", "hanging", topic, "--minutes", "0")
    assert (ended.code, [row[2] for row in ended.rows]) == (1, [str(STRANGER)])
    assert "--force" in odradek.fails("transaction", "abort", topic, "0", "0", "--yes")
    assert "no open transaction" in odradek.fails("transaction", "abort", topic, "0", "7", "--yes")
    said = odradek.fails("transaction", "abort", topic, "0", "1", code=2)
    assert said.endswith(": not done without --yes\n")
    odradek("transaction", "abort", topic, "0", "1", "--yes")
    (left,) = odradek("transaction", "producers", topic).rows
    assert left[5] == "0"
    producer.commit_transaction(PATIENCE_SECONDS)


def test_an_abort_by_epochs_that_are_none_of_it_blocks_no_producer(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """A marker's epochs become its producer's: with higher ones it could write nothing more."""
    topic = fresh("orders")
    cluster.place(topic, [1])
    how = {"bootstrap.servers": cluster.bootstrap, "transactional.id": fresh("mover")}
    producer = Producer(how)
    producer.init_transactions(PATIENCE_SECONDS)
    abort = ("kafka-transactions", "abort", "--topic", topic, "--partition", "0")
    for _ in range(2):
        producer.begin_transaction()
        producer.produce(topic, "a", partition=0)
        producer.flush(PATIENCE_SECONDS)
        (row,) = odradek("transaction", "producers", topic).rows
        number, epoch, coordinated = row[2:5]
        for named in (
            (number, str(int(epoch) + 1), coordinated),
            (number, epoch, str(int(coordinated) + 7)),
            (str(STRANGER), epoch, coordinated),
        ):
            options = ("--producer-id", "--producer-epoch", "--coordinator-epoch")
            words = [word for it in zip(options, named, strict=True) for word in it]
            assert "transaction open" in odradek.fails(*abort, *words), named
        producer.commit_transaction(PATIENCE_SECONDS)
    eventually(
        lambda: not odradek("transaction", "producers", topic).rows
    )  # its marker comes later


def test_a_partition_without_a_leader_is_named(cluster: LiveCluster, odradek: Shell) -> None:
    """What hangs in the others is found, and the exit code says that not all were asked."""
    topic = fresh("orders")
    cluster.place(topic, [1], [2])
    strays(cluster, topic)
    cluster.brokers[2].kill()
    eventually(lambda: cluster.partitions(topic)[1][0] == NO_BROKER)
    at = ("--topic", topic, "--max-transaction-timeout", "0")
    for words, producer in (
        (("transaction", "hanging", topic, "--minutes", "0"), 2),
        (("transaction", "producers", topic), 2),
        (("kafka-transactions", "find-hanging", *at), 2),
    ):
        ended = odradek.run(*words)
        assert ended.code == 1, words
        assert [row[producer].strip() for row in ended.rows] == [str(STRANGER)], words
        assert f"{topic}-1" in ended.err, words
        assert f"{topic}-0" not in ended.err, words
    cluster.brokers[2].start()
    eventually(lambda: cluster.partitions(topic)[1][0] == 2)
    odradek("transaction", "abort", topic, "0", "0", "--yes")


def test_the_level_of_transactions_is_raised_and_lowered(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """By the name of the feature, and as far as brokers know it."""
    assert cluster.brokers[1].has_process
    assert odradek("cluster", "features").rows == [["transaction.version", "0", "2"]]
    odradek("cluster", "features", "transaction.version=2")
    assert odradek("cluster", "features").rows == [["transaction.version", "2", "2"]]
    assert "levels 0 to 2" in odradek.fails("cluster", "features", "transaction.version=3")
    assert "'metadata.version'" in odradek.fails("cluster", "features", "metadata.version=7")
    odradek("cluster", "features", "transaction.version=0")
    assert odradek("cluster", "features").rows == [["transaction.version", "0", "2"]]
