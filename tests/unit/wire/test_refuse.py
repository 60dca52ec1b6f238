"""What a decoder must refuse: every lie that bytes can tell about themselves."""

import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from odradek.model.errors import ErrorCode, MalformedRequest
from odradek.model.limits import ELEMENTS_MAX
from odradek.wire import decode, encoded
from odradek.wire.compiler.primitives import varint
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.offset_fetch import OffsetFetchRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.schema import Message

HUGE = [(1 << 31) - 1, 1 << 30, 100_000_000]


@contextmanager
def little_memory(limit: int = 16_384) -> Iterator[None]:
    """Nothing may be allocated for what was only promised."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, peak


def refused(message: type[Message], version: int, data: bytes, match: str = "") -> str:
    """The sentence, after a first call that compiled the decoder."""
    for _ in range(2):
        with little_memory() if _ else little_memory(1 << 30):
            try:
                decode(message, version, data)
            except MalformedRequest as error:
                caught = error
            else:
                pytest.fail(f"accepted: {data!r}")
    assert caught.code is ErrorCode.INVALID_REQUEST
    assert f"{message.__name__} v{version}: " in str(caught)
    assert match in str(caught)
    return str(caught)


# -- counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [*HUGE, 2, -2, -(1 << 31)])
def test_an_array_count_beyond_the_bytes(count: int) -> None:
    """Of a count no memory is made before so many elements can be there."""
    data = struct.pack(">i", count) + b"\0\0"
    refused(MetadataRequest, 5, data, "topics at byte 4")


@pytest.mark.parametrize("count", [*HUGE, 2])
def test_a_compact_array_count_beyond_the_bytes(count: int) -> None:
    """The same with the lengths of flexible versions."""
    refused(MetadataRequest, 12, varint(min(count + 1, HUGE[0])) + b"\0\0", "topics at byte ")


@pytest.mark.parametrize("count", HUGE)
def test_an_array_of_numbers_beyond_the_bytes(count: int) -> None:
    """Numbers are read in one go: their count is checked as well."""
    data = b"\0\x01g" + b"\0\0\0\x01" + b"\0\x01a" + struct.pack(">i", count) + bytes(4)
    refused(OffsetFetchRequest, 1, data, "topics.partition_indexes at byte 14")


def test_a_count_is_held_against_the_size_of_its_elements() -> None:
    """A hundred topics need more than a hundred bytes; none of them is begun."""
    refused(MetadataRequest, 12, varint(101) + bytes(100), "topics")


def test_an_array_that_may_not_be_null() -> None:
    """Null is -1, or 0 in flexible versions, and only where the version allows it."""
    refused(MetadataRequest, 0, b"\xff\xff\xff\xff", "topics")
    assert decode(MetadataRequest, 1, b"\xff\xff\xff\xff")[0].topics is None


def test_all_the_elements_of_a_message_are_counted_together() -> None:
    """An empty element costs a hundred times its bytes in memory: there is a bound for all."""
    count = ELEMENTS_MAX + 1
    refused(ListGroupsRequest, 4, varint(count + 1) + bytes(count), f"{count} elements")
    half = ELEMENTS_MAX // 2 + 1
    forgotten = b"\x02a" + varint(half + 1) + bytes(4 * half) + b"\0"
    whole = bytes(25) + b"\x01\x03" + 2 * forgotten + b"\x01\0"
    with pytest.raises(MalformedRequest, match=f"forgotten_topics_data.partitions .* {half} el"):
        decode(FetchRequest, 12, whole)


# -- tagged fields --------------------------------------------------------------------------------


def tagged(*fields: tuple[int, bytes]) -> bytes:
    """A section of tagged fields as somebody may send it."""
    out = varint(len(fields))
    for tag, content in fields:
        out += varint(tag) + varint(len(content)) + content
    return out


@pytest.mark.parametrize("count", [*HUGE, 1])
def test_a_count_of_tags_beyond_the_bytes(count: int) -> None:
    """Tags that are not there are not looked for twice."""
    refused(HeartbeatRequest, 4, b"\x01\0\0\0\0\x01\0" + varint(count), "tags")


def test_millions_of_tags() -> None:
    """Two bytes each would keep a broker busy for seconds: they count as elements do."""
    flood = varint(ELEMENTS_MAX + 1) + bytes(2 * ELEMENTS_MAX + 2)
    refused(HeartbeatRequest, 4, b"\x01\0\0\0\0\x01\0" + flood, "tagged fields")
    start = encoded(FetchRequest(), 12)[:-1]
    flood = varint(ELEMENTS_MAX + 1) + b"\x63\0" * (ELEMENTS_MAX + 1)
    refused(FetchRequest, 12, start + flood, "more elements than a message may have")


@pytest.mark.parametrize("size", [*HUGE, 3])
def test_a_tagged_field_that_ends_behind_the_message(size: int) -> None:
    """Its size is checked before anything is passed over, known or unknown."""
    lie = b"\x01\x63" + varint(size) + b"ab"
    refused(HeartbeatRequest, 4, b"\x01\0\0\0\0\x01\0" + lie, "tags")
    refused(FetchRequest, 12, encoded(FetchRequest(), 12)[:-1] + lie, "tags")


@pytest.mark.parametrize("size", [2, 4])
def test_a_known_tag_of_another_size_than_it_says(size: int) -> None:
    """Whoever skips it and whoever reads it would go on at different bytes."""
    lie = b"\x01\0" + varint(size) + b"\x03abcd"
    refused(FetchRequest, 12, encoded(FetchRequest(), 12)[:-1] + lie, "tags")


def test_tags_in_any_order_and_twice_are_read_as_kafka_does() -> None:
    """The last of two wins; unknown ones are passed over wherever they stand."""
    start = encoded(FetchRequest(), 12)[:-1]
    data = start + tagged((9, b"?"), (0, b"\x02a"), (7, b""), (0, b"\x02b"))
    request, end = decode(FetchRequest, 12, data)
    assert request.cluster_id == "b"
    assert end == len(data)


def test_tags_within_the_elements_of_an_array_are_passed_over() -> None:
    """Elements of one size are read in a sweep, unless one of them has something to say."""
    request = FetchRequest(topics=[FetchTopic("t", partitions=[FetchPartition(7)] * 3)])
    data = bytearray(encoded(request, 12))
    assert decode(FetchRequest, 12, data)[0] == request
    last = data.rindex(bytes(4) + b"\0\0\x01\x01\0")  # the tag count of the third partition
    data[last + 4 : last + 5] = b"\x01\x63\x02ab"
    assert decode(FetchRequest, 12, data) == (request, len(data))


# -- varints --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [6, 10, 1000])
def test_a_varint_that_does_not_end(length: int) -> None:
    """Five bytes are the most that a length has."""
    endless = b"\xff" * (length - 1) + b"\x01"
    refused(MetadataRequest, 12, endless + bytes(64), "more than five bytes")
    refused(HeartbeatRequest, 4, b"\x01\0\0\0\0\x01\0" + endless + bytes(64), "five bytes")


def test_a_varint_above_the_int32_range() -> None:
    """In Kafka such a length is a negative number; here it is none at all."""
    refused(MetadataRequest, 12, b"\xff\xff\xff\xff\x0f" + bytes(64), "a length of 4294967295")


def test_a_varint_longer_than_it_needs_is_read_as_kafka_does() -> None:
    """0x82 0x00 is 2: nobody writes it, everybody reads it."""
    plain = decode(HeartbeatRequest, 4, b"\x02a\0\0\0\0\x01\0\0")[0]
    padded = decode(HeartbeatRequest, 4, b"\x82\x80\x80\x80\x00a\0\0\0\0\x81\x00\0\0")[0]
    assert padded == plain


# -- strings, bytes, records ----------------------------------------------------------------------


@pytest.mark.parametrize("length", [-1, -2, -32768, 32767, 5])
def test_a_string_of_a_length_that_is_not_there(length: int) -> None:
    """Null where it may not be, negative, or longer than the rest."""
    refused(HeartbeatRequest, 0, struct.pack(">h", length) + b"abcd", "group_id at byte 2")


@pytest.mark.parametrize("length", [*HUGE, 5])
def test_a_compact_string_of_a_length_that_is_not_there(length: int) -> None:
    """The same with the lengths of flexible versions."""
    refused(HeartbeatRequest, 4, varint(min(length + 1, HUGE[0])) + b"abcd", "group_id")


def test_a_string_of_more_than_32767_bytes() -> None:
    """Compact lengths could say more; Kafka allows a string no more than it always did."""
    refused(HeartbeatRequest, 4, varint(32769) + bytes(40_000), "32768 bytes")


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98"])
def test_a_string_that_is_not_utf_8(text: bytes) -> None:
    """Overlong forms and halves of surrogates included: no name of ours is made of them."""
    data = struct.pack(">h", len(text)) + text + bytes(6)
    refused(HeartbeatRequest, 0, data, "not UTF-8")


@pytest.mark.parametrize("length", [*HUGE, 9, -1, -7])
def test_bytes_of_a_length_that_is_not_there(length: int) -> None:
    """Of a promised gigabyte not one byte is allocated."""
    refused(SaslAuthenticateRequest, 0, struct.pack(">i", length) + bytes(8), "auth_bytes")


@pytest.mark.parametrize("length", [*HUGE, 9, -2])
def test_records_of_a_length_that_is_not_there(length: int) -> None:
    """The same for the bytes that are most of all."""
    data = struct.pack(">hiihhiii", 1, 1000, 1, 1, 0x6161, 1, 0, length)
    refused(ProduceRequest, 2, data.replace(b"aa", b"a", 1) + bytes(8), "records")


# -- the end --------------------------------------------------------------------------------------


TOPIC = TopicProduceData("a", partition_data=[PartitionProduceData(1, b"xyz")])
REQUESTS: list[tuple[Message, int]] = [
    (ApiVersionsRequest("kafka", "3.9"), 3),
    (HeartbeatRequest("group", 1, "member", "instance"), 3),
    (HeartbeatRequest("group", 1, "member", "instance"), 4),
    (MetadataRequest([MetadataRequestTopic(name="orders")]), 4),
    (MetadataRequest([MetadataRequestTopic(name="orders")]), 12),
    (FetchRequest(topics=[FetchTopic("orders")], rack_id="a", cluster_id="c"), 12),
    (ProduceRequest("t", -1, 9, [TOPIC]), 8),
    (ProduceRequest("t", -1, 9, [TOPIC]), 9),
]


@pytest.mark.parametrize(("message", "version"), REQUESTS)
def test_bytes_that_end_too_early(message: Message, version: int) -> None:
    """Cut at any byte, a message is refused, and the sentence says which field is missing."""
    data = encoded(message, version)
    for length in range(len(data)):
        with pytest.raises(MalformedRequest, match=r"^\w+ v\d+: [\w.]+ at byte \d+: "):
            decode(type(message), version, data[:length])


def test_the_missing_field_is_named_with_its_place() -> None:
    """Even where it is read together with others."""
    text = refused(FetchRequest, 4, bytes(6))
    assert text == "FetchRequest v4: max_wait_ms at byte 4: the bytes end too early"
    text = refused(FetchRequest, 12, encoded(FetchRequest(rack_id="rack"), 12)[:-3])
    assert "rack_id at byte 28: " in text


def test_a_view_is_read_like_the_bytes_it_shows() -> None:
    """What is embedded in a message comes as a view; it is refused in the same words."""
    data = memoryview(encoded(HeartbeatRequest("group", 1, "member"), 4))
    assert decode(HeartbeatRequest, 4, data)[0].member_id == "member"
    with pytest.raises(MalformedRequest, match="member_id"):
        decode(HeartbeatRequest, 4, data[:-3])
