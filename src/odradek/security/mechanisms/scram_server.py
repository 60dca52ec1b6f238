"""SCRAM, the listener's side: two tokens, and nothing is believed before the second.

A user who does not exist is asked for a proof like any other, with a salt that looks like one, and
refused in the same words. Extensions are refused: `tokenauth` is the only one that Kafka has, and
there are no delegation tokens here. There is no channel binding, as with Kafka.
"""

import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import Challenge, Proven
from odradek.security.mechanisms.scram import (
    Scram,
    ScramCredential,
    decoded,
    encoded,
    exclusive_or,
    imagined,
    message_text,
)
from odradek.security.principal import user

_NAME: Final = r"(?:[^=,\x00]|=2C|=3D)+"
_NONCE: Final = r"[\x21-\x2B\x2D-\x7E]+"
_FIRST = re.compile(
    rf"(?P<binding>[^,]*),(?:a=(?P<authorization>{_NAME}))?,"
    rf"(?P<bare>(?P<reserved>m=[^,]*,)?n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})"
    rf"(?P<extensions>(?:,[A-Za-z]+=[^,]*)*))"
)
_LAST = re.compile(
    rf"(?P<unproven>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>{_NONCE})"
    rf"(?:,[A-Za-z]+=[^,]*)*),p=(?P<proof>[A-Za-z0-9+/=]+)"
)

Lookup = Callable[[str], ScramCredential | None]
"""The credential of a user, for this mechanism."""


class ScramServer:
    """One conversation. `secret` is the same on all brokers; `nonce` was never used before."""

    def __init__(self, scram: Scram, lookup: Lookup, *, secret: bytes, nonce: bytes) -> None:
        self._scram = scram
        self._lookup = lookup
        self._secret = secret
        self._fresh = encoded(nonce)
        self._begun: _Begun | None = None
        self._is_over = False

    def evaluate(self, token: bytes) -> Challenge | Proven:
        """The first token, and then the second."""
        if self._is_over:
            raise AuthenticationFailed("SCRAM: the conversation is over")
        text = message_text(token)
        if self._begun is None:
            self._begun = self._begin(text)
            return Challenge(self._begun.server_first.encode())
        self._is_over = True
        return self._end(self._begun, text)

    def _begin(self, text: str) -> "_Begun":
        match = _FIRST.fullmatch(text)
        if match is None:
            raise AuthenticationFailed("SCRAM: the first message of the client is malformed")
        name = _plain(match["name"])
        _check_wishes(match, name)
        known = self._lookup(name)
        credential = known or imagined(self._scram, name, self._secret)
        nonce = match["nonce"] + self._fresh
        server_first = f"r={nonce},s={encoded(credential.salt)},i={credential.rounds}"
        header = text[: len(text) - len(match["bare"])]
        return _Begun(name, credential, nonce, header, match["bare"], server_first)

    def _end(self, begun: "_Begun", text: str) -> Proven:
        match = _LAST.fullmatch(text)
        if match is None:
            raise AuthenticationFailed("SCRAM: the last message of the client is malformed")
        if match["nonce"] != begun.nonce:
            raise AuthenticationFailed("SCRAM: the nonce is not the one of this conversation")
        if decoded(match["binding"]) != begun.header.encode():
            raise AuthenticationFailed("SCRAM: the channel binding is not the one announced")
        said = f"{begun.bare},{begun.server_first},{match['unproven']}".encode()
        is_of_now = self._lookup(begun.name) == begun.credential
        self._check_proof(begun, decoded(match["proof"]), said, is_of_now=is_of_now)
        signature = self._scram.mac(begun.credential.server_key, said)
        return Proven(f"v={encoded(signature)}".encode(), user(begun.name))

    def _check_proof(self, begun: "_Begun", proof: bytes, said: bytes, *, is_of_now: bool) -> None:
        """The same steps for a user who does not exist, whose proof never fits.

        A user who was removed since the first token, or has another password, is one of those.
        """
        scram, stored = self._scram, begun.credential.stored_key
        proof = proof if len(proof) == scram.size else b"\0" * scram.size
        key = exclusive_or(proof, scram.mac(stored, said))
        is_right = hmac.compare_digest(scram.digest(key), stored)
        if not (is_right and is_of_now):
            raise AuthenticationFailed(
                "Authentication failed during authentication due to invalid credentials with SASL "
                f"mechanism {scram.name}"
            )


class _Begun(NamedTuple):
    """What the first message has said, and what was answered."""

    name: str
    credential: ScramCredential
    nonce: str  # the client's and ours
    header: str
    bare: str
    server_first: str


def _check_wishes(match: re.Match[str], name: str) -> None:
    if match["binding"] not in {"n", "y"}:
        raise AuthenticationFailed("SCRAM: channel binding is not supported")
    if match["reserved"] or match["extensions"]:
        raise AuthenticationFailed("SCRAM: extensions and delegation tokens are not supported")
    if match["authorization"] and _plain(match["authorization"]) != name:
        raise AuthenticationFailed(
            "Authentication failed: Client requested an authorization id that is different from "
            "username"
        )


def _plain(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
