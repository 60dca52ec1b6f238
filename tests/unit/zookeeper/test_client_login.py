"""Proving a name by SASL, before anything else is asked of a server; and whose nodes become."""

from collections.abc import Callable

import pytest

from odradek.ensemble.protection import ACL_READABLE, ACL_SENSITIVE, protected
from odradek.model.units import Bytes
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.digest_md5 import DigestClient, DigestServer
from odradek.zookeeper.client.errors import AuthFailed
from odradek.zookeeper.client.session import SessionSettings
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperCode
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_replies import SaslReply
from odradek.zookeeper.protocol.jute_requests import (
    Auth,
    Create,
    CreateContainer,
    Delete,
    GetData,
    Multi,
    Sasl,
    SetData,
)
from tests.unit.zookeeper.client_talk import TIMEOUT, Talk, error_types


def client() -> DigestClient:
    """One conversation of ours."""
    return DigestClient("kafka", "secret", nonce=b"client's nonce")


def talk(connect: str = "a:1,b:2") -> Talk:
    """With a client that has a name."""
    return Talk(connect, SessionSettings(timeout=TIMEOUT, login=client))


def log_in(t: Talk, password: str = "secret") -> None:
    """What a server with this user says to the client's tokens."""
    server = DigestServer({"kafka": password}, nonce=b"server's nonce")
    for _ in range(2):
        ((xid, request),) = t.asked
        assert isinstance(request, Sasl), "nothing else is asked meanwhile"
        try:
            reply: SaslReply | int = SaslReply(server.evaluate(request.token or b"").answer)
        except AuthenticationFailed:
            reply = KeeperCode.AUTHFAILED
        t.answer(reply)
        assert xid == 0


def test_nothing_is_asked_before_the_name_is_proven() -> None:
    """Credentials, watches and operations come behind; only then the owner may act."""
    t = talk()
    t.authenticate("digest", b"anna:secret")
    t.ask(GetData("/a"))
    t.begin()
    t.connect()
    t.welcome()
    assert t.requests() == [Sasl(b"")]
    assert t.statuses == []
    log_in(t)
    assert t.statuses == [Status.CONNECTED]
    assert t.requests() == [Auth("digest", b"anna:secret"), GetData("/a")]


def test_every_connection_proves_it_anew() -> None:
    """The server knows a session, but not who is on another connection."""
    t = talk()
    t.live()
    log_in(t)
    t.cut()
    t.connect()
    t.welcome()
    log_in(t)
    assert t.statuses == [Status.CONNECTED, Status.DISCONNECTED, Status.CONNECTED]


def test_a_wrong_password_is_the_end() -> None:
    """At a start: nobody tries a wrong password for ever. Who waits is told."""
    t = talk()
    asked = t.ask(GetData("/a"))
    t.live()
    log_in(t, "another")
    assert t.statuses == [Status.AUTH_FAILED]
    assert error_types(asked) == [AuthFailed]
    assert t.hung_up == 1


def test_who_was_believed_once_tries_again() -> None:
    """Passwords of an ensemble are changed server by server: the session outlives a refusal."""
    t = talk()
    t.live()
    log_in(t)
    t.cut()
    t.connect()
    t.welcome()
    log_in(t, "another")
    assert t.statuses == [Status.CONNECTED, Status.DISCONNECTED]
    t.after(1_000)
    t.connect()
    t.welcome()
    log_in(t)
    assert t.statuses[-1] is Status.CONNECTED


@pytest.mark.parametrize("answer", [SaslReply(None), SaslReply(b"nonsense"), KeeperCode.AUTHFAILED])
def test_a_server_that_cannot_be_spoken_with(answer: SaslReply | KeeperCode) -> None:
    """One without users answers with no token at all."""
    t = talk()
    t.live()
    t.answer(answer if isinstance(answer, SaslReply) else int(answer))
    assert t.statuses == [Status.AUTH_FAILED]


def test_a_server_that_does_not_know_the_password_is_left() -> None:
    """It took our proof for good without a proof of its own."""
    t = talk()
    t.live()
    t.answer(SaslReply(b'realm="zk-sasl-md5",nonce="n",qop="auth",algorithm=md5-sess'))
    t.answer(SaslReply(b"rspauth=" + b"0" * 32))
    assert t.statuses == [Status.AUTH_FAILED]


@pytest.mark.parametrize(
    "misfortune",
    [
        lambda t: t.after(TIMEOUT),
        lambda t: t.cut(),
        lambda t: t.answer(int(KeeperCode.THROTTLEDOP)),
        lambda t: t.say(b"\0\0\0\x10" + b"\0\0\0\x05" + bytes(12)),
    ],
    ids=["silence", "cut", "overloaded", "an answer to something else"],
)
def test_a_login_that_is_interrupted(misfortune: Callable[[Talk], None]) -> None:
    """The next server is tried."""
    t = talk()
    t.live()
    misfortune(t)
    assert t.dialled == [("a", 1), ("b", 2)]
    t.connect()
    t.welcome()
    log_in(t)
    assert t.statuses == [Status.CONNECTED]


def test_closing_within_a_login() -> None:
    """It is over at once."""
    t = talk()
    t.live()
    t.close()
    assert t.statuses == [Status.CLOSED]
    assert t.hung_up == 1


def test_whoever_makes_a_node_gives_it_an_owner() -> None:
    """Kafka's ACLs by the path, alone and in a multi; an ACL that was asked for stays."""
    t = Talk(settings=SessionSettings(timeout=TIMEOUT, acl_of=protected)).live()
    mine = (Acl(31, Identity("ip", "127.0.0.1")),)
    operations = (
        Create("/brokers/topics/a", b"1"),
        CreateContainer("/config/users/alice", b"2"),
        Create("/config/brokers/1", b"3"),
        Create("/consumers", None),
        Create("/controller", None, mine),
        Delete("/a"),
        SetData("/b", b"", ANY_VERSION),
    )
    expected = [ACL_READABLE, ACL_SENSITIVE, ACL_SENSITIVE, OPEN_ACL, mine]
    t.ask(*operations, Multi(operations))
    *alone, together = t.requests()
    assert isinstance(together, Multi)
    for requests in (alone, together.ops):
        assert [getattr(request, "acl", None) for request in requests[:5]] == expected
        assert tuple(requests[5:]) == operations[5:]


def test_an_owner_below_a_chroot() -> None:
    """The path counts as the owner has it."""
    settings = SessionSettings(timeout=TIMEOUT, acl_of=protected)
    t = Talk("a:1/kafka", settings).live()
    t.ask(Create("/config/users/alice", b""))
    assert t.requests() == [Create("/kafka/config/users/alice", b"", ACL_SENSITIVE)]


def test_multis_with_owners_are_as_large_as_they_may_be() -> None:
    """ACLs are counted, too: none is refused because it was packed too full."""
    writes = [Create(f"/brokers/topics/{number}", b"x" * 50) for number in range(40)]
    limits = SessionSettings().limits._replace(request_bytes_max=Bytes(1_000))
    t = Talk(settings=SessionSettings(timeout=TIMEOUT, limits=limits, acl_of=protected)).live()
    multis = list(t.session.packed(writes, ()))
    submission = t.ask(*multis)
    assert len(t.requests()) == len(multis) > 1
    assert submission.unanswered == len(multis)
