"""`exactly_once` on Apache Kafka 3.9: it needs nothing but Kafka's protocol."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import KafkaBroker
from tests.pipelines.exactly_once_kills import kill_at_steps
from tests.pipelines.topics import Topics


@pytest.fixture
def kafka(kafka_classpath: str, tmp_path: Path) -> Iterator[KafkaBroker]:
    """One broker."""
    del kafka_classpath
    running = KafkaBroker(tmp_path / "broker")
    running.start()
    yield running
    running.stop()


def test_drivers_that_are_killed(kafka: KafkaBroker, tmp_path: Path) -> None:
    """The next one ends what it has begun; readers of committed records see the source."""
    kill_at_steps(Topics(kafka.bootstrap, "kills"), tmp_path, kills=3)
