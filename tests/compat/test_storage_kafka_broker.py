"""A real Kafka broker and our storage take turns on one data directory, and read each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.model.ids import TopicPartition
from odradek.model.positions import BrokerEpoch, Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import headers, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record, read_records
from odradek.runtime.doors.disk import SystemDisk
from odradek.runtime.doors.journal import SqliteJournal
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir, Opened
from odradek.storage.files.failures import Failures
from odradek.storage.logs.log import PartitionLog
from odradek.storage.settings import LogConfig
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.kafka import RealKafka

SECONDS_MAX = 60
NOW = Timestamp(1_700_000_000_000)
OURS = LogConfig(segment_bytes=Bytes(4_000), index_interval_bytes=Bytes(500))
THEIRS = {"segment.bytes": "4000", "index.interval.bytes": "500"}
ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
COMPLAINTS = ("corrupt", "Rebuilding", "Recovering", "not cleanly", "ERROR", "invalid")


def values(who: str, count: int) -> list[bytes]:
    """Records of which each tells who wrote it."""
    return [f"{who} {number} ".encode() * 10 for number in range(count)]


def produce(kafka: RealKafka, topic: str, wanted: list[bytes]) -> None:
    """By a producer that counts, in small compressed batches, each committed."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "enable.idempotence": True,
            "batch.num.messages": 7,
            "compression.type": "gzip",
        }
    )
    failed: list[object] = []
    for value in wanted:
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(SECONDS_MAX) == 0
    assert failed == [None] * len(wanted)


def consume(kafka: RealKafka, topic: str, expected: int) -> list[bytes]:
    """From the start of the partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    while len(found) < expected:
        messages = consumer.consume(expected - len(found), timeout=SECONDS_MAX)
        assert messages, f"only {len(found)} of {expected} came"
        for message in messages:
            assert message.error() is None
            assert message.offset() == len(found)
            found.append(message.value() or b"")
    consumer.close()
    return found


@contextmanager
def opened(path: Path) -> Iterator[tuple[LogDir, Opened]]:
    """Our own storage in this directory, let go of as it is."""
    home = LogDir(SystemDisk(str(path)), Failures())
    home.take()
    try:
        yield home, home.open(lambda _: OURS, NOW)
    finally:
        home.abandon()


def append(log: PartitionLog, wanted: list[bytes]) -> None:
    """By a producer of its own, three records a batch, in the newest epoch."""
    for start in range(0, len(wanted), 3):
        records = [Record(i, NOW, None, value) for i, value in enumerate(wanted[start : start + 3])]
        batch = build_batch(records, producer_id=9_000, producer_epoch=0, base_sequence=start)
        log.append(batch, read_header(batch), log.epochs.latest, NOW)
        job = log.take_job()
        assert job is not None
        job.run()
        job.publish()
    log.on_high_watermark(log.log_end_offset)


def read(log: PartitionLog) -> list[bytes]:
    """Every record, in the order of the offsets, which leave none out."""
    found: list[bytes] = []
    at = log.log_start_offset
    while at < log.log_end_offset:
        chunk = log.read(at, log.log_end_offset, 4_000, at_least_one=True).chunk
        assert chunk is not None
        data = chunk.file.read(chunk.length, chunk.position)
        for position, header in headers(data):
            for record in read_records(data, header, position):
                assert record.offset == len(found)
                found.append(record.value or b"")
            at = Offset(header.next_offset)
    return found


@pytest.fixture
def kafka(kafka_classpath: str, our_zookeeper: OurZookeeper, tmp_path: Path) -> Iterator[RealKafka]:
    """A broker with two topics, whose data are in `data` beside its log."""
    host, port = our_zookeeper.address
    kafka = RealKafka(kafka_classpath, tmp_path, f"{host}:{port}/takes-turns")
    kafka.start()
    try:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        topics = [NewTopic(it.topic, 1, 1, config=THEIRS) for it in (ORDERS, PAYMENTS)]
        for done in admin.create_topics(topics).values():
            done.result(SECONDS_MAX)
        yield kafka
    finally:
        kafka.kill()


def test_kafka_and_we_take_turns(kafka: RealKafka, tmp_path: Path) -> None:
    """Clean stops are believed on both sides, and after a kill everything acknowledged is there."""
    orders, payments = values("theirs", 300), values("ours", 200)
    produce(kafka, ORDERS.topic, orders)
    kafka.stop()

    with opened(tmp_path / "data") as (home, found):
        assert found.clean
        assert not found.repairs
        assert len(home.logs[ORDERS].segments) > 1
        assert read(home.logs[ORDERS]) == orders
        append(home.logs[ORDERS], values("ours", 100))
        orders += values("ours", 100)
        replaced = home.logs.pop(PAYMENTS)
        how = InDir(OURS, replaced.topic_id)
        rmtree(tmp_path / "data" / str(PAYMENTS))
        log = home.logs[PAYMENTS] = home.create(PAYMENTS, str(PAYMENTS), how, NOW)
        append(log, payments)
        home.closing(NOW, BrokerEpoch(1)).run()

    SqliteJournal(tmp_path / "data").close()  # of an embedded ZooKeeper, where it lies by default
    said_before = len(kafka.log())
    kafka.start()
    assert consume(kafka, ORDERS.topic, len(orders)) == orders
    assert consume(kafka, PAYMENTS.topic, len(payments)) == payments
    said = kafka.log()[said_before:]
    assert not [line for line in said.splitlines() if any(it in line for it in COMPLAINTS)]
    produce(kafka, ORDERS.topic, values("theirs again", 200))
    orders += values("theirs again", 200)
    kafka.kill()

    with opened(tmp_path / "data") as (home, found):
        assert not found.clean
        assert all(repair.first_lost_offset is None for repair in found.repairs)
        assert read(home.logs[ORDERS]) == orders
        assert read(home.logs[PAYMENTS]) == payments
