"""SCRAM: both sides talk, and whatever is not as it must be ends the conversation."""

from base64 import b64encode

import pytest

from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import Challenge, Proven
from odradek.security.mechanisms.scram import SCRAMS, SHA_256, Scram, ScramCredential
from odradek.security.mechanisms.scram_client import ScramClient
from odradek.security.mechanisms.scram_server import ScramServer

SECRET = b"the brokers' own"
NONCES = iter(range(1 << 30))


def nonce() -> bytes:
    """Never the same."""
    return next(NONCES).to_bytes(24, "big")


def credential(scram: Scram, password: str, rounds: int = 4_096) -> ScramCredential:
    """What a cluster keeps of a password."""
    salt = b"salt of alice"
    return scram.credential(scram.salted(password, salt, rounds), salt, rounds)


def server(scram: Scram = SHA_256, **users: str) -> ScramServer:
    """A listener that knows these users and their passwords."""
    known = {name: credential(scram, password) for name, password in users.items()}
    return ScramServer(scram, known.get, secret=SECRET, nonce=nonce())


def client(name: str, password: str, scram: Scram = SHA_256) -> ScramClient:
    """Somebody who logs in."""
    return ScramClient(scram, name, password, nonce=nonce())


def log_in(client: ScramClient, server: ScramServer) -> Proven:
    """The whole conversation."""
    challenge = server.evaluate(client.first())
    assert isinstance(challenge, Challenge)
    token = client.respond(challenge.answer)
    assert token is not None
    proven = server.evaluate(token)
    assert isinstance(proven, Proven)
    assert client.respond(proven.answer) is None
    return proven


@pytest.mark.parametrize("scram", SCRAMS.values(), ids=list(SCRAMS))
@pytest.mark.parametrize("name", ["alice", "a,b=c", "Ä, é"])
def test_both_sides_prove_that_they_know_the_password(scram: Scram, name: str) -> None:
    """Names with commas and signs of equality are written with care."""
    proven = log_in(client(name, "secret", scram), server(scram, **{name: "secret"}))
    assert str(proven.principal) == f"User:{name}"


def test_the_example_of_the_standard() -> None:
    """RFC 7677, section 3: what other implementations compute, too."""
    salt = bytes.fromhex("5b6d99689d1235 8eec a04b14 1236fa81".replace(" ", ""))
    salted = SHA_256.salted("pencil", salt, 4_096)
    found = SHA_256.credential(salted, salt, 4_096)
    said = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = b64encode(SHA_256.mac(found.server_key, said))
    assert signature == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_credential_is_written_as_kafka_writes_it() -> None:
    """Made by either, read by the other."""
    made = credential(SHA_256, "secret")
    assert made.text().startswith("salt=c2FsdCBvZiBhbGljZQ==,stored_key=")
    assert made.text().endswith(",iterations=4096")
    assert ScramCredential.parse(made.text()) == made
    assert "stored" not in repr(made)
    for text in ("", "salt=,stored_key=x", made.text().replace("4096", "0")):
        assert ScramCredential.parse(text) is None


def test_an_unknown_user_looks_like_one_with_a_wrong_password() -> None:
    """The same challenge each time, on every broker, and the same words at the end."""
    salts = set()
    for _ in range(2):
        here = server(alice="secret")
        there = client("mallory", "guess")
        challenge = here.evaluate(there.first()).answer
        salts.add(challenge.partition(b",s=")[2])
        token = there.respond(challenge)
        assert token is not None
        with pytest.raises(AuthenticationFailed) as unknown:
            here.evaluate(token)
    assert len(salts) == 1
    with pytest.raises(AuthenticationFailed) as wrong:
        log_in(client("alice", "guess"), server(alice="secret"))
    assert str(wrong.value) == str(unknown.value)


def test_an_imagined_credential_fits_no_proof() -> None:
    """Whoever knew the secret could compute its keys, and still would not get in."""
    here = ScramServer(SHA_256, lambda _: None, secret=SECRET, nonce=nonce())
    with pytest.raises(AuthenticationFailed, match="invalid credentials"):
        log_in(client("nobody", ""), here)


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (b"p=tls-unique,,n=alice,r=abc", "channel binding"),
        (b"n,,n=alice,r=abc,tokenauth=true", "tokens are not supported"),
        (b"n,,m=x,n=alice,r=abc", "not supported"),
        (b"n,a=bob,n=alice,r=abc", "different from username"),
        (b"n,,n=alice", "malformed"),
        (b"n,,n=,r=abc", "malformed"),
        (b"n,,n=a=41,r=abc", "malformed"),
        (b"\xff\xfe", "not UTF-8"),
        (b"n,,n=" + b"a" * 9_000 + b",r=abc", "a message of"),
        (b"", "malformed"),
    ],
)
def test_a_first_message_that_is_refused(first: bytes, says: str) -> None:
    """Nothing is looked up for it."""
    with pytest.raises(AuthenticationFailed, match=says):
        server(alice="secret").evaluate(first)


def test_a_proof_that_is_replayed_is_worth_nothing() -> None:
    """Each conversation has a nonce of the server's own."""
    here, there = server(alice="secret"), client("alice", "secret")
    token = there.respond(here.evaluate(there.first()).answer)
    assert token is not None
    here.evaluate(token)
    with pytest.raises(AuthenticationFailed, match="is over"):
        here.evaluate(token)
    again = server(alice="secret")
    again.evaluate(there.first())
    with pytest.raises(AuthenticationFailed, match="nonce"):
        again.evaluate(token)


def test_what_was_announced_counts() -> None:
    """A channel binding that changes between the messages was changed by somebody else."""
    here, there = server(alice="secret"), client("alice", "secret")
    token = there.respond(here.evaluate(there.first()).answer)
    assert token is not None
    with pytest.raises(AuthenticationFailed, match="channel binding"):
        here.evaluate(token.replace(b"c=biws", b"c=eSws"))


@pytest.mark.parametrize("rounds", [0, 100_001, 2_147_483_648])
def test_a_client_does_not_work_for_any_server(rounds: int) -> None:
    """Two thousand million iterations would keep it busy for an hour."""
    there = client("alice", "secret")
    own = there.first().partition(b"r=")[2]
    with pytest.raises(AuthenticationFailed, match="iterations"):
        there.respond(b"r=" + own + b"more,s=c2FsdA==,i=%d" % rounds)


def test_a_server_without_the_credential_is_not_believed() -> None:
    """It would learn what is sent to it afterwards."""
    here, there = server(alice="secret"), client("alice", "secret")
    there.respond(here.evaluate(there.first()).answer)
    with pytest.raises(AuthenticationFailed, match="does not know"):
        there.respond(b"v=AAAA")
    stranger = client("alice", "secret")
    with pytest.raises(AuthenticationFailed, match="malformed"):
        stranger.respond(b"r=another,s=c2FsdA==,i=4096")
