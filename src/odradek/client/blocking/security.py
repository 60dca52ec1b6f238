"""TLS and a login on a blocking socket, before it carries requests."""

import secrets
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from odradek.client.blocking.wire import TlsWire, Wire, now
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis
from odradek.peers.errors import ConnectionGone, NotAuthenticated, TlsFailed, connection_ended
from odradek.ports import Address
from odradek.security.certificates.tls_contexts import client_context
from odradek.security.client_settings import client_security
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.client_exchange import ClientConversation, ClientExchange
from odradek.security.mechanisms.mechanism import NewClientMechanism
from odradek.security.mechanisms.oauth import OAuthClient
from odradek.security.token_endpoint import token_of

LOGIN_MS: Final = Millis(10 * SECOND)


class BlockingSecurity:
    """What the settings of a client ask for; the same for all its connections."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        security = client_security(settings)
        self._context = None if security.tls is None else client_context(security.tls, _read_file)
        self._mechanism = security.mechanism or ""
        self._make = security.mechanism_maker(secrets.token_bytes)
        self._endpoint = security.endpoint

    def ready(self, address: Address) -> NewClientMechanism | None:
        """What logs in; a token is asked for before a connection is made, which then waits less."""
        if self._endpoint is None:
            return self._make
        from odradek.security.https import Https  # noqa: PLC0415 - slow to import, and seldom used

        try:
            mechanism = OAuthClient(token_of(self._endpoint, _read_file, Https(now).post))
        except AuthenticationFailed as error:
            raise NotAuthenticated(f"{address[0]}:{address[1]}: {error}") from error
        return lambda: mechanism

    def secured(
        self,
        plain: socket.socket,
        address: Address,
        client_id: str,
        make: NewClientMechanism | None,
    ) -> tuple[Wire, Millis]:
        """A connection over which a name was proven, if one is asked for, and for how long."""
        wire = Wire(plain)
        if self._context is not None:
            try:
                name = address[0].rstrip(".")
                wire = TlsWire(self._context.wrap_socket(plain, server_hostname=name))
            except (OSError, ValueError) as error:
                raise _tls_failed(address, error) from error
        session_ms = Millis(0)  # without an end
        if make is not None:
            exchange = ClientExchange(self._mechanism, make(), client_id)
            try:
                self._log_in(wire, address, exchange)
            except BaseException:
                wire.close()  # with TLS it is another socket than the caller's
                raise
            session_ms = exchange.session_ms
        return wire, session_ms

    def conversation(self, address: Address) -> ClientConversation:
        """Which proves the name again, on a connection that is open."""
        make = self.ready(address)
        assert make is not None, "a name was proven before"
        return ClientConversation(self._mechanism, make())

    def _log_in(self, wire: Wire, address: Address, exchange: ClientExchange) -> None:
        deadline = Millis(now() + LOGIN_MS)
        try:
            chunks = exchange.begin()
            while chunks:
                wire.send(chunks, LOGIN_MS)
                chunks = exchange.received(wire.frame(deadline))
        except EOFError:
            raise connection_ended(address, None) from None
        except OSError as error:
            raise connection_ended(address, error) from error
        except ConnectionGone:
            raise
        except BrokerError as error:
            raise NotAuthenticated(f"{address[0]}:{address[1]}: {error}") from error


def _tls_failed(address: Address, error: Exception) -> TlsFailed:
    why = str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"the certificate is not believed: {error.verify_message}"
    return TlsFailed(f"{address[0]}:{address[1]}: TLS: {why}")


def _read_file(path: str) -> bytes:
    return Path(path).read_bytes()
