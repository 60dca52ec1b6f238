"""Batches both ways between us and Kafka's own classes, those of kafka-clients 3.9.1."""

from base64 import b64decode
from random import Random
from typing import Any, Final

import pytest

from odradek.records.batch import BatchHeader, TimestampType, check_crc, headers, read_header
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.control import EndMarker, build_end_marker, read_end_marker
from odradek.records.legacy import read_message_set
from odradek.records.record import Record, read_records
from tests.external.oracle import JavaRefused, Oracle

OLD_CODECS: Final = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
RECORDS: Final = [
    Record(50, 1_000, b"key", b"value"),
    Record(51, 999, None, b"no key"),
    Record(53, 1_500, b"deleted, behind a gap", None),
    Record(54, -1, b"", b"", ((b"trace", b"\x00\xff"), ("Größe".encode(), b""), (b"null", None))),
    Record(55, 1_400, b"many blocks", b"compressible " * 20_000),
    Record(56, 1_400, b"noise", Random(1).randbytes(150_000)),
]


def java_builds(java: Oracle, records: list[Record], **differently: Any) -> bytes:
    """What Java makes of the records; the codec is known to it by name."""
    question: dict[str, Any] = {
        "magic": 2,
        "codec": "none",
        "append_time": None,
        "base_offset": 50,
        "leader_epoch": -1,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "transactional": False,
        **differently,
    }
    rows = [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": record.key,
            "value": record.value,
            "headers": [(key.decode(), value) for key, value in record.headers],
        }
        for record in records
    ]
    return b64decode(java.ask("build", records=rows, **question)["bytes"])


def java_reads(java: Oracle, data: bytes | bytearray) -> list[dict[str, Any]]:
    """The batches that Java sees, their records as ours; all the bytes must be batches."""
    answer = java.ask("read", bytes=data)
    assert answer["valid_bytes"] == len(data)
    batches: list[dict[str, Any]] = answer["batches"]
    for batch in batches:
        batch["records"] = [our_record(row) for row in batch["records"]]
    return batches


def our_record(row: dict[str, Any]) -> Record:
    """A record as Java describes it."""
    pairs = tuple((key.encode(), plain(value)) for key, value in row["headers"])
    return Record(row["offset"], row["timestamp"], plain(row["key"]), plain(row["value"]), pairs)


def plain(text: str | None) -> bytes | None:
    """Base64, or nothing."""
    return None if text is None else b64decode(text)


def agree(ours: BatchHeader, theirs: dict[str, Any]) -> None:
    """The header is read alike, field by field."""
    by_name = {
        "magic": ours.magic,
        "codec": Codec(ours.codec).name.lower(),
        "timestamp_type": ["CreateTime", "LogAppendTime"][ours.timestamp_type],
        "base_offset": ours.base_offset,
        "last_offset": ours.last_offset,
        "max_timestamp": ours.max_timestamp,
        "size": ours.size,
        "producer_id": ours.producer_id,
        "producer_epoch": ours.producer_epoch,
        "base_sequence": ours.base_sequence,
        "leader_epoch": ours.leader_epoch,
        "transactional": ours.is_transactional,
        "control": ours.is_control,
    }
    assert by_name == {name: value for name, value in theirs.items() if name != "records"}


@pytest.mark.parametrize("codec", Codec)
def test_java_reads_our_batch(codec: Codec, kafka_in_java: Oracle) -> None:
    """With each codec, blocks of any number, nulls, headers, a gap and times that go back."""
    batch = build_batch(RECORDS, base_offset=50, leader_epoch=4, codec=codec)
    (read,) = java_reads(kafka_in_java, batch)
    assert read["records"] == RECORDS
    agree(read_header(batch), read)


@pytest.mark.parametrize("codec", Codec)
def test_we_read_javas_batch(codec: Codec, kafka_in_java: Oracle) -> None:
    """Java's compressors frame otherwise than ours, and its batches are most of the world's."""
    batch = java_builds(kafka_in_java, RECORDS, codec=codec.name.lower(), leader_epoch=4)
    header = read_header(batch)
    check_crc(batch, header)
    assert list(read_records(batch, header)) == RECORDS
    agree(header, java_reads(kafka_in_java, batch)[0])


