"""Batches both ways between us and the clients of Python: librdkafka, aiokafka, kafka-python.

First what their builders make and read; then what the clients really send to a broker, and what
they make of the batches that it serves them.
"""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import aiokafka
import confluent_kafka
import cramjam
import pytest
from aiokafka.record import default_records as aio_batches
from aiokafka.record import legacy_records as aio_sets

from odradek.records.batch import (
    TimestampType,
    check_crc,
    headers,
    place,
    read_header,
)
from odradek.records.build import build_batch, rebuild_batch
from odradek.records.compression import Codec
from odradek.records.control import EndMarker, build_end_marker
from odradek.records.legacy import convert_up, is_legacy, read_message_set
from odradek.records.record import Record, read_records
from odradek.records.validate import check_produced, check_records
from tests.compat.records_broker import RecordsBroker

kafka = pytest.importorskip("kafka")  # which on some Pythons warns while it is imported
kp_batches = pytest.importorskip("kafka.record.default_records")
kp_sets = pytest.importorskip("kafka.record.legacy_records")
pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

CODECS: Final = pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name.lower())
OLD_FORMS: Final = [
    (0, Codec.NONE),
    (0, Codec.GZIP),
    (0, Codec.SNAPPY),  # lz4 in magic 0 needs another library in both; Java writes it
    (1, Codec.NONE),
    (1, Codec.GZIP),
    (1, Codec.SNAPPY),
    (1, Codec.LZ4),
]

RECORDS: Final = [
    Record(0, 1_700_000_000_000, b"key", b"value", ((b"trace", b"\x00\xff"),)),
    Record(1, 1_700_000_000_500, None, b"no key"),
    Record(2, 1_699_999_999_000, b"deleted", None, ((b"a", b""), (b"a", b"again"))),
    Record(3, 1_700_000_000_000, b"", b""),
    *(Record(i, 1_700_000_000_000 + i, b"key-%d" % i, b"value " * i) for i in range(4, 200)),
]
PLAIN: Final = [Record(r.offset, r.timestamp, r.key, r.value) for r in RECORDS]


@pytest.fixture(autouse=True)
def _snappy_for_kafka_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for a package that is a wrapper around cramjam; cramjam does as well."""
    raw = SimpleNamespace(
        compress=lambda data: bytes(cramjam.snappy.compress_raw(data)),
        decompress=lambda data: bytes(cramjam.snappy.decompress_raw(bytes(data))),
    )
    monkeypatch.setattr("kafka.codec.snappy", raw)


def text_headers(record: Record) -> list[tuple[str, bytes | None]]:
    """As the clients have them."""
    return [(key.decode(), value) for key, value in record.headers]


def as_record(theirs: Any) -> Record:
    """A record as aiokafka and kafka-python have it, as ours."""
    pairs = tuple((key.encode(), value) for key, value in theirs.headers)
    return Record(theirs.offset, theirs.timestamp, theirs.key, theirs.value, pairs)


BUILDERS: Final = {
    "aiokafka": aio_batches.DefaultRecordBatchBuilder,
    "kafka-python": kp_batches.DefaultRecordBatchBuilder,
}
READERS: Final = {
    "aiokafka": aio_batches.DefaultRecordBatch,
    "kafka-python": kp_batches.DefaultRecordBatch,
}
OLD_BUILDERS: Final = {
    "aiokafka": aio_sets.LegacyRecordBatchBuilder,
    "kafka-python": kp_sets.LegacyRecordBatchBuilder,
}


@pytest.mark.parametrize("library", BUILDERS)
@CODECS
def test_what_their_builders_make_is_read(library: str, codec: Codec) -> None:
    """Every record, and every number of the producer's."""
    builder = BUILDERS[library](
        magic=2,
        compression_type=codec,
        is_transactional=True,
        producer_id=77,
        producer_epoch=3,
        base_sequence=5,
        batch_size=1 << 20,
    )
    for r in RECORDS:
        builder.append(r.offset, r.timestamp, r.key, r.value, text_headers(r))
    batch = bytes(builder.build())
    header = check_produced(batch, version=9)
    assert header.codec == codec
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, 5)
    assert header.is_transactional
    assert check_records(batch, header) == header.max_timestamp == 1_700_000_000_500
    assert list(read_records(batch, header)) == RECORDS


