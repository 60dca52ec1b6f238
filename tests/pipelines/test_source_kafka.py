"""The source, archives and the sink on Apache Kafka, with transactions that were aborted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.replaying.replay import Replay, replay
from odradek.pipelines.sink.options import parse
from tests.compat.broker_process import KafkaBroker
from tests.pipelines.moving.archives import archive_of, records_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.test_source_batch import both
from tests.pipelines.topics import Topics


@pytest.fixture(scope="module")
def kafka(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Kafka 3.9.1."""
    del kafka_classpath
    running = KafkaBroker(tmp_path_factory.mktemp("kafka") / "broker")
    running.start()
    yield running
    running.stop()


@pytest.fixture
def theirs(kafka: KafkaBroker, request: pytest.FixtureRequest) -> Topics:
    """Topics of Kafka's."""
    return Topics(kafka.bootstrap, request.node.name)


def in_transactions(topics: Topics, topic: str) -> None:
    """Every third transaction is aborted; plain records lie between them."""
    producer = Producer(
        {"bootstrap.servers": topics.bootstrap, "transactional.id": topic, "linger.ms": 1}
    )
    producer.init_transactions(30)
    for number in range(9):
        producer.begin_transaction()
        for it in range(20):
            producer.produce(topic, b"%d-%d" % (number, it), partition=it % 2)
        if number % 3 == 1:
            producer.flush()
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
        topics.fill_numbers(topic, 5, partition=number % 2)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_aborted_transactions(spark: Any, theirs: Topics, isolation: str) -> None:
    """Are left out of what is committed, as the connector does it."""
    topic = theirs.make(partitions=2)
    in_transactions(theirs, topic)
    options = theirs.options(topic, kafka__isolation__level=isolation)
    rows, expected = both(spark, options)
    assert len(rows) == 9 * 5 + (6 if isolation == "read_committed" else 9) * 20
    assert rows == expected


def test_an_archive_of_what_is_committed(theirs: Topics, tmp_path: Path) -> None:
    """And back into another topic of Kafka's."""
    topic, again = theirs.make(partitions=2), theirs.make("again", partitions=2)
    in_transactions(theirs, topic)
    job = archive_of(
        theirs.bootstrap,
        topic,
        f"delta:{tmp_path}/t",
        options={"kafka__isolation__level": "read_committed", "maxOffsetsPerTrigger": 50},
    )
    assert archive(LocalSpark(), job, Once()).written == 165
    assert rows_in(job.table) == records_of(theirs.bootstrap, topic, (0, 1))
    sink = parse({"kafka.bootstrap.servers": theirs.bootstrap, "topic": again})
    assert replay(LocalSpark(), Replay(job.table, sink)).sent == 165
    sent = [(p, k, v) for p, _, k, v in records_of(theirs.bootstrap, again, (0, 1))]
    assert sent == [(p, k, v) for p, _, k, v in rows_in(job.table)]