def test_a_run_of_batches_is_cut_at_the_same_places(kafka_in_java: Oracle) -> None:
    """Ours and Java's lie behind one another in one log."""
    ours = build_batch(RECORDS[:2], base_offset=50, producer_id=9, producer_epoch=1)
    theirs = java_builds(kafka_in_java, RECORDS[2:], base_offset=52, codec="zstd")
    run = bytes(ours) + theirs
    read = java_reads(kafka_in_java, run)
    for (_, header), batch in zip(headers(run), read, strict=True):
        agree(header, batch)


def test_the_numbers_of_a_transactional_producer(kafka_in_java: Oracle) -> None:
    """Both count the same producer, epoch and sequence, so either may judge the other's batch."""
    numbers = {"producer_id": 1 << 40, "producer_epoch": 32767, "base_sequence": 2147483647}
    theirs = java_builds(kafka_in_java, RECORDS, transactional=True, **numbers)
    agree(read_header(theirs), java_reads(kafka_in_java, theirs)[0])
    ours = build_batch(
        RECORDS,
        base_offset=50,
        producer_id=1 << 40,
        producer_epoch=32767,
        base_sequence=2147483647,
        transactional=True,
    )
    assert ours == theirs


def test_with_log_append_time_the_batch_tells_the_time(kafka_in_java: Oracle) -> None:
    """Every record has the time at which the leader appended it, whatever it brought along."""
    theirs = java_builds(kafka_in_java, RECORDS, timestamp_type="LogAppendTime", append_time=77_000)
    header = read_header(theirs)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    records = list(read_records(theirs, header))
    assert {record.timestamp for record in records} == {77_000}
    assert records == java_reads(kafka_in_java, theirs)[0]["records"]


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_of_a_transaction(committed: bool, kafka_in_java: Oracle) -> None:  # noqa: FBT001
    """Marker for marker the same bytes, and Java's is read as what it says."""
    theirs = b64decode(
        kafka_in_java.ask(
            "marker",
            base_offset=60,
            timestamp=5_000,
            leader_epoch=-1,
            producer_id=9,
            producer_epoch=2,
            commit=committed,
            coordinator_epoch=12,
        )["bytes"]
    )
    marker = EndMarker(committed, coordinator_epoch=12)
    ours = build_end_marker(
        marker, producer_id=9, producer_epoch=2, timestamp=5_000, base_offset=60
    )
    assert ours == theirs
    (record,) = read_records(theirs, read_header(theirs))
    assert read_end_marker(record) == marker


def test_a_flipped_bit_is_refused_by_both(kafka_in_java: Oracle) -> None:
    """The oracle checks what it reads: its agreement above is worth something."""
    batch = build_batch(RECORDS[:1], base_offset=50)
    batch[-1] ^= 1
    with pytest.raises(JavaRefused, match="CorruptRecordException"):
        java_reads(kafka_in_java, batch)


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_we_read_javas_message_sets(magic: int, codec: Codec, kafka_in_java: Oracle) -> None:
    """The formats of Kafka 0.8 and 0.10: one level of wrapping, offsets absolute or relative."""
    records = [
        Record(record.offset, record.timestamp if magic else -1, record.key, record.value)
        for record in RECORDS
    ]
    theirs = java_builds(kafka_in_java, records, magic=magic, codec=codec.name.lower())
    assert list(read_message_set(theirs)) == records


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_wrapper_with_log_append_time_tells_the_time(codec: Codec, kafka_in_java: Oracle) -> None:
    """In magic 1 the wrapper's time counts, not those of the messages in it."""
    bare = [Record(record.offset, record.timestamp, record.key, record.value) for record in RECORDS]
    theirs = java_builds(kafka_in_java, bare, magic=1, codec=codec.name.lower(), append_time=77_000)
    read = list(read_message_set(theirs))
    assert {record.timestamp for record in read} == {77_000}
    assert read == [row for batch in java_reads(kafka_in_java, theirs) for row in batch["records"]]