@pytest.mark.parametrize("library", READERS)
@CODECS
def test_what_we_build_their_readers_read(library: str, codec: Codec) -> None:
    """The checksum by their own reckoning, and every record."""
    batch = build_batch(
        RECORDS, codec=codec, producer_id=77, producer_epoch=3, base_sequence=5, transactional=True
    )
    place(batch, 0, 1_000, 9)
    theirs = READERS[library](bytes(batch))
    assert theirs.validate_crc()
    assert (theirs.base_offset, theirs.compression_type, theirs.producer_id) == (1_000, codec, 77)
    assert theirs.is_transactional
    found = [as_record(record) for record in theirs]
    assert [r.offset for r in found] == [1_000 + r.offset for r in RECORDS]
    for record in found:
        record.offset -= 1_000
    assert found == RECORDS


@pytest.mark.parametrize("library", OLD_BUILDERS)
@pytest.mark.parametrize(("magic", "codec"), OLD_FORMS)
def test_their_old_message_sets_are_read(library: str, magic: int, codec: Codec) -> None:
    """The same records without headers, in magic 0 without times; and so as a batch."""
    builder = OLD_BUILDERS[library](magic=magic, compression_type=codec, batch_size=1 << 20)
    for r in PLAIN:
        builder.append(r.offset, timestamp=r.timestamp, key=r.key, value=r.value)
    data = bytes(builder.build())
    expected = [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in PLAIN]
    assert list(read_message_set(data)) == expected
    batch = convert_up(data)
    header = check_produced(batch, version=9)
    assert header.codec == codec
    assert list(read_records(batch, header)) == expected


def librdkafka_produces(address: str, topic: str, codec: str, *, idempotent: bool) -> None:
    """confluent-kafka, which is librdkafka."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": address,
            "compression.type": codec,
            "enable.idempotence": idempotent,
            "linger.ms": 20,
        }
    )
    failed: list[Any] = []
    for r in RECORDS:
        producer.produce(
            topic,
            key=r.key,
            value=r.value,
            headers=text_headers(r),
            timestamp=r.timestamp,
            partition=0,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(20) == 0
    assert not failed


def librdkafka_consumes(address: str, topic: str, count: int) -> list[Record]:
    """From the beginning, without a group."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found: list[Record] = []
        while len(found) < count:
            messages = consumer.consume(count - len(found), timeout=20)
            assert messages, f"{len(found)} of {count} came"
            for m in messages:
                assert m.error() is None, m.error()
                pairs = tuple((key.encode(), value) for key, value in m.headers() or ())
                found.append(Record(m.offset(), m.timestamp()[1], m.key(), m.value(), pairs))
        return found
    finally:
        consumer.close()


def aiokafka_produces(address: str, topic: str, codec: str, *, idempotent: bool) -> None:
    """All in one go, so that they share a batch."""

    async def run() -> None:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=address,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=20,
        ) as producer:
            sent = [
                await producer.send(
                    topic,
                    r.value,
                    key=r.key,
                    partition=0,
                    timestamp_ms=r.timestamp,
                    headers=text_headers(r),
                )
                for r in RECORDS
            ]
            await asyncio.wait_for(asyncio.gather(*sent), 20)

    asyncio.run(run())


def aiokafka_consumes(address: str, topic: str, count: int) -> list[Record]:
    """From the beginning, without a group."""

    async def run() -> list[Record]:
        async with aiokafka.AIOKafkaConsumer(bootstrap_servers=address) as consumer:
            partition = aiokafka.TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.seek(partition, 0)
            async with asyncio.timeout(20):
                return [as_record(await consumer.getone()) for _ in range(count)]

    return asyncio.run(run())


