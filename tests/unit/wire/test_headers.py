"""What stands before requests and responses."""

import pytest

from odradek.model.errors import ErrorCode, MalformedRequest
from odradek.wire.apis import APIS
from odradek.wire.codec import encoded
from odradek.wire.headers import (
    UnsupportedRequest,
    read_request,
    read_request_header,
    read_response,
    read_response_body,
    request_frame,
    request_head,
    request_header_version,
    response_frame,
    response_header_version,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest
from odradek.wire.messages.fetch import FetchRequest
from odradek.wire.messages.headers import RequestHeader
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.metadata import MetadataRequest


def body(chunks: list) -> bytearray:  # type: ignore[type-arg]
    """The frame without its length, which must be right."""
    data = b"".join(chunks)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    return bytearray(data[4:])


def test_the_headers_version_follows_from_the_body() -> None:
    """Flexible bodies have flexible headers; the two exceptions are Kafka's own."""
    assert request_header_version(APIS[1], 11) == 1
    assert request_header_version(APIS[1], 12) == 2
    assert response_header_version(APIS[1], 11) == 0
    assert response_header_version(APIS[1], 12) == 1
    assert request_header_version(APIS[7], 0) == 0, "ControlledShutdown v0 has no client id"
    assert request_header_version(APIS[7], 1) == 1
    assert request_header_version(APIS[18], 3) == 2
    assert response_header_version(APIS[18], 3) == 0, "the asker knows no flexible headers yet"


@pytest.mark.parametrize("client_id", ["console", "", None])
@pytest.mark.parametrize("version", [0, 4])
def test_a_request_comes_back_from_its_frame(client_id: str | None, version: int) -> None:
    """A header of either kind carries key, version, correlation id and client id."""
    request = HeartbeatRequest("group", 3, "member")
    header, read = read_request(body(request_frame(request, version, 17, client_id)))
    assert (header.request_api_key, header.request_api_version) == (12, version)
    assert (header.correlation_id, header.client_id) == (17, client_id)
    assert read == request


def test_controlled_shutdown_0_has_no_client_id() -> None:
    """Its header ends behind the correlation id."""
    frame = body(request_frame(ControlledShutdownRequest(3), 0, 5, "ignored"))
    assert len(frame) == 8 + 4
    header, request = read_request(frame)
    assert header.correlation_id == 5
    assert request == ControlledShutdownRequest(3)


@pytest.mark.parametrize("version", [0, 4])
def test_a_response_comes_back_from_its_frame(version: int) -> None:
    """The reader knows the version: it is that of the request."""
    frame = body(response_frame(HeartbeatResponse(error_code=27), version, 17))
    header, response = read_response(HeartbeatResponse, version, frame)
    assert header.correlation_id == 17
    assert response == HeartbeatResponse(error_code=27)


@pytest.mark.parametrize("tags", [b"\0", b"\1\5\2ab"])
def test_a_body_is_found_behind_a_header_with_tags(tags: bytes) -> None:
    """Whoever knows which request it answers passes over them."""
    frame = body(response_frame(HeartbeatResponse(error_code=27), 4, 17))
    tagged = frame[:4] + tags + frame[5:]
    assert read_response_body(HeartbeatResponse, 4, tagged) == HeartbeatResponse(error_code=27)
    plain = body(response_frame(HeartbeatResponse(error_code=27), 0, 17))
    assert read_response_body(HeartbeatResponse, 0, plain) == HeartbeatResponse(error_code=27)


@pytest.mark.parametrize("client_id", ["console", "", None])
def test_a_head_by_hand_is_what_the_codec_writes(client_id: str | None) -> None:
    """Of every API, at every version."""
    text = b"\xff\xff" if client_id is None else bytes([0, len(client_id)]) + client_id.encode()
    for api in APIS.values():
        for version in api.versions:
            header = RequestHeader(api.key, version, 17, client_id)
            head = encoded(header, request_header_version(api, version))
            assert request_head(api.key, version, 17, text) == head, (api.name, version)


def test_api_versions_is_answered_with_the_oldest_header() -> None:
    """Its answer at version 3 has a flexible body behind a header without tags."""
    frame = body(response_frame(ApiVersionsResponse(throttle_time_ms=1), 3, 9))
    assert frame == b"\0\0\0\x09\0\0\x01\0\0\0\x01\0"


def test_tagged_fields_in_a_header_are_passed_over() -> None:
    """A newer client may say more in its header than we know."""
    frame = bytearray(b"\0\x12\0\x03\0\0\0\x07\0\x02me\x02\x05\x01x\x81\x01\x00\x02a\x02b\0")
    header, request = read_request(frame)
    assert header.client_id == "me"
    assert request == ApiVersionsRequest("a", "b")


def test_stray_bytes_behind_a_body_are_tolerated() -> None:
    """Librdkafka leaves three behind a Metadata request for all topics."""
    frame = body(request_frame(MetadataRequest(topics=None), 12, 1, "rdkafka"))
    _, request = read_request(frame + b"\0\0\0")
    assert isinstance(request, MetadataRequest)
    assert request.topics is None


def test_a_client_id_that_is_not_utf_8_is_no_reason_to_refuse() -> None:
    """It is a label in logs and metrics; what cannot be read in it is replaced."""
    header, _ = read_request_header(bytearray(b"\0\x0c\0\0\0\0\0\x01\0\x02\xffa"))
    assert header.client_id == "\N{REPLACEMENT CHARACTER}a"


@pytest.mark.parametrize(
    ("key", "version"), [(-1, 0), (32767, 0), (93, 0), (18, 99), (1, 19), (1, -1)]
)
def test_what_is_not_in_the_tables_is_named(key: int, version: int) -> None:
    """Whoever answers needs key, version and correlation id, whatever else the frame holds."""
    start = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    with pytest.raises(UnsupportedRequest) as caught:
        read_request_header(start + b"\0\0\0\x2a\xff\xff\xff")
    error = caught.value
    assert (error.key, error.version, error.correlation_id) == (key, version, 42)
    assert error.code is ErrorCode.UNSUPPORTED_VERSION
    assert f"key {key}, version {version}" in str(error)


@pytest.mark.parametrize("length", range(14))
def test_a_header_that_is_cut_is_malformed(length: int) -> None:
    """At every byte, and by name."""
    frame = body(request_frame(FetchRequest(), 12, 1, "abc"))
    with pytest.raises(MalformedRequest, match=r"request of \d bytes|RequestHeader"):
        read_request_header(frame[:length])
