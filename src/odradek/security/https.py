"""Documents by HTTPS: an issuer's keys, and tokens of its endpoint. It blocks.

The system's certificates are believed. What is not https is not asked, also where an answer leads
there, and a document has a largest size. An answer has one deadline for all of it, so that an
issuer that sends a byte a second holds no thread for longer. Nothing of an answer is shown: it may
be a token.
"""

import socket
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from typing import Any, Final, cast
from urllib.error import HTTPError

from odradek.config.kinds import Secret
from odradek.model.units import SECOND, Millis
from odradek.security.token_endpoint import ISSUER_MS_MAX

BYTES_MAX: Final = 1 << 20
SCHEME: Final = "https://"

Left = Callable[[], float]
"""The seconds until the deadline; TimeoutError behind it."""


class Https:
    """Asks; `monotonic` says what time it is."""

    def __init__(self, monotonic: Callable[[], Millis], limit: Millis = ISSUER_MS_MAX) -> None:
        self._monotonic = monotonic
        self._limit = limit

    def read(self, url: str) -> bytes:
        """Its content; an OSError says why it cannot be had."""
        return self._asked(urllib.request.Request(url))  # noqa: S310 - only https is opened

    def post(self, url: str, form: bytes, head: Mapping[str, Secret]) -> bytes:
        """The answer to a form."""
        shown = {name: it.value for name, it in head.items()}
        return self._asked(urllib.request.Request(url, form, shown, method="POST"))  # noqa: S310 - as above

    def _asked(self, request: urllib.request.Request) -> bytes:
        if request.type != "https":
            raise OSError("only https is read")
        left = self._deadline()
        opener = urllib.request.build_opener(_OnlyHttps, _InTime(left))
        try:
            with opener.open(request, timeout=left()) as answer:
                data: bytes = answer.read(BYTES_MAX + 1)
        except HTTPError as error:
            with error:
                raise OSError(f"it answers {error.code}") from None
        except (HTTPException, ValueError) as error:  # the latter of an address that is none
            raise OSError(f"it cannot be asked: {type(error).__name__}") from None
        if len(data) > BYTES_MAX:
            raise OSError(f"it is larger than {BYTES_MAX} bytes")
        return data

    def _deadline(self) -> Left:
        end = self._monotonic() + self._limit

        def left() -> float:
            millis = end - self._monotonic()
            if millis <= 0:
                raise TimeoutError(f"it has not answered in {self._limit} ms")
            return millis / SECOND

        return left


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *asked: Any) -> urllib.request.Request | None:
        if not asked[-1].startswith(SCHEME):
            raise OSError("it leads to an address that is not https")
        if asked[0].data is not None:
            raise OSError("it leads elsewhere, and a secret is not shown there")
        return super().redirect_request(*asked)


class _InTime(urllib.request.HTTPSHandler):
    """Connections whose every step ends at the deadline."""

    def __init__(self, left: Left) -> None:
        super().__init__()
        self._left = left

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        def connection(host: str, **_: Any) -> "_Connection":
            return _Connection(host, self._left)

        return self.do_open(cast("Any", connection), req)


class _Connection(HTTPSConnection):
    def __init__(self, host: str, left: Left) -> None:
        super().__init__(host, timeout=left())
        self._left = left
        self.response_class = self._answer  # type: ignore[assignment]

    def connect(self) -> None:
        self.timeout = self._left()
        super().connect()
        self.sock.settimeout(self._left())

    def _answer(self, sock: socket.socket, *args: Any, **named: Any) -> HTTPResponse:
        return HTTPResponse(cast("socket.socket", _Source(sock, self._left)), *args, **named)


class _Source(RawIOBase):
    """A socket, as far as an answer reads it: each read has what is left of the time."""

    def __init__(self, sock: socket.socket, left: Left) -> None:
        super().__init__()
        self._file = sock.makefile("rb", buffering=0)
        self._sock = sock
        self._left = left

    def makefile(self, mode: str) -> BufferedReader:
        """As an answer asks for it."""
        assert mode == "rb", mode
        return BufferedReader(self)

    def readable(self) -> bool:
        """For the buffer."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Some bytes."""
        self._sock.settimeout(self._left())
        return self._file.readinto(buffer)

    def close(self) -> None:
        """The socket goes with its last user."""
        self._file.close()
        super().close()
