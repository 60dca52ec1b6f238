"""From a frame to its handler, and from what went wrong there to an answer.

What a client did wrong has a code, and the handler's own module knows the response that carries
it. A request that cannot be read leaves nothing to answer: its connection is closed. Anything else
that is raised is our mistake; it is logged with its trace and answered as an unknown error.

A client that asks for what is not offered is disconnected, as Kafka does, but told the versions
first if that is what it asked for.
"""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import structlog

from odradek.broker.connection import Connection
from odradek.broker.exchange import Api, Exchange
from odradek.broker.handlers import api_versions
from odradek.broker.services import Services
from odradek.model.errors import BrokerError, ErrorCode, MalformedRequest, UnsupportedVersion
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.codec import decoder
from odradek.wire.headers import UnsupportedRequest, read_request_header
from odradek.wire.messages.headers import RequestHeader
from odradek.wire.schema import Request

log = structlog.get_logger()


class _Row(NamedTuple):
    """What is looked up for each request."""

    api: Api
    request: type[Request]
    is_coroutine: bool


class Dispatch:
    """The table of APIs, ready for requests."""

    def __init__(self, services: Services, offered: Mapping[int, Api]) -> None:
        self._services = services
        self._rows = {
            key: _Row(api, APIS[key].request, inspect.iscoroutinefunction(api.handle))
            for key, api in offered.items()
        }
        self._offered = offered

    def on_frame(self, connection: Connection, frame: bytearray) -> None:
        """Begins one request."""
        try:
            header, position = read_request_header(frame)
            row, version = self._find(header), header.request_api_version
            request = decoder(row.request, version)(frame, position)[0]
        except UnsupportedRequest as error:
            self._on_unsupported(connection, frame, error)
            return
        except (MalformedRequest, UnsupportedVersion) as error:
            connection.hang_up(f"a request that cannot be read: {error}")
            return
        exchange = Exchange(
            connection,
            row.api,
            version,
            header.correlation_id,
            header.client_id or "",
            frame,
            connection.arrived_at,
        )
        connection.row.append(exchange)
        if version not in row.api.versions:
            self._refuse(exchange, request, UnsupportedVersion(_too_old(row.api, version)))
        elif row.is_coroutine:
            work = self._answer(exchange, request)
            self._services.tasks.create_task(work)
        else:
            self._call(exchange, request)

    def _find(self, header: RequestHeader) -> _Row:
        key, version = header.request_api_key, header.request_api_version
        row = self._rows.get(key)
        if row is None or version not in row.api.offered:
            raise UnsupportedRequest(key, version, header.correlation_id)
        return row

    def _call(self, exchange: Exchange, request: Request) -> None:
        """A plain handler, which answers by itself."""
        try:
            exchange.api.handle(self._services, exchange, request)
        except Exception as error:  # noqa: BLE001 - the last to know what a request came to
            self._refuse(exchange, request, error)

    async def _answer(self, exchange: Exchange, request: Request) -> None:
        """A coroutine, whose result is the answer."""
        try:
            answer: Any = exchange.api.handle(self._services, exchange, request)
            exchange.answer(await answer)
        except Exception as error:  # noqa: BLE001 - the last to know what a request came to
            self._refuse(exchange, request, error)

    def _refuse(self, exchange: Exchange, request: Request, error: Exception) -> None:
        """The whole request, for one reason. What was answered before stays so."""
        if isinstance(error, MalformedRequest):
            exchange.connection.hang_up(f"a request that makes no sense: {error}")
            return
        code, text = ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR.sentence
        if isinstance(error, BrokerError):
            code, text = error.code, str(error)
        else:
            log.error("request.failed", api=APIS[exchange.api.key].name, exc_info=error)
        if exchange.chunks is None:
            exchange.answer(exchange.api.refuse(request, exchange.version, code, text))

    def _on_unsupported(
        self, connection: Connection, frame: bytearray, error: UnsupportedRequest
    ) -> None:
        if error.key != API_VERSIONS or API_VERSIONS not in self._rows:
            connection.hang_up(f"a request that is not offered: {error}")
            return
        api = self._offered[API_VERSIONS]
        exchange = Exchange(
            connection, api, 0, error.correlation_id, "", frame, connection.arrived_at
        )
        connection.row.append(exchange)
        exchange.answer(api_versions.table(self._offered.values(), ErrorCode.UNSUPPORTED_VERSION))


def _too_old(api: Api, version: int) -> str:
    served = api.versions
    return f"{APIS[api.key].name} v{version}: {served.start} to {served.stop - 1} are served"
