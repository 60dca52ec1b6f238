"""OAUTHBEARER: which tokens are believed, and what is said about the others."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from odradek.config.listeners import TOKEN_ALGORITHMS
from odradek.model.errors import InvalidSetting
from odradek.model.units import Millis
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import Challenge, Proven
from odradek.security.mechanisms.oauth import INVALID_TOKEN, OAuthClient, OAuthServer
from odradek.security.principal import user
from odradek.security.tokens import (
    TOKEN_BYTES_MAX,
    Claims,
    Rules,
    UnknownKey,
    believed,
    parse_keys,
)
from tests.unit.security.tokens_of_tests import (
    AUDIENCE,
    EC_KEY,
    ISSUER,
    NOW,
    RSA_KEY,
    SMALL_KEY,
    STRANGER,
    claims,
    key_set,
    row,
    token,
)

RULES = Rules(TOKEN_ALGORITHMS, ISSUER, (AUDIENCE,))
KEYS = parse_keys(key_set())
SECONDS = NOW // 1_000


def look(said: str, rules: Rules = RULES) -> Claims:
    """At the moment of the tests."""
    return believed(said, KEYS, rules, NOW)


def unsigned(header: dict[str, Any], signature: bytes = b"") -> str:
    """A token made by hand."""
    parts = [json.dumps(header).encode(), json.dumps(claims()).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(it).rstrip(b"=").decode() for it in parts)


def test_a_token_proves_a_name_until_it_ends() -> None:
    """By a key of RSA or of EC, with the audience in a list or alone."""
    assert look(token()) == ("alice", Millis(3_600_000))
    assert look(token(claims(aud=["else", AUDIENCE]))).name == "alice"
    assert look(token(key=EC_KEY, algorithm="ES256", kid="two")).name == "alice"
    assert look(token(algorithm="PS512")).name == "alice"
    assert look(token(claims(sub=" alice\n"))).name == "alice"
    other = RULES._replace(name_claim="client")
    assert look(token(claims(client="billing")), other).name == "billing"


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (claims(exp=None), "no end"),
        (claims(exp=SECONDS - 31), "has ended"),
        (claims(exp="tomorrow"), "exp is no moment"),
        (claims(exp=True), "exp is no moment"),
        (claims(exp=1e400), "exp is no moment"),
        (claims(exp=1 << 60), "exp is no moment"),
        (claims(exp=10**400), "exp is no moment"),
        (claims(nbf=SECONDS + 31), "not hold yet"),
        (claims(iat=SECONDS + 31), "not hold yet"),
        (claims(iss=None), "another issuer"),
        (claims(iss=f"{ISSUER}/"), "another issuer"),
        (claims(aud=None), "another audience"),
        (claims(aud=["kafka2"]), "another audience"),
        (claims(aud={AUDIENCE: 1}), "another audience"),
        (claims(sub=None), "no name"),
        (claims(sub=" "), "no name"),
        (claims(sub=7), "no name"),
        (claims(sub="\ud800"), "no name"),
    ],
)
def test_a_claim_that_is_wrong(said: dict[str, Any], says: str) -> None:
    """Clocks may differ by half a minute."""
    with pytest.raises(AuthenticationFailed, match=f"^invalid_token: .*{says}"):
        look(token(said))


def test_clocks_may_differ() -> None:
    """By so much; a session of such a token ends at once."""
    assert look(token(claims(exp=SECONDS - 29))).left_ms == 1
    assert look(token(claims(nbf=SECONDS + 29, iat=SECONDS + 29))).name == "alice"


def test_issuer_and_audience_are_waived_by_rules_alone() -> None:
    """Whatever the token says then."""
    anybody = RULES._replace(issuer=None, audiences=())
    assert look(token(claims(iss=None, aud=None)), anybody).name == "alice"


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (unsigned({"alg": "none"}), "algorithm"),
        (unsigned({"alg": "None", "kid": "one"}), "algorithm"),
        (unsigned({"kid": "one"}), "algorithm"),
        (unsigned({"alg": "RS256", "kid": "one"}), "signature"),
        (unsigned({"alg": ["RS256"], "kid": "one"}), "algorithm|signed"),
        (unsigned({"alg": "RS256", "kid": "one", "crit": ["exp"]}), "algorithm|signed"),
        (token(key=STRANGER), "signature"),
        (token(key=STRANGER, jwk=row(STRANGER, "one")), "signature"),
        (token(key=STRANGER, jku="https://stranger.example"), "signature"),
        (token(key=EC_KEY, algorithm="ES256"), "not that of its key"),
        (token(kid="two"), "not that of its key"),
        ("", "no signed token"),
        ("a.b.c", "no signed token"),
        (f"{token()}x", "signature|signed"),
        ("x" * (TOKEN_BYTES_MAX + 1), "too long"),
    ],
)
def test_a_signature_that_is_not_believed(said: str, says: str) -> None:
    """None at all, of another key, or by an algorithm that the key is not for."""
    with pytest.raises(AuthenticationFailed, match=says):
        look(said)


def test_a_public_key_is_no_secret() -> None:
    """A token signed by HMAC with the issuer's public key, which everybody has."""
    form, pem = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.Encoding.PEM
    public = RSA_KEY.public_key().public_bytes(pem, form)
    plain = unsigned({"alg": "HS256", "kid": "one"}).rpartition(".")[0]
    forged = hmac.new(public, plain.encode(), hashlib.sha256).digest()
    said = f"{plain}.{base64.urlsafe_b64encode(forged).rstrip(b'=').decode()}"
    with pytest.raises(AuthenticationFailed, match="algorithm"):
        look(said)


