"""Names at the server: by SASL, by a certificate; and a server that asks for them."""

import pytest

from odradek.security.mechanisms.digest_md5 import DigestClient
from odradek.zookeeper.protocol.codes import KeeperCode
from odradek.zookeeper.protocol.jute import Acl, Identity
from odradek.zookeeper.protocol.jute_replies import AclReply, Created, Done, Identities, SaslReply
from odradek.zookeeper.protocol.jute_requests import (
    Auth,
    CloseSession,
    Connect,
    Create,
    GetAcl,
    GetData,
    Ping,
    Sasl,
    WhoAmI,
)
from odradek.zookeeper.server.settings import ServerSettings
from tests.samples.zookeeper import TIMEOUT, Client, World

USERS = {"kafka": "secret"}
ALICE = Identity("x509", "CN=alice")
KAFKA = Identity("sasl", "kafka")
MINE = (Acl(31, Identity("auth", "")),)


def log_in(client: Client, name: str = "kafka", password: str = "secret") -> object:
    """The whole conversation; what the server said last."""
    ours = DigestClient(name, password, nonce=b"ours")
    token: bytes | None = ours.first()
    answer: object = None
    while token is not None:
        answer = client.ask(Sasl(token))
        if not isinstance(answer, SaslReply):
            return answer
        token = ours.respond(answer.token or b"")
    return answer


def test_a_name_is_proven_and_owns_what_it_makes() -> None:
    """Others cannot even read; neither can somebody who says of himself that he is kafka."""
    world = World(ServerSettings(users=USERS))
    kafka, other = world.client(), world.client()
    assert isinstance(log_in(kafka), SaslReply)
    who = kafka.ask(WhoAmI())
    assert isinstance(who, Identities)
    assert KAFKA in who.identities
    assert kafka.ask(Create("/own", b"", MINE)) == Created("/own")
    found = kafka.ask(GetAcl("/own"))
    assert isinstance(found, AclReply)
    assert tuple(found.acl) == (Acl(31, KAFKA),)
    assert other.ask(GetData("/own")) == KeeperCode.NOAUTH
    assert other.ask(Auth("sasl", b"kafka")) == KeeperCode.AUTHFAILED


@pytest.mark.parametrize(("name", "password"), [("kafka", "wrong"), ("nobody", "secret")])
def test_a_wrong_password_ends_the_connection(name: str, password: str) -> None:
    """It is answered, as by ZooKeeper."""
    client = World(ServerSettings(users=USERS)).client()
    assert log_in(client, name, password) == KeeperCode.AUTHFAILED
    assert client.hung_up is not None


def test_a_token_out_of_turn_ends_the_connection() -> None:
    """The server begins; nothing is kept of a conversation that failed."""
    client = World(ServerSettings(users=USERS)).client()
    assert client.ask(Sasl(b"too early")) == KeeperCode.AUTHFAILED
    assert client.hung_up is not None


def test_a_server_without_users_has_nothing_to_say() -> None:
    """As ZooKeeper; the client has to give up by itself."""
    client = World().client()
    assert client.ask(Sasl(b"")) == SaslReply(None)


def test_a_certificate_is_a_name() -> None:
    """What it makes belongs to it, also by `auth`."""
    world = World()
    alice, other = world.client(), world.client()
    world.server.named(alice.connection, ALICE.id)
    assert alice.ask(Create("/own", b"", MINE)) == Created("/own")
    assert other.ask(GetData("/own")) == KeeperCode.NOAUTH


def test_names_outlive_a_restart() -> None:
    """Whom a node belongs to is in the journal, and in a snapshot."""
    world = World(ServerSettings(users=USERS))
    kafka = world.client()
    log_in(kafka)
    kafka.ask(Create("/own", b"", MINE))
    for restarted in (world.restart(), world.restart_from_snapshot()):
        assert restarted.client().ask(GetData("/own")) == KeeperCode.NOAUTH
        again = restarted.client()
        log_in(again)
        assert not isinstance(again.ask(GetData("/own")), KeeperCode | int)


@pytest.mark.parametrize("request_", [GetData("/"), Ping(), WhoAmI(), CloseSession()])
def test_nothing_is_answered_before_a_name_is_proven(request_: GetData) -> None:
    """Where the server asks for names: it says so, and hangs up; whoever logs in is served."""
    world = World(ServerSettings(users=USERS, requires_names=True))
    stranger, kafka = world.client(), world.client()
    assert stranger.ask(request_) == KeeperCode.SESSIONCLOSEDREQUIRESASLAUTH
    assert stranger.hung_up is not None
    log_in(kafka)
    assert kafka.ask(Ping()) == Done()


def test_a_digest_is_no_name_there() -> None:
    """Anybody can make one up."""
    client = World(ServerSettings(users=USERS, requires_names=True)).client()
    assert client.ask(Auth("digest", b"anna:secret")) == Done()
    assert client.ask(GetData("/")) == KeeperCode.SESSIONCLOSEDREQUIRESASLAUTH


def test_a_certificate_is_enough_there() -> None:
    """Nobody has to log in as well."""
    world = World(ServerSettings(requires_names=True))
    client = world.client(greets=False)
    world.server.named(client.connection, ALICE.id)
    client.greet(Connect(0, TIMEOUT))
    assert client.ask(Ping()) == Done()


def test_who_proves_no_name_in_time_is_sent_away() -> None:
    """Whatever it says meanwhile: it would have one of the places of those who have a name."""
    world = World(ServerSettings(users=USERS, requires_names=True))
    stranger, kafka = world.client(), world.client()
    log_in(kafka)
    for _ in range(9):
        world.wait(1_000)
        assert stranger.ask(Auth("digest", b"anna:secret")) == Done()
        kafka.ask(Ping())
    world.wait(1_500)
    assert stranger.hung_up == "has proven no name in time"
    assert kafka.ask(Ping()) == Done()


def test_a_session_without_a_name_ends_with_its_connection() -> None:
    """There may be so many sessions in all; that of a name that was proven waits for its client."""
    world = World(ServerSettings(users=USERS, requires_names=True))
    kafka = world.client()
    log_in(kafka)
    kafka.leave()
    for _ in range(3):
        world.client().leave()
    world.client().ask(Ping())  # which is refused
    assert [*world.server.database.sessions.open] == [kafka.session_id]
    assert [*world.restart().server.database.sessions.open] == [kafka.session_id]


def test_a_session_without_a_name_moves_to_another_connection() -> None:
    """Its client was cut off before it had logged in."""
    world = World(ServerSettings(users=USERS, requires_names=True))
    first = world.client()
    assert first.connected is not None
    again = world.client(greets=False)
    again.greet(Connect(0, TIMEOUT, first.session_id, first.connected.password))
    assert again.session_id == first.session_id
    log_in(again)
    again.leave()
    assert [*world.server.database.sessions.open] == [again.session_id]


def test_passwords_are_not_shown() -> None:
    """Neither in a traceback nor in a log."""
    assert "secret" not in repr(ServerSettings(users=USERS))
