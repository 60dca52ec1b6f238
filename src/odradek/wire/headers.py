"""What stands before every request and every response, and whole frames with it.

A frame, without its length, is a header and a body. The header's version follows from the API and
the body's version, with two exceptions: ControlledShutdown v0 carries no client id, and the answer
to ApiVersions has the oldest header at every version, because the client that asks does not know
yet what the broker speaks (KIP-511).

Bytes behind a body are passed over: librdkafka leaves some. A client id that is not UTF-8 is no
reason to refuse a request: it is a label, and what cannot be read in it is replaced.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from odradek.model.errors import MalformedRequest, UnsupportedVersion
from odradek.ports import Chunk
from odradek.wire.apis import API_VERSIONS, APIS, CONTROLLED_SHUTDOWN, Api
from odradek.wire.codec import (
    Decoder,
    Slices,
    decode,
    decoder,
    encode,
    encode_in_slices,
    encoded,
    encoder,
)
from odradek.wire.framing import framed
from odradek.wire.messages.headers import RequestHeader, ResponseHeader
from odradek.wire.schema import Request, Response

R = TypeVar("R", bound=Response)

_Header: TypeAlias = Callable[[int], bytes]
_Encoder: TypeAlias = Callable[[Any], list[Chunk]]

_START = struct.Struct(">hhi").unpack_from  # the same in all versions of a request header
_HEAD = struct.Struct(">hhi").pack
CORRELATION_ID_END: Final = 4  # where it ends in the frame of an answer
_UNTAGGED_END: Final = 5
_NO_TAGS: Final = b"\0"
_RESPONSE_HEADERS = struct.Struct(">i").pack, struct.Struct(">ix").pack  # by version; no tags

_REQUEST_HEADERS: Final[dict[tuple[int, int], int]] = {}
"""Their versions, by API and version, as they are met."""
_READ: Final[dict[tuple[type[Response], int], tuple[bool, Decoder[Any]]]] = {}
"""What is looked up for each response that comes: whether its header has tags, and its decoder."""
_WRITTEN: Final[dict[tuple[type[Response], int], tuple[_Header, _Encoder]]] = {}
"""And for each that goes."""


class UnsupportedRequest(UnsupportedVersion):
    """A key or a version that is not in our tables.

    Kafka closes the connection, except for ApiVersions: that is answered at version 0 with the
    error, for which the correlation id is here.
    """

    def __init__(self, key: int, version: int, correlation_id: int) -> None:
        api = APIS.get(key)
        known = (
            f"{api.name} has versions 0 to {api.versions[-1]}" if api else "there is no such API"
        )
        super().__init__(f"key {key}, version {version}: {known}")
        self.key = key
        self.version = version
        self.correlation_id = correlation_id


def request_header_version(api: Api, version: int) -> int:
    """Which version of the request header goes with this version of the API."""
    if api.key == CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if api.flexible(version) else 1


def response_header_version(api: Api, version: int) -> int:
    """Which version of the response header goes with this version of the API."""
    return 1 if api.flexible(version) and api.key != API_VERSIONS else 0


def read_request_header(frame: bytes | bytearray) -> tuple[RequestHeader, int]:
    """The header, and where the body begins. UnsupportedRequest where we know no such body."""
    if len(frame) < 8:
        raise MalformedRequest(f"a request of {len(frame)} bytes; its header alone has 8")
    key, version, correlation_id = _START(frame)
    api = APIS.get(key)
    if api is None or version not in api.versions:
        raise UnsupportedRequest(key, version, correlation_id)
    return decoder(RequestHeader, request_header_version(api, version))(frame, 0)


def read_request(frame: bytes | bytearray) -> tuple[RequestHeader, Request]:
    """A whole request."""
    header, position = read_request_header(frame)
    message = APIS[header.request_api_key].request
    return header, decode(message, header.request_api_version, frame, position)[0]


def request_frame(
    request: Request, version: int, correlation_id: int, client_id: str | None
) -> list[Chunk]:
    """A whole request as it goes over the wire, its length included."""
    header = RequestHeader(request.KEY, version, correlation_id, client_id)
    header_version = request_header_version(APIS[request.KEY], version)
    return framed(encoded(header, header_version), encode(request, version))


def request_head(key: int, version: int, correlation_id: int, client_id: bytes) -> bytes:
    """A request's header by hand; the client id as it is encoded, with its length."""
    try:
        header_version = _REQUEST_HEADERS[key, version]
    except KeyError:
        header_version = request_header_version(APIS[key], version)
        _REQUEST_HEADERS[key, version] = header_version
    head = _HEAD(key, version, correlation_id)
    if not header_version:
        return head
    return head + client_id if header_version == 1 else head + client_id + _NO_TAGS


def read_response_body(response: type[R], version: int, frame: bytes | bytearray) -> R:
    """A whole response, for those who know which request it answers."""
    try:
        is_tagged, read = _READ[response, version]
    except KeyError:
        header_version = response_header_version(APIS[response.KEY], version)
        is_tagged, read = _READ[response, version] = header_version > 0, decoder(response, version)
    if not is_tagged:
        position = CORRELATION_ID_END
    elif frame[CORRELATION_ID_END:_UNTAGGED_END] == _NO_TAGS:
        position = _UNTAGGED_END
    else:
        position = decode(ResponseHeader, 1, frame)[1]
    found: R = read(frame, position)[0]
    return found


def read_response(
    response: type[R], version: int, frame: bytes | bytearray
) -> tuple[ResponseHeader, R]:
    """A whole response to a request of this version."""
    header_version = response_header_version(APIS[response.KEY], version)
    header, position = decode(ResponseHeader, header_version, frame)
    return header, decode(response, version, frame, position)[0]


def response_frame(response: Response, version: int, correlation_id: int) -> list[Chunk]:
    """A whole response as it goes over the wire, its length included."""
    key = type(response), version
    try:
        header, write = _WRITTEN[key]
    except KeyError:
        header = _RESPONSE_HEADERS[response_header_version(APIS[response.KEY], version)]
        _WRITTEN[key] = header, (write := encoder(type(response), version))
    return framed(header(correlation_id), write(response))


def response_frame_in_slices(
    response: Response, version: int, correlation_id: int
) -> Slices[list[Chunk]]:
    """The same, with pauses."""
    header = _RESPONSE_HEADERS[response_header_version(APIS[response.KEY], version)]
    return framed(header(correlation_id), (yield from encode_in_slices(response, version)))
