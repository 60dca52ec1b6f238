"""What Produce and Fetch promise where clients seldom look: over a socket, to the letter."""

from collections.abc import Iterator
from itertools import count

import pytest

from odradek.model.errors import ErrorCode
from odradek.records.batch import headers
from odradek.records.compression import Codec
from odradek.records.record import read_records
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.compat.broker_process import Broker
from tests.compat.hostile import Raw
from tests.compat.librdkafka import create_topic
from tests.compat.test_broker_wrong_requests import TIME, batch, end_offsets, harmed, produce

VALUE = b"x" * 10_000
CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")
LATEST, EARLIEST, GREATEST, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
_NUMBERS = count()


@pytest.fixture
def client(broker: Broker) -> Iterator[Raw]:
    """A connection of the test's own."""
    with Raw(broker) as client:
        yield client


@pytest.fixture
def topic(broker: Broker, client: Raw) -> str:
    """Three batches of ten kilobytes each."""
    name = create_topic(broker, f"orders-{next(_NUMBERS)}")
    for offset in range(3):
        assert produce(client, name, batch(VALUE)) == [(ErrorCode.NONE, offset)]
    return name


def fetched(client: Raw, topic: str, offset: int, **how: int) -> PartitionData:
    """From there on, without waiting unless it is said."""
    bytes_max = how.pop("bytes_max", 1 << 20)
    wanted = FetchPartition(0, fetch_offset=offset, partition_max_bytes=bytes_max)
    request = FetchRequest(topics=[FetchTopic(topic, partitions=[wanted])])
    request.max_wait_ms, request.min_bytes, request.max_bytes = 0, 1, bytes_max
    for name, value in how.items():
        setattr(request, name, value)
    found: PartitionData = client.ask(request).responses[0].partitions[0]
    return found


def records_of(found: PartitionData) -> bytes:
    """As they came."""
    assert isinstance(found.records, bytes | bytearray | memoryview), found
    return bytes(found.records)


@pytest.mark.parametrize("name", ["nobody made it", "its batch is wrong", "its version is too old"])
def test_a_failure_that_has_no_answer_ends_the_connection(
    client: Raw, topic: str, name: str
) -> None:
    """With acks=0 there is no other way to tell; an answer would be taken for another's."""
    data, version = bytes(batch()), 9
    match name:
        case "nobody made it":
            topic = "nobody-made-it"
        case "its batch is wrong":
            data = bytes(harmed(17, 0))
        case _:
            version = 2
    rows = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, data)])]
    client.send(client.frame(ProduceRequest(None, 0, 10_000, rows), version))
    assert client.is_sent_away()


def test_what_wants_no_answer_gets_none(client: Raw, topic: str) -> None:
    """The next answer is the next request's."""
    rows = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch()))])]
    client.send(client.frame(ProduceRequest(None, 0, 10_000, rows), 9))
    assert end_offsets(client, topic, 1) == [4]


def test_there_are_three_kinds_of_acknowledgement(client: Raw, topic: str) -> None:
    """No number of replicas, as once there was."""
    rows = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch()))])]
    answer = client.ask(ProduceRequest(None, 2, 10_000, rows))
    (row,) = answer.responses[0].partition_responses
    assert row.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert end_offsets(client, topic, 1) == [3]


@pytest.mark.parametrize("codec", CODECS)
def test_a_topic_may_have_a_codec_of_its_own(broker: Broker, client: Raw, codec: str) -> None:
    """Whatever a producer sends is stored in it, with the same records."""
    name = create_topic(broker, f"packed-{codec}", compression_type=codec)
    sent = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
    for each in sent:
        ((code, _),) = produce(client, name, batch(b"a" * 100, b"b" * 100, codec=each))
        assert code == ErrorCode.NONE
    data = records_of(fetched(client, name, 0))
    stored = list(headers(data))
    own = {"uncompressed": Codec.NONE, "producer": None}.get(
        codec, Codec.__members__.get(codec.upper())
    )
    assert [header.codec for _, header in stored] == [each if own is None else own for each in sent]
    records = [it for at, header in stored for it in read_records(data, header, at)]
    assert [it.offset for it in records] == list(range(10))
    assert [it.value for it in records] == [b"a" * 100, b"b" * 100] * len(sent)


