"""Before a client's name is known: what it may ask, for how long, and how many there may be."""

import gc
from collections.abc import Iterator
from typing import Any, cast

import pytest

from odradek.broker.network import login
from odradek.model.errors import ErrorCode
from odradek.model.units import Bytes
from odradek.security.mechanisms.scram import SHA_256
from odradek.security.mechanisms.scram_client import ScramClient
from odradek.wire.headers import request_frame
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.unit.broker.stage import Client, Stage

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = f'{MODULE} required user_alice="alice-secret" user_bob="bob-secret";'
LIFETIME_SECONDS = 60
BROKER = 4  # the type of the resource


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A broker whose clients prove their names, and brokers do not."""
    settings: dict[str, Any] = {
        "listeners": "NAMED://broker:9092,PLAINTEXT://broker:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,NAMED:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.named.plain.sasl.jaas.config": JAAS,
        "listener.name.named.connections.max.reauth.ms": str(1_000 * LIFETIME_SECONDS),
    }
    with Stage(1, **settings) as stage:
        yield stage


def log_in(client: Client, name: str = "alice", password: str = "") -> SaslAuthenticateResponse:
    """By PLAIN; by default with the right password."""
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    token = f"\0{name}\0{password or name + '-secret'}".encode()
    answer = client.ask(SaslAuthenticateRequest(token), 1)
    assert isinstance(answer, SaslAuthenticateResponse)
    return answer


def principals(stage: Stage) -> list[str]:
    """Of all connections that have one."""
    return [str(it.principal) for it in stage.running.socket_server.connections]


def test_a_client_that_proves_its_name_is_served(stage: Stage) -> None:
    """The name stands on the connection from then on, and travels with each request."""
    client = stage.client()
    offered = {row.api_key for row in client.ask(ApiVersionsRequest("me", "1"), 3).api_keys}
    assert {SaslHandshakeRequest.KEY, SaslAuthenticateRequest.KEY} <= offered
    assert not principals(stage)
    answer = log_in(client)
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 1_000 * LIFETIME_SECONDS)
    assert client.ask(MetadataRequest(topics=[])).brokers
    assert principals(stage) == ["User:alice"]
    (connection,) = stage.running.socket_server.connections
    assert connection.software == ("me", "1")


def test_a_client_learns_the_versions_first(stage: Stage) -> None:
    """KIP-511: a version that is not known is answered at version 0, here as well."""
    client = stage.client()
    client.send(ApiVersionsRequest("me", "1"), 3)
    raw = b"".join(bytes(it) for it in request_frame(ApiVersionsRequest(), 0, 9, "x"))  # type: ignore[arg-type]
    client.send_raw(raw[:6] + (99).to_bytes(2, "big") + raw[8:])
    stage.run(1)
    assert client.has_answer(9)


def test_nothing_else_is_answered_before(stage: Stage) -> None:
    """Whoever asks for more is disconnected, and has learned nothing."""
    client = stage.client()
    number = client.send(MetadataRequest(topics=None))
    stage.run(1)
    assert client.is_closed
    assert not client.has_answer(number)


def test_a_request_may_come_right_behind_the_last_token(stage: Stage) -> None:
    """It belongs to the connection that follows."""
    client = stage.client()
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    client.send(SaslAuthenticateRequest(b"\0alice\0alice-secret"), 1)
    number = client.send(MetadataRequest(topics=[]))
    assert client.answer_to(number).brokers


def test_a_wrong_password_is_refused_later(stage: Stage) -> None:
    """After `connection.failed.authentication.delay.ms`, with the reason; then it is over."""
    client = stage.client()
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    number = client.send(SaslAuthenticateRequest(b"\0alice\0guess"), 1)
    stage.run(0.05)
    assert not client.has_answer(number)
    stage.run(0.2)
    answer = client.answer_to(number)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "Invalid username or password" in answer.error_message
    stage.run(0.1)
    assert client.is_closed


def test_tokens_without_frames_are_not_spoken(stage: Stage) -> None:
    """SaslHandshake v0 is named, for old clients look for it, and refused."""
    client = stage.client()
    answer = client.ask(SaslHandshakeRequest("PLAIN"), 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_client_that_takes_too_long(stage: Stage) -> None:
    """Ten seconds for all of it, whatever it sends meanwhile."""
    client = stage.client()
    for _ in range(9):
        stage.run(1)
        client.ask(ApiVersionsRequest(), 0)
    assert not client.is_closed
    stage.run(1.5)
    assert client.is_closed


def test_a_request_that_is_too_large(stage: Stage) -> None:
    """`sasl.server.max.receive.size`; what is announced costs nothing before it comes."""
    client, modest = stage.client(), stage.client()
    client.send_raw((512 * 1024 + 1).to_bytes(4, "big"))
    modest.send_raw((512 * 1024).to_bytes(4, "big") + b"x")
    stage.run(1)
    assert client.is_closed
    assert not modest.is_closed


def test_strangers_share_a_bounded_memory(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large requests beyond it are closed; a login, which is small, always passes."""
    monkeypatch.setattr(login, "BYTES_MAX", Bytes(100_000))
    strangers = [stage.client() for _ in range(4)]
    for stranger in strangers:
        stranger.send_raw((400_000).to_bytes(4, "big") + bytes(40_000))
    stage.run(1)
    assert [it.is_closed for it in strangers].count(True) == 2
    assert not log_in(stage.client()).error_code