@pytest.mark.parametrize("number", ["three", "/etc/passwd", "../keys", "https://x.example", ""])
def test_a_key_is_found_by_its_id_alone(number: str) -> None:
    """Whatever it looks like: no file and no address is opened for it."""
    with pytest.raises(UnknownKey):
        look(token(kid=number))


def test_a_token_without_an_id_means_the_only_key() -> None:
    """With two keys it is not tried which one fits."""
    said = token(kid=None)
    with pytest.raises(UnknownKey):
        look(said)
    only = parse_keys(key_set(row(RSA_KEY, None)))
    assert believed(said, only, RULES, NOW).name == "alice"


@pytest.mark.parametrize(
    "odd",
    [
        {"kty": "RSA", "n": "!", "e": "AQAB"},
        {"kty": "RSA", "n": 7, "e": "AQAB"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": ["P-256"], "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kty": ["RSA"]},
        row(STRANGER, None, alg="ES256"),
        row(STRANGER, None) | {"alg": ["RS256"]},
        row(STRANGER, None) | {"use": {}},
    ],
)
def test_a_key_that_is_not_understood_stands_beside_others(odd: dict[str, Any]) -> None:
    """An issuer may have keys of other kinds; alone it is none."""
    keys = parse_keys(key_set({**odd, "kid": "odd"}, row(RSA_KEY, "one")))
    assert keys.keys() == {"one"}
    with pytest.raises(InvalidSetting, match="no public key"):
        parse_keys(key_set({**odd, "kid": "odd"}))


def test_a_key_whose_id_is_no_text_stands_beside_others() -> None:
    """It is found by no token."""
    odd = row(STRANGER, None) | {"kid": {}}
    assert parse_keys(key_set(odd, row(RSA_KEY, "one"))).keys() == {"one"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no set of keys"),
        (b"[]", "no set of keys"),
        (b'{"keys": [7]}', "no set of keys"),
        (b'{"keys": []}', "no public key"),
        (key_set({"kty": "oct", "k": "c2VjcmV0", "kid": "one"}), "no public key"),
        (key_set(row(RSA_KEY, "one", use="enc")), "no public key"),
        (key_set(row(SMALL_KEY, "one")), "no public key"),
        (key_set(row(RSA_KEY, "one"), row(STRANGER, "one")), "the same id"),
    ],
)
def test_keys_that_cannot_be_used(data: bytes, says: str) -> None:
    """Without any there is no start."""
    with pytest.raises(InvalidSetting, match=says):
        parse_keys(data)


