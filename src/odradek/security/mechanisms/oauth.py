r"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a token of OAuth in one message.

The message is `n,,\x01auth=Bearer TOKEN\x01\x01`. A token that is not believed is answered with a
challenge in JSON; the client says `\x01` to it, and is refused. Extensions are not looked at.
"""

import re
from collections.abc import Callable
from typing import Final

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import Challenge, Proven
from odradek.security.principal import user
from odradek.security.tokens import Claims

INVALID_TOKEN: Final = b'{"status":"invalid_token"}'
SEEN: Final = b"\x01"
_FIRST = re.compile(
    rb"n,(?:a=(?P<authorization>[^,\x00\x01]*))?,\x01"
    rb"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7E \t\r\n]*\x01)+)\x01"
)
_BEARER = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +(?P<token>[-A-Za-z0-9._~+/]+=*)")
_TOKEN = re.compile(r"[-A-Za-z0-9._~+/]+=*")

Check = Callable[[str], Claims]
"""AuthenticationFailed says why a token is not believed."""


class OAuthServer:
    """A listener's side of one conversation."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._refused: AuthenticationFailed | None = None

    def evaluate(self, token: bytes) -> Challenge | Proven:
        """The first token; the second one only says that the refusal was read."""
        if self._refused is not None:
            raise self._refused
        authorization, said = _parts(token)
        try:
            claims = self._check(said)
        except AuthenticationFailed as error:
            self._refused = error
            return Challenge(INVALID_TOKEN, str(error))
        if authorization not in {"", claims.name}:
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different "
                "from the token's principal name"
            )
        return Proven(b"", user(claims.name), claims.left_ms)


class OAuthClient:
    """Shows a token."""

    def __init__(self, token: str) -> None:
        if _TOKEN.fullmatch(token) is None:
            raise AuthenticationFailed("OAUTHBEARER: what the token endpoint gave is no token")
        self._token = token
        self._was_refused = False

    def first(self) -> bytes:
        """All that there is to say."""
        return b"n,,\x01auth=Bearer " + self._token.encode() + b"\x01\x01"

    def respond(self, challenge: bytes) -> bytes | None:
        """A challenge is a refusal, of which the reason comes next."""
        if self._was_refused:
            raise AuthenticationFailed("OAUTHBEARER: the server refused the token and went on")
        if not challenge:
            return None
        self._was_refused = True
        return SEEN


def _parts(token: bytes) -> tuple[str, str]:
    """On whose behalf, and the token."""
    first = _FIRST.fullmatch(token)
    if first is None:
        raise AuthenticationFailed("Invalid OAUTHBEARER client first message")
    pairs = [it.partition(b"=")[::2] for it in first["pairs"].split(b"\x01")[:-1]]
    shown = [_BEARER.fullmatch(value) for name, value in pairs if name == b"auth"]
    if len(shown) != 1 or shown[0] is None:
        raise AuthenticationFailed("Invalid OAUTHBEARER client first message: auth is not Bearer")
    authorization = (first["authorization"] or b"").decode("utf-8", "replace")
    return authorization, shown[0]["token"].decode()
