"""How a connection to another process ends, as types: what each proves, and what it does not.

Failure detection rests on the difference. A connection that the other side's kernel closed, with
a fresh connection to the same address refused, proves that the process is gone. A time-out proves
nothing: the process may be slow, stopped, or behind a cut network.
"""

import errno
from typing import Final

from odradek.model.errors import BrokerError, ErrorCode
from odradek.ports import Address

SILENT: Final = frozenset({errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN})
"""Errors of the kernel that say no more than that nothing came back."""


class ConnectionGone(BrokerError):
    """The connection is over or was never there; what was asked may have been done."""

    code = ErrorCode.NETWORK_EXCEPTION


class ConnectionRefused(ConnectionGone):
    """The machine answers, and no process listens on the port."""


class NotConnected(ConnectionGone):
    """No connection could be made, for a reason that says nothing of the other process."""


class TimedOut(ConnectionGone):
    """No answer, or no connection, in time. The other process may be alive."""


class ClosedByPeer(ConnectionGone):
    """The other side closed or reset the connection: on purpose, or because its process ended."""


class ClosedByUs(ConnectionGone):
    """This process closed the connection."""


class UnexpectedAnswer(ConnectionGone):
    """An answer to a request that is not the oldest one in flight: the connection is of no use."""


class MalformedAnswer(ConnectionGone):
    """Bytes that are no frame, or no answer to the request they should answer."""


class TlsFailed(ConnectionGone):
    """The handshake of TLS failed, or the connection ended before a name was proven."""


class NotAuthenticated(ConnectionGone):
    """The other side does not believe our name: trying again is no use."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED


def connecting_failed(address: Address, error: OSError) -> ConnectionGone:
    """What it means that `connect` raised this."""
    text = f"{address[0]}:{address[1]}: {error}"
    if error.errno == errno.ECONNREFUSED:
        return ConnectionRefused(text)
    if isinstance(error, TimeoutError) or error.errno in SILENT:
        return TimedOut(text)
    return NotConnected(text)


def connection_ended(address: Address, error: OSError | None) -> ConnectionGone:
    """What it means that an open connection ended like this, and not by our own doing."""
    where = f"{address[0]}:{address[1]}"
    if error is None:
        return ClosedByPeer(f"{where} closed the connection")
    if isinstance(error, TimeoutError) or error.errno in SILENT:
        return TimedOut(f"{where}: {error}")
    return ClosedByPeer(f"{where}: {error}")
