"""From a frame to its handler, and from what went wrong there to an answer.

What a client did wrong has a code, and the handler's own module knows the response that carries
it. A request that cannot be read leaves nothing to answer: its connection is closed. Anything else
that is raised is our mistake; it is logged with its trace and answered as an unknown error.

A client that asks for what is not offered is disconnected, as Kafka does, but told the versions
first if that is what it asked for.
"""

import asyncio
import struct
from collections.abc import Mapping
from functools import partial
from inspect import iscoroutinefunction
from types import GeneratorType
from typing import Any, Final, NamedTuple, cast

from odradek.broker.access.admission import admit
from odradek.broker.access.refusals import refused_in_slices
from odradek.broker.handlers import api_versions
from odradek.broker.handlers.api import Api, Later, Quick
from odradek.broker.jobs import begin
from odradek.broker.network.connection import Connection
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.network.quotas import ClientCharge
from odradek.broker.services import Services
from odradek.broker.slices import Slices, Steps, at_once
from odradek.model.errors import BrokerError, ErrorCode, MalformedRequest, UnsupportedVersion
from odradek.model.units import KIB, Bytes
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.codec import Decoder, decode_in_slices, decoder
from odradek.wire.headers import (
    UnsupportedRequest,
    read_request_header,
    request_header_version,
)
from odradek.wire.schema import Request, Response

_START = struct.Struct(">hhih").unpack_from  # key, version, correlation id, length of client id
_CLIENT_ID_AT: Final = 10
FLEXIBLE: Final = 2  # the version of a header with tags
NO_TAGS: Final = b"\0"
LARGE_BYTES: Final = Bytes(8 * KIB)
"""A request without records that has more may have thousands of rows."""


class _Row(NamedTuple):
    """What is looked up for each request: one of an API and a version that is offered."""

    api: Api
    decode: Decoder[Request]
    header_version: int
    quick: Quick | None
    is_served: bool
    is_coroutine: bool


BETWEEN_BROKERS: Final = frozenset(
    key
    for key, api in APIS.items()
    if api.name
    in {
        "AllocateProducerIds",
        "AlterPartition",
        "ApiVersions",
        "ControlledShutdown",
        "Fetch",
        "LeaderAndIsr",
        "ListOffsets",
        "OffsetForLeaderEpoch",
        "StopReplica",
        "UpdateMetadata",
        "WriteTxnMarkers",
    }
)
"""What brokers ask each other; it is served before clients are, so that this broker can join."""
UNLIMITED: Final = BETWEEN_BROKERS - {
    key
    for key, api in APIS.items()
    if api.name in {"ApiVersions", "Fetch", "ListOffsets", "OffsetForLeaderEpoch"}
}
"""What has no limits once it is admitted: brokers ask it. A client that is refused has its limits.

A follower is told from a client where its replica is looked at.
"""


class BrokerStops(BrokerError):
    """It may have been done; another broker can say."""

    code = ErrorCode.REQUEST_TIMED_OUT


