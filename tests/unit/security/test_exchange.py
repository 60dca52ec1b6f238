"""SaslHandshake and SaslAuthenticate: which may come when, and who somebody is afterwards."""

from collections.abc import Mapping

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.units import Millis
from odradek.ports import Chunk
from odradek.security.errors import AuthenticationFailed, UnsupportedMechanism
from odradek.security.mechanisms.client_exchange import ClientExchange
from odradek.security.mechanisms.mechanism import NewServerMechanism
from odradek.security.mechanisms.plain import PlainClient, PlainServer
from odradek.security.mechanisms.server_exchange import Offer, Outcome, ServerExchange
from odradek.wire.headers import read_request, response_frame
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest

USERS = {"alice": "alice-secret", "bob": "bob-secret"}
PLAIN: Mapping[str, NewServerMechanism] = {"PLAIN": lambda: PlainServer(USERS)}


def token(name: str, password: str, acts_as: str = "") -> SaslAuthenticateRequest:
    """PLAIN's only token."""
    return SaslAuthenticateRequest(f"{acts_as}\0{name}\0{password}".encode())


def bytes_of(chunks: list[Chunk]) -> bytes:
    """A frame without its length."""
    return b"".join(bytes(it) for it in chunks if not isinstance(it, tuple))[4:]


def talk(client: ClientExchange, server: ServerExchange) -> None:
    """Until the client is satisfied."""
    chunks = client.begin()
    while chunks:
        header, request = read_request(bytes_of(chunks))
        assert isinstance(request, SaslHandshakeRequest | SaslAuthenticateRequest)
        reply = server.handle(request)
        version, number = header.request_api_version, header.correlation_id
        chunks = client.received(bytes_of(response_frame(reply.response, version, number)))


def test_a_name_is_known_once_it_is_proven() -> None:
    """From our own client to our own listener."""
    server = ServerExchange(Offer(PLAIN))
    client = ClientExchange("PLAIN", PlainClient("alice", "alice-secret"), "me")
    talk(client, server)
    assert client.is_done
    assert str(server.principal) == "User:alice"


def test_a_client_is_told_why_it_is_refused() -> None:
    """In Kafka's words, and for a mechanism with what there is instead."""
    client = ClientExchange("PLAIN", PlainClient("alice", "wrong"), "me")
    with pytest.raises(AuthenticationFailed, match="Invalid username or password"):
        talk(client, ServerExchange(Offer(PLAIN)))
    client = ClientExchange("SCRAM-SHA-256", PlainClient("alice", "wrong"), "me")
    with pytest.raises(UnsupportedMechanism, match="the broker offers PLAIN"):
        talk(client, ServerExchange(Offer(PLAIN)))


@pytest.mark.parametrize(
    "request_",
    [
        token("alice", "wrong"),
        token("nobody", "alice-secret"),
        token("alice", ""),
        token("", "alice-secret"),
        token("alice", "alice-secret", acts_as="bob"),
        SaslAuthenticateRequest(b"alice\0alice-secret"),
        SaslAuthenticateRequest(b"\0a\0b\0c"),
        SaslAuthenticateRequest(b"\xff\0\xff\0\xff"),
        SaslAuthenticateRequest(b""),
    ],
)
def test_plain_believes_a_name_and_its_password_alone(request_: SaslAuthenticateRequest) -> None:
    """Nobody acts for somebody else, and nothing is read into a token that is none."""
    server = ServerExchange(Offer(PLAIN))
    server.handle(SaslHandshakeRequest("PLAIN"))
    reply = server.handle(request_)
    assert reply.outcome is Outcome.REFUSED
    assert reply.response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert server.principal is None


def test_a_token_without_a_handshake() -> None:
    """No mechanism was agreed upon."""
    reply = ServerExchange(Offer(PLAIN)).handle(token("alice", "alice-secret"))
    assert (reply.outcome, reply.response.error_code) == (
        Outcome.REFUSED,
        ErrorCode.ILLEGAL_SASL_STATE,
    )


def test_a_second_handshake() -> None:
    """The first one is under way."""
    server = ServerExchange(Offer(PLAIN))
    server.handle(SaslHandshakeRequest("PLAIN"))
    reply = server.handle(SaslHandshakeRequest("PLAIN"))
    assert (reply.outcome, reply.response.error_code) == (
        Outcome.REFUSED,
        ErrorCode.ILLEGAL_SASL_STATE,
    )


def test_a_name_is_proven_again_for_some_time() -> None:
    """The client learns for how long; somebody else may not take over (KIP-368)."""
    server = ServerExchange(Offer(PLAIN, Millis(5_000)))
    for _ in range(2):
        server.handle(SaslHandshakeRequest("PLAIN"))
        reply = server.handle(token("alice", "alice-secret"))
        assert reply.outcome is Outcome.PROVEN
        assert getattr(reply.response, "session_lifetime_ms", None) == 5_000
    server.handle(SaslHandshakeRequest("PLAIN"))
    reply = server.handle(token("bob", "bob-secret"))
    assert reply.outcome is Outcome.REFUSED
    assert str(server.principal) == "User:alice"
