"""DIGEST-MD5 (RFC 2831), as ZooKeeper speaks it: a name and a proof of its password, both ways.

The server begins. It names a realm and a nonce; the client answers with a nonce of its own and a
hash in which the password is; the server proves with another one that it knows the password, too.
Only `auth` is spoken: a name is proven, what follows is neither signed nor encrypted. MD5 is weak:
use it over TLS. Names and passwords within Latin-1 are hashed as such, others in UTF-8.
"""

import hmac
import re
from collections.abc import Mapping
from hashlib import md5
from typing import Final, NamedTuple

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import Challenge, Proven
from odradek.security.principal import user

DIGEST_MD5: Final = "DIGEST-MD5"
REALM: Final = "zk-sasl-md5"
URI: Final = "zookeeper/zk-sasl-md5"
TOKEN_BYTES_MAX: Final = 4096
COUNT: Final = "00000001"
"""Each nonce is used once."""
WRONG: Final = "DIGEST-MD5: the name or the password is wrong"
_DIRECTIVE = re.compile(r'\s*([a-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r'(["\\])')


class Said(NamedTuple):
    """What both proofs are made of, beside the password."""

    name: str
    realm: str
    nonce: str
    cnonce: str
    uri: str
    authorization: str | None


class DigestServer:
    """One conversation of a server that knows these users; `nonce` was never used before."""

    def __init__(self, users: Mapping[str, str], *, nonce: bytes) -> None:
        self._users = users
        self._nonce = nonce.hex()
        self._has_challenged = False

    def evaluate(self, token: bytes) -> Challenge | Proven:
        """The challenge to the first token, which is empty; the server's own proof to the second.

        Known and unknown users take the same steps.
        """
        if not self._has_challenged:
            if token:
                raise AuthenticationFailed("DIGEST-MD5: the server begins")
            self._has_challenged = True
            return Challenge(
                f'realm="{REALM}",nonce="{self._nonce}",qop="auth",charset=utf-8,'
                "algorithm=md5-sess".encode()
            )
        return self._prove(_directives(token))

    def _prove(self, found: Mapping[str, str]) -> Proven:
        nonce, self._nonce = self._nonce, ""
        expected = {"nonce": nonce, "realm": REALM, "digest-uri": URI, "nc": COUNT}
        name, cnonce = found.get("username", ""), found.get("cnonce")
        if (
            not nonce
            or not cnonce
            or any(found.get(each) != text for each, text in expected.items())
            or found.get("qop", "auth") != "auth"
        ):
            raise AuthenticationFailed("DIGEST-MD5: this is no answer to the challenge")
        said = Said(name, REALM, nonce, cnonce, URI, found.get("authzid"))
        known = self._users.get(said.name)
        proof = proof_of(said, known or "", "AUTHENTICATE")
        is_same = hmac.compare_digest(proof.encode(), found.get("response", "").encode())
        if known is None or not is_same:
            raise AuthenticationFailed(WRONG)
        if said.authorization not in {None, "", said.name}:
            raise AuthenticationFailed("DIGEST-MD5: nobody acts for somebody else")
        return Proven(f"rspauth={proof_of(said, known, '')}".encode(), user(said.name))


class DigestClient:
    """One conversation; `nonce` was never used before."""

    def __init__(self, name: str, password: str, *, nonce: bytes) -> None:
        self._name = name
        self._password = password
        self._cnonce = nonce.hex()
        self._expected: str | None = None  # the server's proof

    def first(self) -> bytes:
        """Nothing: the server begins."""
        return b""

    def respond(self, challenge: bytes) -> bytes | None:
        """The proof, and then nothing more."""
        found = _directives(challenge)
        if self._expected is None:
            return self._prove(found)
        if not hmac.compare_digest(found.get("rspauth", "").encode(), self._expected.encode()):
            raise AuthenticationFailed("DIGEST-MD5: the server does not know the password")
        return None

    def _prove(self, found: Mapping[str, str]) -> bytes:
        nonce, offered = found.get("nonce"), found.get("qop", "auth").replace(" ", "").split(",")
        if not nonce or found.get("algorithm") != "md5-sess" or "auth" not in offered:
            raise AuthenticationFailed("DIGEST-MD5: the server's challenge is malformed")
        realm = found.get("realm", "")
        said = Said(self._name, realm, nonce, self._cnonce, URI, None)
        self._expected = proof_of(said, self._password, "")
        quoted = {
            "username": self._name,
            "realm": realm,
            "nonce": nonce,
            "cnonce": self._cnonce,
            "digest-uri": URI,
        }
        words = [f'{name}="{_SPECIAL.sub(_BACKSLASH, text)}"' for name, text in quoted.items()]
        proof = proof_of(said, self._password, "AUTHENTICATE")
        return ",".join(
            ["charset=utf-8", *words, f"nc={COUNT}", "qop=auth", f"response={proof}"]
        ).encode()


_BACKSLASH: Final = r"\\\1"


def proof_of(said: Said, password: str, verb: str) -> str:
    """The client's with AUTHENTICATE, the server's without a verb."""
    secret = b":".join(map(_latin, (said.name, said.realm, password)))
    session = b":".join((_md5(secret), said.nonce.encode(), said.cnonce.encode()))
    if said.authorization:
        session += b":" + said.authorization.encode()
    asked = f"{verb}:{said.uri}".encode()
    parts = (_md5(session).hex(), said.nonce, COUNT, said.cnonce, "auth", _md5(asked).hex())
    return _md5(":".join(parts).encode()).hex()


def _md5(data: bytes) -> bytes:
    return md5(data, usedforsecurity=False).digest()


def _latin(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _directives(token: bytes) -> dict[str, str]:
    """`name=value` and `name="value"`, with commas between them; each once."""
    if len(token) > TOKEN_BYTES_MAX:
        raise AuthenticationFailed(f"DIGEST-MD5: a token of {len(token)} bytes")
    try:
        text = token.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("DIGEST-MD5: a token that is not UTF-8") from None
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if match is None or match[1] in found:
            raise AuthenticationFailed("DIGEST-MD5: a malformed token")
        name, quoted, plain = match.groups()
        found[name] = plain if quoted is None else _ESCAPE.sub(r"\1", quoted)
        position = match.end()
    return found