def test_the_oldest_login_gives_way(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener goes on accepting: strangers keep nobody out."""
    monkeypatch.setattr(login, "LOGINS_PER_ADDRESS_MAX", 3)
    named = stage.client()
    log_in(named)
    strangers = [stage.client() for _ in range(5)]
    stage.run(0.1)
    assert [it.is_closed for it in strangers] == [True, True, False, False, False]
    assert not log_in(stage.client()).error_code
    assert not named.is_closed


def test_who_is_gone_leaves_nothing_behind(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even until the collector runs: who comes and goes all day would fill the memory.

    Inside a simulated world it does not run.
    """

    def remembered() -> int:
        return sum(isinstance(it, login.Login) for it in gc.get_objects())

    monkeypatch.setattr(login, "LOGINS_PER_ADDRESS_MAX", 4)
    of_other_tests = remembered()
    strangers = [stage.client() for _ in range(8)]  # the first ones give way
    strangers[4].send_raw(b"\0\0\1\0part of a request")
    strangers[5].send(MetadataRequest(topics=None))
    strangers[6].send(SaslHandshakeRequest("PLAIN"), 1)
    strangers[7].hang_up()
    guest = stage.client()
    log_in(guest)
    stage.run(11)  # those who are left are late
    assert all(it.is_closed for it in strangers)
    assert remembered() == of_other_tests
    assert guest.ask(MetadataRequest(topics=[])).brokers


def test_a_name_must_be_proven_again(stage: Stage) -> None:
    """Who does so stays; who does not is disconnected (KIP-368)."""
    careful, careless = stage.client(), stage.client()
    log_in(careful)
    log_in(careless)
    stage.run(LIFETIME_SECONDS * 0.9)
    assert not log_in(careful).error_code
    stage.run(LIFETIME_SECONDS * 0.5)
    assert careless.is_closed
    assert not careful.is_closed
    assert principals(stage) == ["User:alice"]


def test_who_begins_to_prove_a_name_again_in_time_may_end_later(stage: Stage) -> None:
    """The handshake's answer may have waited behind that to a fetch; but not for ever."""
    slow, stuck = stage.client(), stage.client()
    log_in(slow)
    log_in(stuck)
    stage.run(LIFETIME_SECONDS - 0.2)
    for client in (slow, stuck):
        client.ask(SaslHandshakeRequest("PLAIN"), 1)
    stage.run(0.5)
    token = b"\0alice\0alice-secret"
    assert not slow.ask(SaslAuthenticateRequest(token), 1).error_code
    assert [it.is_closed for it in (slow, stuck)] == [False, False]
    stage.run(10)
    assert [it.is_closed for it in (slow, stuck)] == [False, True]


def test_nobody_becomes_somebody_else(stage: Stage) -> None:
    """Neither with a right password nor with another mechanism."""
    client, other = stage.client(), stage.client()
    log_in(client)
    log_in(other)
    answer = log_in(client, "bob")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "Cannot change principals" in (answer.error_message or "")
    answer = other.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    stage.run(0.1)
    assert client.is_closed
    assert other.is_closed


def test_nothing_behind_a_proof_that_fails_is_done(stage: Stage) -> None:
    """Requests that came in one piece with it, as a proxy may send them: the name has ended."""
    client = stage.client()
    log_in(client)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    topic = CreatableTopic("behind", 1, 1)
    pieces = [
        *request_frame(SaslAuthenticateRequest(b"\0alice\0guess"), 1, 100, "client"),
        *request_frame(CreateTopicsRequest(topics=[topic]), 2, 101, "client"),
    ]
    client.send_raw(b"".join(cast("list[bytes]", pieces)))
    stage.run(5)
    assert client.is_closed
    assert client.has_answer(100)
    assert not client.has_answer(101)
    assert "behind" not in stage.running.services_of_this_life.cluster.image.topics


@pytest.mark.parametrize("password", ["alice-secret", "guess"])
def test_requests_on_both_sides_of_a_proof(stage: Stage, password: str) -> None:
    """In one piece with it: what was asked before is answered first, what comes behind if it holds.

    A fetch that waits has begun with the name before; it ends when there is something, or in time.
    """
    client = stage.client()
    log_in(client)
    (made,) = client.ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)])).topics
    assert not made.error_code
    waiting = client.send_fetch("orders", 0, max_wait_ms=2_000)
    pieces = [
        *request_frame(SaslHandshakeRequest("PLAIN"), 1, 100, "client"),
        *request_frame(SaslAuthenticateRequest(f"\0alice\0{password}".encode()), 1, 101, "client"),
        *request_frame(MetadataRequest(topics=[]), 9, 102, "client"),
    ]
    client.send_raw(b"".join(cast("list[bytes]", pieces)))
    stage.run(1)
    assert [client.has_answer(it) for it in (waiting, 100, 101, 102)] == [False] * 4
    assert not client.is_closed
    stage.run(2)
    holds = password == "alice-secret"
    assert [client.has_answer(it) for it in (waiting, 100, 101, 102)] == [True, True, True, holds]
    assert client.is_closed is not holds


