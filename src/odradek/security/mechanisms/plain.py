"""PLAIN (RFC 4616): name and password in one token. It protects nothing without TLS below it.

The token is `authorization NUL name NUL password`. The authorization is empty or the name itself:
nobody acts for somebody else. Known and unknown users take the same steps.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import Proven
from odradek.security.principal import user

PARTS: Final = 3
WRONG: Final = "Authentication failed: Invalid username or password"


class PlainServer:
    """Users and passwords of one listener."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users

    def evaluate(self, token: bytes) -> Proven:
        """The only token."""
        name, password = _parts(token)
        known = self._users.get(name)
        is_same = hmac.compare_digest(_digest(password), _digest(known or ""))
        if known is None or not is_same:
            raise AuthenticationFailed(WRONG)
        return Proven(b"", user(name))


class PlainClient:
    """Says a name and a password."""

    def __init__(self, name: str, password: str) -> None:
        self._token = b"\0" + name.encode() + b"\0" + password.encode()

    def first(self) -> bytes:
        """All that there is to say."""
        return self._token

    def respond(self, challenge: bytes) -> None:
        """The server has nothing to prove."""
        if challenge:
            raise AuthenticationFailed("PLAIN: the server answered with a token, and has none")


def _parts(token: bytes) -> tuple[str, str]:
    try:
        parts = token.decode().split("\0")
    except UnicodeDecodeError:
        raise AuthenticationFailed("Invalid SASL/PLAIN response: it is not UTF-8") from None
    if len(parts) != PARTS:
        raise AuthenticationFailed(
            f"Invalid SASL/PLAIN response: expected {PARTS} tokens, got {len(parts)}"
        )
    authorization, name, password = parts
    if not name or not password:
        missing = "password" if name else "username"
        raise AuthenticationFailed(f"Authentication failed: {missing} not specified")
    if authorization not in {"", name}:
        raise AuthenticationFailed(
            "Authentication failed: Client requested an authorization id that is different from "
            "username"
        )
    return name, password


def _digest(password: str) -> bytes:
    return sha256(password.encode("utf-8", "surrogatepass")).digest()
