"""What a version can say, what it cannot, and what becomes of the bytes."""

import subprocess
import sys
from typing import Any

import pytest

from odradek.model.errors import MalformedRequest, UnsupportedVersion
from odradek.ports import Chunk, FileRange
from odradek.wire import decode, decoder, encode, encoded, encoder
from odradek.wire.apis import APIS
from odradek.wire.codec import Slices, decode_in_slices, encode_in_slices
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


def fetched(records: bytes | memoryview | list[Chunk] | None) -> FetchResponse:
    """One partition's records as an answer."""
    partition = PartitionData(records=records, aborted_transactions=[])
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[partition])])


# -- what a version cannot say --------------------------------------------------------------------


def test_a_field_that_may_not_be_dropped_is_an_error_in_a_version_without_it() -> None:
    """A static member that joined as a dynamic one would be another member: Kafka refuses too."""
    request = HeartbeatRequest("group", 1, "member", "instance")
    with pytest.raises(UnsupportedVersion, match="HeartbeatRequest v2 has no field group_instance"):
        encode(request, 2)
    assert decode(HeartbeatRequest, 3, encoded(request, 3))[0] == request


def test_the_error_names_the_field_by_its_path() -> None:
    """Deep in an array it would not be found otherwise."""
    partition = ListOffsetsPartition(0, max_num_offsets=5)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic("t", [partition])])
    with pytest.raises(UnsupportedVersion, match=r"no field topics\.partitions\.max_num_offsets"):
        encode(request, 1)


def test_a_default_is_no_error_in_a_version_without_the_field() -> None:
    """A message is built once, for whatever version the other end speaks."""
    request = CreateTopicsRequest([CreatableTopic("t", 1, 1)])
    assert [len(encoded(request, version)) > 0 for version in request.VERSIONS]


def test_an_ignorable_field_is_dropped() -> None:
    """A rack or a throttle time is no promise: an older client does without."""
    response = MetadataResponse(throttle_time_ms=7, cluster_id="c")
    read, _ = decode(MetadataResponse, 0, encoded(response, 0))
    assert (read.throttle_time_ms, read.cluster_id) == (0, None)


def test_an_unknown_version_is_refused_by_name() -> None:
    """In both directions, with what is known."""
    for act in (lambda: encode(HeartbeatRequest(), 5), lambda: decode(HeartbeatRequest, 5, b"")):
        with pytest.raises(UnsupportedVersion, match="HeartbeatRequest v5: 0 to 4 are known"):
            act()


# -- our own mistakes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        HeartbeatRequest(None, 1, "m"),  # type: ignore[arg-type]
        HeartbeatRequest(b"bytes", 1, "m"),  # type: ignore[arg-type]
        HeartbeatRequest("x" * 32_768, 1, "m"),
        HeartbeatRequest("\ud800", 1, "m"),
    ],
)
@pytest.mark.parametrize("version", [0, 4])
def test_a_value_that_a_field_cannot_hold_is_our_own_mistake(
    request_: HeartbeatRequest, version: int
) -> None:
    """No peer can cause it, so it is an assertion; it names the field."""
    with pytest.raises(AssertionError, match=r"HeartbeatRequest v\d: cannot encode group_id"):
        encode(request_, version)


def test_a_number_out_of_range_is_our_own_mistake() -> None:
    """Numbers are never cut to fit."""
    with pytest.raises(AssertionError, match="cannot encode generation_id"):
        encode(HeartbeatRequest("g", 1 << 31, "m"), 0)


def test_null_where_the_version_does_not_allow_it_is_our_own_mistake() -> None:
    """All topics are asked for with null from version 1 on; version 0 has another way."""
    assert encoded(MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"
    with pytest.raises(AssertionError, match="MetadataRequest v0: cannot encode topics"):
        encode(MetadataRequest(topics=None), 0)


# -- bytes ----------------------------------------------------------------------------------------


def test_records_are_passed_on_and_not_copied() -> None:
    """What goes to the socket is the very memory that came from the log."""
    records = memoryview(bytearray(4096))
    before, same, behind = encode(fetched(records), 12)
    assert same is records
    assert isinstance(before, bytes)
    assert behind == b"\0\0\0", "no tagged fields in partition, topic and response"


def test_records_may_come_in_pieces_and_from_a_file() -> None:
    """Batches from memory and a range of a segment leave as they are, under one length."""
    in_file = FileRange(None, 4096, 10_000)  # type: ignore[arg-type]
    pieces: list[Chunk] = [memoryview(bytes(10)), in_file]
    chunks = encode(fetched(pieces), 12)
    assert chunks[1:3] == pieces
    assert isinstance(chunks[0], bytes)
    assert chunks[0].endswith(b"\x9b\x4e"), "10010 bytes, and one more for null"


def test_small_records_travel_with_their_header() -> None:
    """An entry in the vector costs more than the copy of a few hundred bytes."""
    assert len(encode(fetched(memoryview(bytes(500))), 12)) == 1


def test_decoded_records_are_views_into_the_frame() -> None:
    """Offsets written into them are in the frame, and nothing was copied on the way."""
    partition = PartitionProduceData(0, b"0123456789")
    request = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[partition])])
    frame = bytearray(encoded(request, 9))
    read, _ = decode(ProduceRequest, 9, frame)
    records = read.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[:2] = b"ab"
    assert b"ab23456789" in frame