CLIENTS: Final[dict[str, tuple[Callable[..., None], Callable[..., list[Record]]]]] = {
    "librdkafka": (librdkafka_produces, librdkafka_consumes),
    "aiokafka": (aiokafka_produces, aiokafka_consumes),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
@CODECS
def test_what_clients_send_is_taken_and_given_back(
    client: str,
    idempotent: bool,  # noqa: FBT001 - one of two cases
    codec: Codec,
) -> None:
    """In the codec that was asked for; the stored bytes differ in offset and leader epoch only."""
    produces, consumes = CLIENTS[client]
    with RecordsBroker() as broker:
        produces(broker.address, "orders", codec.name.lower(), idempotent=idempotent)
        assert consumes(broker.address, "orders", len(RECORDS)) == RECORDS
        stored = broker.logs["orders"]
    assert {read_header(batch).codec for batch in stored} == {codec}
    assert [batch[16:] for batch in stored] == [batch[16:] for batch in broker.sent["orders"]]
    run = b"".join(stored)
    found = [record for at, header in headers(run) for record in read_records(run, header, at)]
    assert found == RECORDS
    sequences = [read_header(batch).base_sequence for batch in stored]
    if idempotent:
        assert sequences == [read_header(batch).base_offset for batch in stored]


def a_log_of_ours(codec: Codec) -> tuple[list[bytearray], list[Record]]:
    """All that a log may hold after years: and what a consumer is to make of it."""
    whole = build_batch(RECORDS[:50], codec=codec)
    with_gaps = rebuild_batch(
        RECORDS[60:90:7],
        read_header(build_batch(RECORDS[50:100], base_offset=50, codec=codec)),
        delete_horizon=1_800_000_000_000,
    )
    emptied = rebuild_batch([], read_header(build_batch(RECORDS[100:120], base_offset=100)))
    stamped = build_batch(
        RECORDS[120:130],
        base_offset=120,
        codec=codec,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
    )
    transaction = build_batch(
        RECORDS[130:140],
        base_offset=130,
        codec=codec,
        producer_id=9,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    marker = build_end_marker(
        EndMarker(committed=True, coordinator_epoch=0),
        producer_id=9,
        producer_epoch=0,
        timestamp=1_700_000_000_000,
        base_offset=140,
    )
    last = build_batch(RECORDS[141:], base_offset=141, codec=codec)
    log = [whole, with_gaps, emptied, stamped, transaction, marker, last]
    time = read_header(stamped).max_timestamp
    late = [Record(r.offset, time, r.key, r.value, r.headers) for r in RECORDS[120:130]]
    return log, [*RECORDS[:50], *RECORDS[60:90:7], *late, *RECORDS[130:140], *RECORDS[141:]]


@pytest.mark.parametrize("client", CLIENTS)
@CODECS
def test_clients_read_the_batches_that_we_make(client: str, codec: Codec) -> None:
    """Gaps, an emptied batch, log-append time, a transaction and its marker: each is understood."""
    log, expected = a_log_of_ours(codec)
    for batch in log:
        check_crc(batch, read_header(batch))
    with RecordsBroker() as broker:
        broker.append("orders", *log)
        assert CLIENTS[client][1](broker.address, "orders", len(expected)) == expected


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_what_old_clients_send_becomes_batches(magic: int, codec: Codec) -> None:
    """To a broker of Kafka 0.10 or 0.9, as far as it can tell, kafka-python writes message sets."""
    with RecordsBroker({0: magic + 1, 1: 3, 3: 2, 2: 1}) as broker:
        producer = kafka.KafkaProducer(
            bootstrap_servers=broker.address,
            api_version=(0, 10, 0) if magic else (0, 9),
            compression_type=codec.name.lower() if codec else None,
            enable_idempotence=False,
            linger_ms=20,
        )
        for r in PLAIN:
            producer.send("orders", r.value, key=r.key, partition=0, timestamp_ms=r.timestamp)
        producer.flush(20)
        producer.close()
        assert all(is_legacy(data) for data in broker.sent["orders"])
        run = b"".join(broker.logs["orders"])
    found = [record for at, header in headers(run) for record in read_records(run, header, at)]
    assert found == [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in PLAIN]
    assert {header.codec for _, header in headers(run)} == {codec}