class Dispatch:
    """The table of APIs, ready for requests.

    Until it is opened, requests that only clients make are kept: this broker does not know the
    cluster yet, and an answer would be wrong. Their connections are not read meanwhile.
    """

    def __init__(self, services: Services, offered: Mapping[int, Api]) -> None:
        self._is_open = False
        self._early: list[tuple[Connection, bytearray]] = []
        self._answering: dict[asyncio.Task[None], None] = {}
        self._services = services
        self._offered = offered
        self._slices = Slices()
        self._rows: dict[tuple[int, int], _Row] = {}  # by key and version, as they are met

    def open(self) -> None:
        """Clients are served from now on."""
        self._is_open = True
        early, self._early = self._early, []
        for connection, frame in early:
            if not connection.is_over:
                self.on_frame(connection, frame)
                connection.stream.resume()

    def close(self) -> None:
        """No request that only clients make is begun any more."""
        self._is_open = False

    def give_up(self) -> None:
        """Requests that still wait for others are refused."""
        for task in [*self._answering]:
            task.cancel()

    def _is_too_early(self, connection: Connection, key: int, frame: bytearray) -> bool:
        if key in BETWEEN_BROKERS and all(it is not connection for it, _ in self._early):
            return False
        self._early.append((connection, frame))
        connection.stream.pause()
        return True

    def on_frame(self, connection: Connection, frame: bytearray) -> None:
        """Begins one request."""
        try:
            key, version, correlation_id, size = _START(frame)
            if not self._is_open and self._is_too_early(connection, key, frame):
                return
            try:
                row = self._rows[key, version]
            except KeyError:
                row = self._find(key, version, correlation_id)
            at = _CLIENT_ID_AT
            end = at + size
            is_tagged = row.header_version == FLEXIBLE and frame[end : end + 1] != NO_TAGS
            if row.header_version and size >= 0 and not is_tagged:
                at = end + 1 if row.header_version == FLEXIBLE else end
                client_id = connection.client_id
                if frame[_CLIENT_ID_AT:end] != connection.client_id_bytes:
                    client_id = connection.rename(bytes(frame[_CLIENT_ID_AT:end]))
            else:
                header, at = read_request_header(frame)
                client_id = header.client_id or ""
        except struct.error:
            connection.hang_up(f"a request of {len(frame)} bytes")
            return
        except UnsupportedRequest as error:
            self._on_unsupported(connection, frame, error)
            return
        except (MalformedRequest, UnsupportedVersion) as error:
            connection.hang_up(f"a request that cannot be read: {error}")
            return
        pending = connection.begin(key, version, correlation_id, client_id, frame)
        quotas = self._services.quotas
        if quotas.is_on:
            pending.charge = ClientCharge(quotas, pending, connection)
        elif row.quick is not None:
            try:
                if row.quick(self._services, pending, frame, at):
                    return
            except Exception as error:  # noqa: BLE001 - the last to know what a request came to
                connection.note_bug(APIS[key].name, error)
                connection.hang_up("internal error, logged as request.failed")
                return
        self._begin(row, pending, frame, at)

    def _find(self, key: int, version: int, correlation_id: int) -> _Row:
        api = self._offered.get(key)
        if api is None or version not in api.offered:
            raise UnsupportedRequest(key, version, correlation_id)
        row = self._rows[key, version] = _Row(
            api,
            decoder(APIS[key].request, version),
            request_header_version(APIS[key], version),
            api.quick if self._may_be_quick(api, version) else None,
            version in api.versions,
            iscoroutinefunction(api.handle),
        )
        return row

    def _may_be_quick(self, api: Api, version: int) -> bool:
        """What is answered quickly is told to no audit, and was never refused."""
        audit = self._services.audit
        is_told = audit is not None and audit.tells_allowed
        return version in api.versions and version >= api.quick_from and not is_told

    def _begin(self, row: _Row, pending: PendingRequest, frame: bytearray, at: int) -> None:
        """Decodes the request, and hands it to its handler."""
        if len(frame) > LARGE_BYTES:
            pending.slices = self._slices
            self._run(pending, self._decoded_in_slices(row, pending, frame, at))
            return
        try:
            request = row.decode(frame, at)[0]
        except (MalformedRequest, UnsupportedVersion) as error:
            pending.connection.hang_up(f"a request that cannot be read: {error}")
            return
        found = self._handle(row, pending, request)
        if found is None:
            return
        if isinstance(found, GeneratorType):
            pending.slices = self._slices
            self._run(pending, self._handled_in_slices(pending, request, found))
        else:
            self._later(pending, request, cast("Later", found))

    def _handle(
        self, row: _Row, pending: PendingRequest, request: Request, *, is_admitted: bool = False
    ) -> Later | Steps[Later | None] | None:
        """What is still to be done, if it is not answered."""
        if self._services.audit is not None and not is_admitted:
            pending.tells = partial(self._services.audit.on_answer, request)
        if not row.is_served:
            too_old = UnsupportedVersion(_too_old(row.api, pending.version))
            self._refuse(pending, request, too_old)
            return None
        if self._services.access is not None and row.api.needs and not is_admitted:
            return self._handle_admitted(row, pending, request)
        if pending.charge is not None and pending.key in UNLIMITED:
            pending.charge = None
        handle: Any = row.api.handle
        if row.is_coroutine:
            return partial(handle, self._services, pending, request)
        try:
            found: Later | Steps[Later | None] | None = handle(self._services, pending, request)
        except Exception as error:  # noqa: BLE001 - the last to know what a request came to
            self._refuse(pending, request, error)
            return None
        return found

    def _handle_admitted(
        self, row: _Row, pending: PendingRequest, request: Request
    ) -> Later | Steps[Later | None] | None:
        """What its client may ask for."""
        access = self._services.access
        assert access is not None
        steps = admit(access, pending, request, row.api)
        if pending.slices is not None:
            return self._admitted_in_slices(row, pending, request, steps)
        try:
            if not at_once(steps):
                return None
        except BrokerError as error:
            self._refuse(pending, request, error)
            return None
        return self._handle(row, pending, request, is_admitted=True)

    def _admitted_in_slices(
        self, row: _Row, pending: PendingRequest, request: Request, steps: Steps[bool]
    ) -> Steps[Later | None]:
        if not (yield from steps):
            return None
        rest = self._handle(row, pending, request, is_admitted=True)
        if isinstance(rest, GeneratorType):
            rest = yield from rest
        return cast("Later | None", rest)

    def _later(self, pending: PendingRequest, request: Request, later: Later) -> None:
        task = begin(self._services.tasks, self._answer(pending, request, later))
        if task is None:
            pending.connection.hang_up("the broker is stopping")
            return
        self._answering[task] = None
        task.add_done_callback(self._answering.pop)

    # What is done in slices

    def _run(self, pending: PendingRequest, steps: Steps[None]) -> None:
        """The requests behind it on its connection wait, so they still begin in their order."""
        connection = pending.connection
        connection.hold()

        def to_the_end() -> Steps[None]:
            yield from steps
            connection.release()

        self._slices.begin(to_the_end(), lambda: connection.is_over)

    def _decoded_in_slices(
        self, row: _Row, pending: PendingRequest, frame: bytearray, at: int
    ) -> Steps[None]:
        request_type = APIS[pending.key].request
        try:
            found = yield from decode_in_slices(request_type, pending.version, frame, at)
        except (MalformedRequest, UnsupportedVersion) as error:
            pending.connection.hang_up(f"a request that cannot be read: {error}")
            return
        request = pending.request = found[0]
        rest = self._handle(row, pending, request)
        if isinstance(rest, GeneratorType):
            yield from self._handled_in_slices(pending, request, rest)
        elif rest is not None:
            self._later(pending, request, cast("Later", rest))

    def _handled_in_slices(
        self, pending: PendingRequest, request: Request, steps: Steps[Later | None]
    ) -> Steps[None]:
        try:
            later = yield from steps
        except Exception as error:  # noqa: BLE001 - the last to know what a request came to
            self._refuse(pending, request, error)
            return
        if later is not None:
            self._later(pending, request, later)

    async def _answer(self, pending: PendingRequest, request: Request, later: Later) -> None:
        """No request may end its task with an error: that would be the end of the broker."""
        try:
            found = later()
            if pending.charge is not None:
                found = pending.charge.timed(found)
            pending.answer(await found)
        except asyncio.CancelledError:
            self._refuse(pending, request, BrokerStops("the broker stops"))
            raise
        except Exception as error:  # noqa: BLE001 - the last to know what a request came to
            self._refuse(pending, request, error)

    def _refuse(self, pending: PendingRequest, request: Request, error: Exception) -> None:
        """The whole request, for one reason. What was answered before stays so."""
        if isinstance(error, MalformedRequest):
            pending.connection.hang_up(f"an invalid request: {error}")
            return
        code, text = ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR.sentence
        if isinstance(error, BrokerError):
            code, text = error.code, str(error)
        else:
            pending.connection.note_bug(APIS[pending.key].name, error)
        if pending.chunks is not None:
            return
        steps = self._refusal(pending, request, code, text)
        if pending.slices is None:
            at_once(steps)
        else:
            pending.slices.begin(steps, lambda: pending.connection.is_over)

    def _refusal(
        self, pending: PendingRequest, request: Request, code: ErrorCode, text: str
    ) -> Steps[None]:
        refuse = self._offered[pending.key].refuse

        def refuse_rows(part: Request) -> Response | None:
            return refuse(part, pending.version, code, text)

        try:
            if pending.slices is None:
                refusal = refuse_rows(request)
            else:
                refusal = yield from refused_in_slices(refuse_rows, request)
            if refusal is None:
                if self._services.audit is not None:
                    self._services.audit.on_no_answer(pending, request, code)
                pending.connection.hang_up(f"a request without a response has failed: {text}")
            else:
                pending.answer(refusal)
        except Exception as fault:  # noqa: BLE001 - the refusal itself has failed
            pending.connection.note_bug(APIS[pending.key].name, fault)
            pending.connection.hang_up("internal error, logged as request.failed")

    def _on_unsupported(
        self, connection: Connection, frame: bytearray, error: UnsupportedRequest
    ) -> None:
        if error.key != API_VERSIONS or API_VERSIONS not in self._offered:
            connection.hang_up(f"a request that is not offered: {self._offer_of(error)}")
            return
        pending = connection.begin(API_VERSIONS, 0, error.correlation_id, "", frame)
        pending.answer(api_versions.table(self._offered.values(), ErrorCode.UNSUPPORTED_VERSION))

    def _offer_of(self, error: UnsupportedRequest) -> str:
        """What is offered instead."""
        api = self._offered.get(error.key)
        if api is None:
            return str(error)
        first, last = api.offered.start, api.offered.stop - 1
        return f"{APIS[error.key].name} v{error.version}: {first} to {last} are offered"


def _too_old(api: Api, version: int) -> str:
    served = api.versions
    return f"{APIS[api.key].name} v{version}: {served.start} to {served.stop - 1} are served"
