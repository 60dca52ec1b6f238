"""SCRAM, the client's side: it proves its password, and asks the server for a proof, too."""

import hmac
import re
from functools import lru_cache
from typing import Final

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.scram import (
    ROUNDS_ASKED_MAX,
    SCRAMS,
    Scram,
    decoded,
    encoded,
    exclusive_or,
    message_text,
)

HEADER: Final = "n,,"
_FIRST = re.compile(r"r=([\x21-\x2B\x2D-\x7E]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,10})(?:,.*)?")


@lru_cache(maxsize=64)
def _salted(scram: str, password: str, salt: bytes, rounds: int) -> bytes:
    """Brokers and clients connect often with one password; the rounds take milliseconds."""
    return SCRAMS[scram].salted(password, salt, rounds)


class ScramClient:
    """One conversation; `nonce` was never used before."""

    def __init__(self, scram: Scram, name: str, password: str, *, nonce: bytes) -> None:
        self._scram = scram
        self._password = password
        self._nonce = encoded(nonce)
        escaped = name.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={self._nonce}"
        self._expected: bytes | None = None  # the server's signature

    def first(self) -> bytes:
        """Who we are."""
        return f"{HEADER}{self._bare}".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """The proof, and then nothing more."""
        text = message_text(challenge)
        if self._expected is None:
            return self._prove(text)
        signature = decoded(text.removeprefix("v="))
        if not text.startswith("v=") or not hmac.compare_digest(signature, self._expected):
            raise AuthenticationFailed("SCRAM: the server does not know the password's credential")
        return None

    def _prove(self, server_first: str) -> bytes:
        match = _FIRST.fullmatch(server_first)
        if match is None or not match[1].startswith(self._nonce) or match[1] == self._nonce:
            raise AuthenticationFailed("SCRAM: the first message of the server is malformed")
        rounds = int(match[3])
        if not 0 < rounds <= ROUNDS_ASKED_MAX:
            raise AuthenticationFailed(f"SCRAM: the server asks for {rounds} iterations")
        scram = self._scram
        salted = _salted(scram.name, self._password, decoded(match[2]), rounds)
        key = scram.mac(salted, b"Client Key")
        unproven = f"c={encoded(HEADER.encode())},r={match[1]}"
        said = f"{self._bare},{server_first},{unproven}".encode()
        proof = exclusive_or(key, scram.mac(scram.digest(key), said))
        self._expected = scram.mac(scram.mac(salted, b"Server Key"), said)
        return f"{unproven},p={encoded(proof)}".encode()
