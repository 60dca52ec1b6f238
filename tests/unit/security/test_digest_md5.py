"""DIGEST-MD5: both sides talk, and whatever is not as it must be ends the conversation."""

import pytest

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.digest_md5 import (
    TOKEN_BYTES_MAX,
    DigestClient,
    DigestServer,
    Said,
    proof_of,
)
from odradek.security.mechanisms.mechanism import Challenge, Proven

NONCES = iter(range(1 << 30))


def nonce() -> bytes:
    """Never the same."""
    return next(NONCES).to_bytes(16, "big")


def server(**users: str) -> DigestServer:
    """One that knows these users and their passwords."""
    return DigestServer(users, nonce=nonce())


def client(name: str, password: str) -> DigestClient:
    """Somebody who logs in."""
    return DigestClient(name, password, nonce=nonce())


def answered(one: DigestClient, other: DigestServer) -> bytes:
    """What the client says to the server's challenge."""
    challenge = other.evaluate(one.first())
    assert isinstance(challenge, Challenge)
    token = one.respond(challenge.answer)
    assert token is not None
    return token


def test_the_example_of_the_standard() -> None:
    """RFC 2831, section 4: what other implementations compute, too."""
    realm, uri = "elwood.innosoft.com", "imap/elwood.innosoft.com"
    said = Said("chris", realm, "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", uri, None)
    assert proof_of(said, "secret", "AUTHENTICATE") == "d388dad90d4bbd760a152321f2143af7"
    assert proof_of(said, "secret", "") == "ea40f60335c427b5527b84dbabcdfffd"


@pytest.mark.parametrize("name", ["kafka", 'a "quoted\\ name', "Ä, é", "名"])
def test_both_sides_prove_that_they_know_the_password(name: str) -> None:
    """Names with quotation marks and commas are written with care."""
    one, other = client(name, "geheim, ß"), server(**{name: "geheim, ß"})
    proven = other.evaluate(answered(one, other))
    assert isinstance(proven, Proven)
    assert proven.principal.name == name
    assert one.respond(proven.answer) is None


@pytest.mark.parametrize(("name", "password"), [("kafka", "wrong"), ("nobody", "secret")])
def test_an_unknown_user_looks_like_one_with_a_wrong_password(name: str, password: str) -> None:
    """The same words, after the same steps."""
    other = server(kafka="secret")
    with pytest.raises(AuthenticationFailed, match="the name or the password is wrong"):
        other.evaluate(answered(client(name, password), other))


def test_a_user_without_a_password_is_no_unknown_user() -> None:
    """An empty password proves nothing about a name that is not known."""
    other = server(kafka="secret")
    with pytest.raises(AuthenticationFailed, match="is wrong"):
        other.evaluate(answered(client("nobody", ""), other))


def test_a_proof_that_is_replayed_is_worth_nothing() -> None:
    """Neither on the same connection nor on another."""
    one, other = client("kafka", "secret"), server(kafka="secret")
    token = answered(one, other)
    other.evaluate(token)
    with pytest.raises(AuthenticationFailed, match="no answer"):
        other.evaluate(token)
    next_one = server(kafka="secret")
    next_one.evaluate(b"")
    with pytest.raises(AuthenticationFailed, match="no answer"):
        next_one.evaluate(token)


def test_a_server_without_the_password_is_not_believed() -> None:
    """It cannot prove that it knows the password."""
    one, other = client("kafka", "secret"), server(kafka="secret")
    answered(one, other)
    with pytest.raises(AuthenticationFailed, match="does not know the password"):
        one.respond(b"rspauth=" + b"0" * 32)
    with pytest.raises(AuthenticationFailed, match="does not know the password"):
        one.respond(b"")


def test_nobody_acts_for_somebody_else() -> None:
    """The proof covers the name that is acted for, and only one's own will do."""
    other = server(kafka="secret")
    token = answered(client("kafka", "secret"), other) + b',authzid="root"'
    with pytest.raises(AuthenticationFailed):
        other.evaluate(token)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"nc=00000001", b"nc=00000002"),
        (b"zookeeper/zk-sasl-md5", b"zookeeper/elsewhere"),
        (b"qop=auth", b"qop=auth-int"),
        (b'realm="zk-sasl-md5"', b'realm="other"'),
        (b"cnonce=", b"xnonce="),
        (b"charset=utf-8", b'charset=utf-8,username="root"'),
        (b"charset=utf-8", b"\xff"),
        (b"charset=utf-8", b'"'),
        (b"charset=utf-8", b"a=" + b"b" * TOKEN_BYTES_MAX),
    ],
)
def test_an_answer_that_is_changed_is_refused(before: bytes, after: bytes) -> None:
    """Each of them would be accepted if nobody looked."""
    other = server(kafka="secret")
    token = answered(client("kafka", "secret"), other)
    assert before in token
    with pytest.raises(AuthenticationFailed):
        other.evaluate(token.replace(before, after, 1))


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b'realm="r",algorithm=md5-sess',
        b'nonce="n",algorithm=md5',
        b'nonce="n",algorithm=md5-sess,qop="auth-conf"',
        b"nonsense",
    ],
)
def test_a_challenge_that_is_refused(challenge: bytes) -> None:
    """The password is not used for it."""
    with pytest.raises(AuthenticationFailed):
        client("kafka", "secret").respond(challenge)
