"""SCRAM (RFC 5802, 7677): what both sides compute, and the credential that a cluster keeps.

A cluster keeps no password: `stored_key` recognises the client's proof, `server_key` makes the
server's own. Kafka keeps both as text in `/config/users/<user>`, under the mechanism's name, and
takes passwords as UTF-8 without SASLprep; so do we.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Final, NamedTuple

from odradek.security.errors import AuthenticationFailed

ROUNDS_MIN: Final = 4_096
ROUNDS_MAX: Final = 16_384
"""Bounds of an alteration (KIP-554); what ZooKeeper holds is served as it is."""
ROUNDS_ASKED_MAX: Final = 100_000
"""A server that asks a client for more wants to keep it busy."""
MESSAGE_BYTES_MAX: Final = 8 * 1_024
_CREDENTIAL = re.compile(
    r"salt=([A-Za-z0-9+/=]*),stored_key=([A-Za-z0-9+/=]+),server_key=([A-Za-z0-9+/=]+),"
    r"iterations=([0-9]{1,9})"
)


class Scram(NamedTuple):
    """One of the two mechanisms."""

    name: str
    number: int  # in requests about credentials
    hash_name: str
    size: int  # bytes of its hash

    def salted(self, password: str, salt: bytes, rounds: int) -> bytes:
        """What a password is worth with this salt; the expensive step."""
        return hashlib.pbkdf2_hmac(self.hash_name, password.encode(), salt, rounds)

    def mac(self, key: bytes, message: bytes) -> bytes:
        """HMAC with this hash."""
        return hmac.digest(key, message, self.hash_name)

    def digest(self, data: bytes) -> bytes:
        """This hash."""
        return hashlib.new(self.hash_name, data).digest()

    def credential(self, salted: bytes, salt: bytes, rounds: int) -> "ScramCredential":
        """What a cluster keeps of a salted password."""
        stored = self.digest(self.mac(salted, b"Client Key"))
        return ScramCredential(salt, stored, self.mac(salted, b"Server Key"), rounds)


SHA_256: Final = Scram("SCRAM-SHA-256", 1, "sha256", 32)
SHA_512: Final = Scram("SCRAM-SHA-512", 2, "sha512", 64)
SCRAMS: Final = {it.name: it for it in (SHA_256, SHA_512)}
BY_NUMBER: Final = {it.number: it for it in (SHA_256, SHA_512)}


class ScramCredential(NamedTuple):
    """Of one user, for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    rounds: int

    def __repr__(self) -> str:
        return f"ScramCredential(rounds={self.rounds})"

    def text(self) -> str:
        """As Kafka writes it."""
        salt, stored, server = map(encoded, self[:3])
        return f"salt={salt},stored_key={stored},server_key={server},iterations={self.rounds}"

    @classmethod
    def parse(cls, text: str) -> "ScramCredential | None":
        """Of Kafka's text; None if it is none."""
        match = _CREDENTIAL.fullmatch(text)
        if match is None:
            return None
        try:
            salt, stored, server = map(decoded, match.group(1, 2, 3))
        except AuthenticationFailed:
            return None
        return cls(salt, stored, server, int(match[4])) if int(match[4]) else None


def imagined(scram: Scram, name: str, secret: bytes) -> ScramCredential:
    """The credential of a user who does not exist: no proof fits it.

    Its salt never changes and is the same on all brokers, which have the same secret; so a stranger
    cannot tell that there is no such user.
    """
    seed = scram.mac(secret, f"{scram.name} {name}".encode("utf-8", "surrogatepass"))
    return ScramCredential(seed[:16], seed[: scram.size], scram.digest(seed), ROUNDS_MIN)


def encoded(data: bytes) -> str:
    """Base64."""
    return b64encode(data).decode()


def decoded(text: str) -> bytes:
    """Of base64."""
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise AuthenticationFailed("SCRAM: a part of a message is not base64") from None


def message_text(token: bytes) -> str:
    """A message of bounded size, as text."""
    if len(token) > MESSAGE_BYTES_MAX:
        raise AuthenticationFailed(f"SCRAM: a message of {len(token)} bytes")
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("SCRAM: a message that is not UTF-8") from None


def exclusive_or(left: bytes, right: bytes) -> bytes:
    """Of two texts of equal length."""
    size = len(left)
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(size, "big")
