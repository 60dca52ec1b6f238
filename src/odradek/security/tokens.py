"""Tokens of OAuth (JWT, RFC 7519): which are believed, and whose name they say.

A signature counts by public keys that the issuer has published (JWKS, RFC 7517), and by algorithms
that are listed; those are all asymmetric, so that no public key can pass for a shared secret, and
`none` is not among them. A key is found by its id in what was read, and by nothing that a token
says of places: `jku`, `x5u` and `jwk` are not looked at. Times and names are checked here.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from odradek.config.listeners import TOKEN_ALGORITHMS
from odradek.model.errors import InvalidSetting
from odradek.model.units import SECOND, Millis, Timestamp
from odradek.security.errors import AuthenticationFailed
from odradek.security.extra import needed

TOKEN_BYTES_MAX: Final = 64 << 10
RSA_BITS_MIN: Final = 2_048
_CURVES: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
_PUBLIC: Final = ("kty", "n", "e", "crv", "x", "y")
_WHY: Final = "OAUTHBEARER"


class UnknownKey(AuthenticationFailed):
    """The token names a key that was not read; perhaps it is a new one."""


class Key(NamedTuple):
    """A public key, and the algorithms that it is for."""

    value: Any
    algorithms: frozenset[str]


class Rules(NamedTuple):
    """What a token must be."""

    algorithms: tuple[str, ...]
    issuer: str | None  # None: any
    audiences: tuple[str, ...]  # one of them; none: any
    name_claim: str = "sub"
    skew_ms: Millis = Millis(30 * SECOND)


class Claims(NamedTuple):
    """What a token that is believed says."""

    name: str
    left_ms: Millis  # until it ends


Keys = Mapping[str | None, Key]
"""By their ids; one may have none."""


def parse_keys(data: bytes) -> Keys:
    """Those that can be used for signatures. InvalidSetting: there is none, or an id is twice."""
    try:
        rows = json.loads(data)["keys"]
        found = [(it.get("kid"), key) for it in rows if (key := _key(it)) is not None]
        keys = dict(found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidSetting(f"it is no set of keys (JWKS): {type(error).__name__}") from None
    if not keys:
        raise InvalidSetting("there is no public key for signatures in it, of RSA or EC")
    if len(keys) < len(found):
        raise InvalidSetting("two keys in it have the same id")
    return keys


def _key(row: Mapping[str, Any]) -> Key | None:
    """None: it is for something else, or is not understood."""
    if row.get("use", "sig") != "sig":
        return None
    broken = (needed("jwt", _WHY).PyJWTError, ValueError, KeyError, TypeError)
    try:
        value, fits = _public(row)
    except broken:
        return None
    said, number = row.get("alg"), row.get("kid")
    algorithms = frozenset(it for it in fits if said is None or it == said)
    if not algorithms or not isinstance(number, str | None):
        return None
    return Key(value, algorithms)


def _public(row: Mapping[str, Any]) -> tuple[Any, set[str]]:
    """A key, and the algorithms of its type. What is private in it is not looked at."""
    forms = needed("jwt.algorithms", _WHY)
    public = {name: row[name] for name in _PUBLIC if name in row}
    if row["kty"] == "EC":
        fits = {_CURVES[row["crv"]]}
        return forms.ECAlgorithm.from_jwk(public), fits
    value = forms.RSAAlgorithm.from_jwk(public)
    if value.key_size < RSA_BITS_MIN:
        raise ValueError
    return value, {it for it in TOKEN_ALGORITHMS if it.startswith(("RS", "PS"))}


def believed(token: str, keys: Keys, rules: Rules, now: Timestamp) -> Claims:
    """Whose name a token proves, and for how long. AuthenticationFailed says what is wrong."""
    if len(token) > TOKEN_BYTES_MAX:
        raise _wrong("it is too long")
    jwt = needed("jwt", _WHY)
    broken = (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError)
    try:
        header = jwt.get_unverified_header(token)
        algorithm, number = header.get("alg"), header.get("kid")
    except broken:
        raise _wrong("it is no signed token") from None
    if algorithm not in rules.algorithms or "crit" in header:
        raise _wrong("its algorithm is not one of those that are taken")
    key = _find(keys, number)
    if algorithm not in key.algorithms:
        raise _wrong("its algorithm is not that of its key")
    try:
        payload = jwt.PyJWS().decode(token, key=key.value, algorithms=[algorithm])
        claims = json.loads(payload)
    except broken:
        raise _wrong("its signature is wrong") from None
    if not isinstance(claims, dict):
        raise _wrong("it has no claims")
    return _claims(claims, rules, now)


def _find(keys: Keys, number: object) -> Key:
    """By its id alone; a token without one means the only key."""
    if number is None and len(keys) == 1:
        return next(iter(keys.values()))
    key = keys.get(number) if isinstance(number, str) else None
    if key is None:
        raise UnknownKey("invalid_token: it is signed with a key that is not known")
    return key


def _claims(claims: Mapping[str, Any], rules: Rules, now: Timestamp) -> Claims:
    ends = _moment(claims, "exp")
    if ends is None:
        raise _wrong("it has no end (exp)")
    if ends + rules.skew_ms <= now:
        raise _wrong("it has ended")
    for name in ("nbf", "iat"):
        begins = _moment(claims, name)
        if begins is not None and begins - rules.skew_ms > now:
            raise _wrong(f"it does not hold yet ({name})")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise _wrong("it is of another issuer")
    said = claims.get("aud")
    audiences = said if isinstance(said, list) else [said]
    if rules.audiences and not any(it in audiences for it in rules.audiences):
        raise _wrong("it is for another audience")
    found = claims.get(rules.name_claim)
    name = found.strip() if isinstance(found, str) else ""
    if not name or name.encode("utf-8", "ignore").decode() != name:
        raise _wrong(f"it has no name ({rules.name_claim})")
    return Claims(name, Millis(max(1, ends - now)))


def _moment(claims: Mapping[str, Any], name: str) -> int | None:
    found = claims.get(name)
    if found is None:
        return None
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or not abs(found) <= 1 << 40:  # nan is not, either
        raise _wrong(f"{name} is no moment")
    return int(found * SECOND)


def _wrong(why: str) -> AuthenticationFailed:
    return AuthenticationFailed(f"invalid_token: {why}")
