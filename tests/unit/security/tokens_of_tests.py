"""An issuer of tokens: its keys, and tokens right and wrong."""

import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from odradek.model.units import Timestamp

NOW = Timestamp(1_800_000_000_000)
ISSUER, AUDIENCE = "https://issuer.example", "kafka"
RSA_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
SMALL_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def row(key: Any, number: str | None, **more: str) -> dict[str, Any]:
    """A key as a set has it."""
    kind = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    named = {} if number is None else {"kid": number}
    return {**kind.to_jwk(key.public_key(), as_dict=True), **named, **more}


def key_set(*rows: dict[str, Any]) -> bytes:
    """As an issuer publishes it."""
    found = rows or (row(RSA_KEY, "one", use="sig"), row(EC_KEY, "two", alg="ES256"))
    return json.dumps({"keys": found}).encode()


def claims(now: int = NOW, **other: Any) -> dict[str, Any]:
    """Of alice, for an hour; None takes one away."""
    seconds = now // 1_000
    found = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": seconds + 3_600, **other}
    return {name: it for name, it in found.items() if it is not None}


def token(
    said: dict[str, Any] | None = None,
    key: Any = RSA_KEY,
    algorithm: str = "RS256",
    **head: Any,
) -> str:
    """Signed."""
    found = claims() if said is None else said
    named = {name: it for name, it in {"kid": "one", **head}.items() if it is not None}
    made: str = jwt.PyJWS().encode(json.dumps(found).encode(), key, algorithm, headers=named)
    return made
