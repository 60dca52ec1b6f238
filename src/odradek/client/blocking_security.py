"""TLS and a login on a blocking socket, before it carries requests."""

import secrets
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from odradek.client.blocking_wire import TlsWire, Wire, now
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis
from odradek.peers.errors import ConnectionGone, NotAuthenticated, TlsFailed, connection_ended
from odradek.ports import Address
from odradek.security.client_exchange import ClientExchange
from odradek.security.client_settings import client_security
from odradek.security.tls_contexts import client_context

LOGIN_MS: Final = Millis(10 * SECOND)


class BlockingSecurity:
    """What the settings of a client ask for; the same for all its connections."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        security = client_security(settings)
        self._context = None if security.tls is None else client_context(security.tls, _read_file)
        self._mechanism = security.mechanism or ""
        self._make = security.mechanism_maker(secrets.token_bytes)

    def secured(self, plain: socket.socket, address: Address, client_id: str) -> Wire:
        """A connection over which a name was proven, if one is asked for."""
        wire = Wire(plain)
        if self._context is not None:
            try:
                name = address[0].rstrip(".")
                wire = TlsWire(self._context.wrap_socket(plain, server_hostname=name))
            except (OSError, ValueError) as error:
                raise _tls_failed(address, error) from error
        if self._make is not None:
            self._log_in(wire, address, ClientExchange(self._mechanism, self._make(), client_id))
        return wire

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