class ByScram:
    """A login that can stop between its two tokens."""

    def __init__(self, client: Client, name: str, password: str) -> None:
        self._client = client
        self._conversation = ScramClient(SHA_256, name, password, nonce=b"of this login")

    def begin(self) -> None:
        """The first token."""
        self._client.ask(SaslHandshakeRequest(SHA_256.name), 1)
        first = self._client.ask(SaslAuthenticateRequest(self._conversation.first()), 1)
        self._token = self._conversation.respond(bytes(first.auth_bytes))

    def end(self) -> SaslAuthenticateResponse:
        """The second one, with the proof."""
        assert self._token is not None
        last = self._client.ask(SaslAuthenticateRequest(self._token), 1)
        assert isinstance(last, SaslAuthenticateResponse)
        if not last.error_code:
            assert self._conversation.respond(bytes(last.auth_bytes)) is None
        return last


def log_in_by_scram(client: Client, name: str, password: str) -> SaslAuthenticateResponse:
    """Both tokens."""
    login = ByScram(client, name, password)
    login.begin()
    return login.end()


def test_a_user_comes_and_goes(stage: Stage) -> None:
    """A password counts as soon as it is set, and no more once it is taken away (KIP-554)."""
    admin, salt = stage.client(), b"salt of carol"
    log_in(admin)
    salted = SHA_256.salted("carol-secret", salt, 4_096)
    wanted = [ScramCredentialUpsertion("carol, too", 1, 4_096, salt, salted)]
    (row,) = admin.ask(AlterUserScramCredentialsRequest(upsertions=wanted)).results
    assert (row.user, row.error_code) == ("carol, too", 0)
    carol = stage.client()
    assert not log_in_by_scram(carol, "carol, too", "carol-secret").error_code
    assert "User:carol, too" in principals(stage)
    (found,) = admin.ask(DescribeUserScramCredentialsRequest(None)).results
    assert [(it.mechanism, it.iterations) for it in found.credential_infos] == [(1, 4_096)]
    gone = [ScramCredentialDeletion("carol, too", 1)]
    (row,) = admin.ask(AlterUserScramCredentialsRequest(gone)).results
    assert row.error_code == ErrorCode.NONE
    refused = log_in_by_scram(stage.client(), "carol, too", "carol-secret")
    assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    (row,) = admin.ask(AlterUserScramCredentialsRequest(gone)).results
    assert row.error_code == ErrorCode.RESOURCE_NOT_FOUND
    (found,) = admin.ask(DescribeUserScramCredentialsRequest([UserName("carol, too")])).results
    assert found.error_code == ErrorCode.RESOURCE_NOT_FOUND