def test_a_message_may_begin_anywhere() -> None:
    """Behind a header, for instance; the end is an absolute position."""
    data = encoded(HeartbeatRequest("g", 1, "m"), 4)
    assert decode(HeartbeatRequest, 4, b"12345" + data + b"rest", 5)[1] == 5 + len(data)


def test_arrays_of_any_length_and_kind_of_sequence() -> None:
    """Short lists have functions of their own, long ones and those of rare shapes have not."""
    for lengths in ((0, 1, 2), (3, 3, 3), (8, 9, 0), (127, 128, 200), (300, 0, 1)):
        isr, replicas, adding = (list(range(length)) for length in lengths)
        state = LeaderAndIsrPartitionState(
            isr=isr, replicas=tuple(replicas), adding_replicas=adding, removing_replicas=()
        )
        request = LeaderAndIsrRequest(
            topic_states=[LeaderAndIsrTopicState("t", bytes(16), [state])]
        )
        for version in (3, 7):
            assert decode(LeaderAndIsrRequest, version, encoded(request, version))[0] == request


# -- values ---------------------------------------------------------------------------------------


def test_structs_of_equal_fields_are_equal() -> None:
    """Whether they were made or decoded, with lists or with tuples, with bytes or with views."""
    made = LeaderAndIsrPartitionState(isr=[1, 2], replicas=(1, 2))
    assert made == LeaderAndIsrPartitionState(isr=(1, 2), replicas=[1, 2])
    assert made != LeaderAndIsrPartitionState(isr=[2, 1], replicas=(1, 2))
    assert fetched(memoryview(b"ab")) == fetched(b"ab")
    assert made != "something else"
    assert HeartbeatRequest() != JoinGroupRequest()


def test_a_decoded_struct_is_of_its_class() -> None:
    """It was made without the constructor; nobody else needs to know."""
    read, _ = decode(HeartbeatRequest, 0, encoded(HeartbeatRequest("g", 7, "m"), 0))
    assert isinstance(read, HeartbeatRequest)
    assert type(read).__name__ == "HeartbeatRequest"
    assert repr(read) == "HeartbeatRequest(group_id='g', generation_id=7, member_id='m')"
    assert encoded(read, 4) == encoded(HeartbeatRequest("g", 7, "m"), 4)


def test_what_is_shown_is_what_was_said() -> None:
    """Defaults are left out, and records are shown by their size."""
    assert repr(FetchRequest()) == "FetchRequest()"
    assert "records=<500 bytes>" in repr(fetched(memoryview(bytes(500))))


def test_a_tagged_struct_of_defaults_is_not_written() -> None:
    """None and a struct that says nothing are the same on the wire, as they are in Kafka."""
    silent = PartitionData(diverging_epoch=EpochEndOffset())
    assert encoded(FetchRequest(replica_state=ReplicaState()), 15) == encoded(FetchRequest(), 15)
    one = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[silent])])
    other = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[PartitionData()])])
    assert encoded(one, 12) == encoded(other, 12)


# -- compiled when needed -------------------------------------------------------------------------


def test_functions_are_compiled_once() -> None:
    """The second look-up finds what the first one made."""
    assert decoder(HeartbeatRequest, 2) is decoder(HeartbeatRequest, 2)
    assert encoder(HeartbeatRequest, 2) is encoder(HeartbeatRequest, 2)


def test_importing_the_codec_imports_no_message() -> None:
    """A tool that speaks three APIs does not load ninety."""
    program = (
        "import sys, odradek.wire.headers\n"
        "print(sorted(name for name in sys.modules if name.startswith('odradek.wire.messages.')))"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    names = ["odradek.wire.messages.headers", "odradek.wire.messages.index"]
    assert out.stdout.strip() == repr(names)


def test_every_api_has_its_two_classes() -> None:
    """The table of APIs and the modules belong together."""
    assert len(APIS) == 94
    for key, api in APIS.items():
        for message in (api.request, api.response):
            assert (key, api.versions) == (message.KEY, message.VERSIONS)
            assert api.flexible_from == message.FLEXIBLE_FROM


@pytest.mark.parametrize("version", [1, 9, 12])
def test_in_slices_the_same_is_read_and_written(version: int) -> None:
    """With a pause after some hundred elements, so that a broker can serve others meanwhile."""
    asked = [MetadataRequestTopic(name=f"topic-{number}") for number in range(5_000)]
    request = MetadataRequest(topics=asked)
    steps = encode_in_slices(request, version)
    pauses, chunks = run(steps)
    assert b"".join(chunks) == encoded(request, version)
    assert pauses >= 9
    frame = bytearray(b"".join(chunks))
    pauses, found = run(decode_in_slices(MetadataRequest, version, frame, 0))
    assert found == decode(MetadataRequest, version, frame)
    assert pauses >= 9


def test_in_slices_the_same_is_refused() -> None:
    """And for the same reason, however far it was read."""
    asked = [MetadataRequestTopic(name=f"topic-{number}") for number in range(5_000)]
    frame = bytearray(encoded(MetadataRequest(topics=asked), 1))
    del frame[-3:]
    with pytest.raises(MalformedRequest) as whole:
        decode(MetadataRequest, 1, frame)
    with pytest.raises(MalformedRequest) as sliced:
        run(decode_in_slices(MetadataRequest, 1, frame, 0))
    assert str(sliced.value) == str(whole.value)


def run(steps: Slices[Any]) -> tuple[int, Any]:
    """How often it paused, and what came of it."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return pauses, end.value
        pauses += 1
