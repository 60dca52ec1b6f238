"""A real Kafka 3.9 broker in one cluster with ours: as leader, as follower, as controller of us."""

from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from tests.live.cluster import PATIENCE_SECONDS, LiveCluster
from tests.live.workload import SteadyProducer, check_kept, check_once, read_all

KAFKA: Final = 3
SETTINGS: Final = {
    "default.replication.factor": "2",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",  # Kafka and ours must agree on which partition has a group
    "zookeeper.session.timeout.ms": "1500",
    "replica.fetch.wait.max.ms": "100",
}
PLACES: Final = ([1, 3], [3, 1], [2, 3], [3, 2])
TOPICS: Final = ("plain", "idempotent")


def commit(cluster: LiveCluster, offset: int) -> None:
    """As a group of its own."""
    with group(cluster) as consumer:
        where = TopicPartition("plain", 0, offset)
        consumer.commit(offsets=[where], asynchronous=False)


def committed(cluster: LiveCluster) -> int:
    """What the group finds."""
    with group(cluster) as consumer:
        (found,) = consumer.committed([TopicPartition("plain", 0)], timeout=PATIENCE_SECONDS)
        offset: int = found.offset
        return offset


def group(cluster: LiveCluster) -> Consumer:
    """One of its members, which subscribes to nothing."""
    return Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "readers"})


def test_kafka_and_we_lead_follow_and_control_one_another(
    kafka_classpath: str, tmp_path: Path
) -> None:
    """Every broker dies once under each controller, and each log is the same everywhere."""
    with LiveCluster(tmp_path, 0, SETTINGS) as cluster:
        kafka = cluster.add_kafka(KAFKA, kafka_classpath)
        cluster.add(1, 2)
        for topic in TOPICS:
            cluster.place(topic, *PLACES)
        assert cluster.controller() == KAFKA
        bootstrap = cluster.bootstrap
        with (
            SteadyProducer(bootstrap, "plain", 4) as plain,
            SteadyProducer(bootstrap, "idempotent", 4, **{"enable.idempotence": True}) as counting,
        ):
            commit(cluster, 5)
            cluster.brokers[1].kill()
            cluster.await_gone(1, *TOPICS)
            cluster.brokers[1].start()
            cluster.await_isr(*TOPICS, 2)
            cluster.brokers[2].stop()
            cluster.await_gone(2, *TOPICS)
            cluster.brokers[2].start()
            cluster.await_isr(*TOPICS, 2)
            assert cluster.controller() == KAFKA
            kafka.kill()
            cluster.await_gone(KAFKA, *TOPICS)
            kafka.start()
            cluster.await_isr(*TOPICS, 2)
            assert cluster.controller() != KAFKA
            assert committed(cluster) == 5
            plain.stop()
            counting.stop()
        for topic, producer in zip(TOPICS, (plain, counting), strict=True):
            assert not producer.failed
            found = read_all(bootstrap, topic, 4)
            check_kept(producer, found)
            if producer is counting:
                check_once(found)
        cluster.check_replicas_equal(*TOPICS)