def test_no_secret_leaves_by_the_api(stage: Stage) -> None:
    """DescribeConfigs has the names of login modules, and nothing of what is in them."""
    client = stage.client()
    log_in(client)
    resource = DescribeConfigsResource(BROKER, "1", None)
    request = DescribeConfigsRequest([resource], include_synonyms=True)
    (found,) = client.ask(request).results
    rows = {row.name: row for row in found.configs}
    module = rows["listener.name.named.plain.sasl.jaas.config"]
    assert (module.value, module.is_sensitive) == (None, True)
    texts = [it.value for row in found.configs for it in (row, *row.synonyms)]
    assert not [text for text in texts if text and "secret" in text]


def test_a_plaintext_listener_asks_nobody() -> None:
    """Both requests fit nowhere there, and the connection goes on."""
    with Stage() as stage:
        client = stage.client()
        answer = client.ask(SaslHandshakeRequest("PLAIN"), 1)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        answer = client.ask(SaslAuthenticateRequest(b"x"), 1)
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.ask(MetadataRequest(topics=[])).brokers
        assert principals(stage) == ["User:ANONYMOUS"]


def add_carol(admin: Client, password: str = "carol-secret") -> None:
    """Or give her another password."""
    salt = b"salt of carol"
    salted = SHA_256.salted(password, salt, 4_096)
    wanted = [ScramCredentialUpsertion("carol", 1, 4_096, salt, salted)]
    (row,) = admin.ask(AlterUserScramCredentialsRequest(upsertions=wanted)).results
    assert not row.error_code


def remove_carol(admin: Client) -> None:
    """Her only credential goes."""
    gone = [ScramCredentialDeletion("carol", 1)]
    (row,) = admin.ask(AlterUserScramCredentialsRequest(gone)).results
    assert not row.error_code


@pytest.mark.parametrize("change", [remove_carol, lambda it: add_carol(it, "another")])
def test_a_user_who_is_removed_while_connected(stage: Stage, change: Any) -> None:
    """Or has another password: served until the name is to be proven again, and then not."""
    admin, carol, idle = stage.client(), stage.client(), stage.client()
    log_in(admin)
    add_carol(admin)
    for client in (carol, idle):
        assert not log_in_by_scram(client, "carol", "carol-secret").error_code
    change(admin)
    stage.run(LIFETIME_SECONDS * 0.5)
    assert carol.ask(MetadataRequest(topics=[])).brokers
    refused = log_in_by_scram(carol, "carol", "carol-secret")
    assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    stage.run(LIFETIME_SECONDS * 0.6)
    assert carol.is_closed
    assert idle.is_closed


@pytest.mark.parametrize("change", [remove_carol, lambda it: add_carol(it, "another")])
def test_a_user_who_is_removed_in_the_middle_of_a_login(stage: Stage, change: Any) -> None:
    """What the first token has met holds no more: else a proof begun early were good for later."""
    admin, connected, new = stage.client(), stage.client(), stage.client()
    log_in(admin)
    add_carol(admin)
    assert not log_in_by_scram(connected, "carol", "carol-secret").error_code
    logins = [ByScram(it, "carol", "carol-secret") for it in (connected, new)]
    for one in logins:
        one.begin()
    change(admin)
    for one in logins:
        assert one.end().error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    stage.run(0.1)
    assert connected.is_closed
    assert new.is_closed
