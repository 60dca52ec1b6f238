"""A leader that dies or gives way while an archive reads from it: the next one is read on."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.zookeeper_ours import OurZookeeper
from tests.pipelines.moving.archives import archive_of, rows_in
from tests.pipelines.moving.test_waiting import Running
from tests.pipelines.topics import Topics

COUNT: Final = 3_000
BATCH: Final = 60
TOPIC: Final = "orders"
SECONDS_MAX: Final = 60


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[list[OdradekBroker]]:
    """Two, with a topic of two partitions, each of which leads one."""
    (tmp_path / "zookeeper").mkdir()
    keeper = OurZookeeper(tmp_path / "zookeeper")
    keeper.start()
    host, port = keeper.address
    made = [
        OdradekBroker(
            tmp_path / f"broker-{number}", broker_id=str(number), zookeeper_connect=f"{host}:{port}"
        )
        for number in (1, 2)
    ]
    for it in made:
        it.start()
    admin = AdminClient({"bootstrap.servers": made[0].bootstrap})
    eventually(lambda: len(admin.list_topics(timeout=10).brokers) == 2, seconds=SECONDS_MAX)
    topic = NewTopic(TOPIC, num_partitions=2, replica_assignment=[[1, 2], [2, 1]])
    admin.create_topics([topic])[TOPIC].result(30)
    yield made
    for it in made:
        it.kill()
    keeper.stop()


def leaders(broker: OdradekBroker) -> list[int]:
    """Of both partitions, as this broker has heard; empty while one is not whole."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    found = admin.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
    is_whole = all(len(it.isrs) == 2 for it in found.values())
    return [found[number].leader for number in (0, 1)] if is_whole else []


def test_every_record_is_one_row(
    brokers: list[OdradekBroker], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One is killed between two batches of a run, and once it is back the other one stops."""
    first, second = brokers
    topics = Topics(f"{first.bootstrap},{second.bootstrap}", "leaders")
    rows = [{"value": b"%d" % it, "partition": it % 2} for it in range(COUNT)]
    topics.fill(TOPIC, rows[: COUNT // 2], acks="all")
    more = {"maxOffsetsPerTrigger": BATCH}
    job = archive_of(topics.bootstrap, TOPIC, f"delta:{tmp_path}/t", options=more)
    with caplog.at_level(logging.WARNING, "odradek.pipelines"), Running(job, caplog) as run:
        run.batch()
        first.kill()
        run.batch()
        run.batch()
        first.start()
        eventually(lambda: leaders(second), seconds=SECONDS_MAX)
        topics.fill(TOPIC, rows[COUNT // 2 :], acks="all")
        run.batch()
        second.stop()
        while len(rows_in(job.table)) < COUNT:
            run.batch()
    found = [(row[0], int(row[3] or b"")) for row in rows_in(job.table)]
    assert found == sorted((it % 2, it) for it in range(COUNT))