def test_the_first_batch_comes_whole_however_little_is_asked_for(client: Raw, topic: str) -> None:
    """Or nobody could ever read on; behind it the bound holds."""
    assert len(records_of(fetched(client, topic, 0, bytes_max=10))) > len(VALUE)
    assert len(records_of(fetched(client, topic, 0, bytes_max=15_000))) < 2 * len(VALUE)
    assert len(records_of(fetched(client, topic, 0))) > 3 * len(VALUE)


def test_too_little_to_wait_for_comes_when_the_time_is_over(client: Raw, topic: str) -> None:
    """And nothing, where there is nothing."""
    found = fetched(client, topic, 0, min_bytes=1 << 20, max_wait_ms=50)
    assert len(records_of(found)) > 3 * len(VALUE)
    nothing = fetched(client, topic, 3, max_wait_ms=50)
    assert (nothing.error_code, records_of(nothing)) == (ErrorCode.NONE, b"")


def test_what_is_decided_is_all_there_is(client: Raw, topic: str) -> None:
    """Nothing is ever undecided without transactions."""
    found = fetched(client, topic, 0, isolation_level=1)
    assert len(records_of(found)) > 3 * len(VALUE)
    assert (found.last_stable_offset, found.high_watermark) == (3, 3)


def offset_for(
    client: Raw, topic: str, timestamp: int, version: int
) -> ListOffsetsPartitionResponse:
    """Where it is."""
    wanted = [ListOffsetsPartition(0, timestamp=timestamp)]
    answer = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, wanted)]), version)
    found: ListOffsetsPartitionResponse = answer.topics[0].partitions[0]
    return found


@pytest.mark.parametrize("version", range(1, 8))
def test_offsets_have_names(client: Raw, topic: str, version: int) -> None:
    """Each from the version on in which Kafka knows it; what is not there is -1 at -1."""
    expected = {
        LATEST: (ErrorCode.NONE, 3, -1),
        EARLIEST: (ErrorCode.NONE, 0, -1),
        GREATEST: (ErrorCode.NONE, 0, TIME),
        EARLIEST_LOCAL: (ErrorCode.UNSUPPORTED_VERSION, -1, -1),
        LATEST_TIERED: (ErrorCode.UNSUPPORTED_VERSION, -1, -1),
        TIME: (ErrorCode.NONE, 0, TIME),
        TIME + 1: (ErrorCode.NONE, -1, -1),
    }
    if version < 7:
        expected[GREATEST] = expected[EARLIEST_LOCAL]
    for timestamp, what in expected.items():
        found = offset_for(client, topic, timestamp, version)
        assert (found.error_code, found.offset, found.timestamp) == what, timestamp


def test_everything_may_be_deleted(client: Raw, topic: str) -> None:
    """-1 is the end; who reads from before is told, and who reads on is not."""
    rows = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, -1)])]
    answer = client.ask(DeleteRecordsRequest(rows, 10_000))
    assert answer.topics[0].partitions[0].low_watermark == 3
    assert fetched(client, topic, 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetched(client, topic, 3).error_code == ErrorCode.NONE
    assert offset_for(client, topic, EARLIEST, 7).offset == 3


def test_a_session_is_gone_on_with_in_order(client: Raw, topic: str) -> None:
    """An epoch that is not the next is refused, and so is a session that nobody has."""

    def ask(session: int, epoch: int, *topics: FetchTopic) -> tuple[ErrorCode, int]:
        request = FetchRequest(session_id=session, session_epoch=epoch, topics=list(topics))
        request.max_wait_ms = 0
        answer = client.ask(request)
        return ErrorCode(answer.error_code), answer.session_id

    wanted = FetchPartition(0, fetch_offset=3, partition_max_bytes=1_000)
    code, session = ask(0, 0, FetchTopic(topic, partitions=[wanted]))
    assert (code, session != 0) == (ErrorCode.NONE, True)
    assert ask(session, 1) == (ErrorCode.NONE, session)
    assert ask(session, 5)[0] == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert ask(session + 1, 1)[0] == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ask(session, 2)[0] == ErrorCode.NONE
    assert ask(session, -1) == (ErrorCode.NONE, 0)
    assert ask(session, 3)[0] == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