def first(said: str, before: bytes = b"n,,", more: bytes = b"") -> bytes:
    """A client's message."""
    return before + b"\x01auth=Bearer " + said.encode() + b"\x01" + more + b"\x01"


def test_a_conversation() -> None:
    """One message is all that a client says."""
    server, client = OAuthServer(look), OAuthClient(token())
    proven = server.evaluate(client.first())
    assert proven == Proven(b"", user("alice"), Millis(3_600_000))
    assert client.respond(proven.answer) is None
    again = OAuthServer(look).evaluate(first(token(), b"n,a=alice,", b"traceId=7\x01"))
    assert isinstance(again, Proven)


def test_a_token_that_is_refused() -> None:
    """The server says so, the client has read it, and then comes the reason."""
    server, client = OAuthServer(look), OAuthClient(token(claims(aud="else")))
    challenge = server.evaluate(client.first())
    assert challenge == Challenge(INVALID_TOKEN, "invalid_token: it is for another audience")
    seen = client.respond(challenge.answer)
    assert seen == b"\x01"
    with pytest.raises(AuthenticationFailed, match="another audience"):
        server.evaluate(seen)
    with pytest.raises(AuthenticationFailed, match="another audience"):
        server.evaluate(first(token()))
    with pytest.raises(AuthenticationFailed, match="went on"):
        client.respond(b"")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic abc\x01\x01",
        b"y,,\x01auth=Bearer abc\x01\x01",
        b"n,,\x01auth=Bearer abc\x01auth=Bearer abc\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer abc\x01",
        b"n,,\x01auth=Bearer abc\x01\x01\x01",
        b"n,,\x01auth=Bearer a\x00bc\x01\x01",
        first("abc", b"n,a=a,b,"),
    ],
)
def test_a_first_message_that_is_no_message(said: bytes) -> None:
    """Refused before any token is looked at."""
    with pytest.raises(AuthenticationFailed, match="first message"):
        OAuthServer(look).evaluate(said)


def test_nobody_acts_for_somebody_else() -> None:
    """Of an authorization that is asked for the name must be the token's."""
    with pytest.raises(AuthenticationFailed, match="authorization id"):
        OAuthServer(look).evaluate(first(token(), b"n,a=bob,"))


def test_what_a_client_is_given_must_be_a_token() -> None:
    """Else a token endpoint could add to the message."""
    with pytest.raises(AuthenticationFailed, match="no token"):
        OAuthClient("abc\x01auth=Bearer other")


@given(st.binary(max_size=300) | st.builds(first, st.text('abc.=-_{}[]"', max_size=200)))
def test_whatever_is_said_is_refused(said: bytes) -> None:
    """In one way: the connection ends, and nothing else."""
    server = OAuthServer(look)

    def converse() -> None:
        for _ in range(2):
            server.evaluate(said)

    with pytest.raises(AuthenticationFailed):
        converse()


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(VALUES | st.lists(VALUES, max_size=3))
def test_whatever_is_signed_is_refused_or_a_name(said: Any) -> None:
    """Also of an issuer that is believed."""
    for name in ("sub", "exp", "aud", "iss", "nbf"):
        try:
            found = look(token({**claims(), name: said}))
        except AuthenticationFailed:
            continue
        assert isinstance(found.name, str)


def test_depth_is_no_way_out() -> None:
    """Brackets within brackets end the conversation, and not the broker."""
    deep = base64.urlsafe_b64encode(b"[" * 40_000).rstrip(b"=").decode()
    with pytest.raises(AuthenticationFailed):
        look(f"{deep}.{deep}.{deep}")
