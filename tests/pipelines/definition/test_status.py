"""`status` is true where a run would stop, too."""

from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition

from odradek.pipelines.definition.definition import Definition, parse
from odradek.pipelines.definition.status import status
from odradek.pipelines.moving.archive import archive
from odradek.pipelines.moving.triggers import Once
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics, now_ms

SPARK = LocalSpark()


def pipeline(bootstrap: str, topic: str, folder: Path) -> Definition:
    """Raw records into a table beside."""
    source = {
        "bootstrap-server": bootstrap,
        "topics": [topic],
        "kafka": {"default.api.timeout.ms": 3_000},
    }
    content = {"name": "p", "source": source, "table": {"location": "delta:t"}}
    return parse(content, folder)


def an_hour_old(count: int) -> list[dict[str, Any]]:
    """Rows whose records were written then."""
    return [{"value": b"n", "timestamp": now_ms() - 3_600_000}] * count


def test_a_topic_that_was_made_again(topics: Topics, tmp_path: Path) -> None:
    """The table has nothing of the new one, whatever its offsets are."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path)
    archive(SPARK, definition.archive, Once())
    found = status(definition)
    assert (found.lag, found.rows, found.standstills) == (0, 20, ())
    topics.delete(topic)
    topics.make()
    topics.fill(topic, an_hour_old(12))
    found = status(definition)
    assert (found.lag, found.rows) == (12, 20)
    assert found.waiting_seconds >= 3_600
    (sentence,) = found.standstills
    assert "deleted and created again" in sentence


def test_a_topic_whose_retention_overtook_the_table(topics: Topics, tmp_path: Path) -> None:
    """What is gone is said with its offsets; what is there still is waiting."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path)
    archive(SPARK, definition.archive, Once())
    topics.fill(topic, an_hour_old(20))
    for future in topics.admin.delete_records([TopicPartition(topic, 0, 30)]).values():
        future.result()
    found = status(definition)
    assert (found.lag, found.rows) == (20, 20)
    assert found.waiting_seconds >= 3_600
    (sentence,) = found.standstills
    assert "offset 20" in sentence
    assert "30" in sentence


def test_a_topic_that_is_gone_and_brokers_that_are_away(tmp_path: Path) -> None:
    """The lag is not known, and that is said; the table's figures are there."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "status")
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path)
    archive(SPARK, definition.archive, Once())
    topics.delete(topic)
    found = status(definition)
    assert (found.lag, found.rows) == (None, 20)
    assert "does not exist" in found.standstills[0]
    broker.stop()
    found = status(definition)
    assert (found.lag, found.rows) == (None, 20)
    assert "could be reached" in found.standstills[0]
