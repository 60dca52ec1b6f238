"""How a client's session comes, suffers and goes."""

from itertools import pairwise
from typing import get_args

import pytest

from odradek.model.units import MINUTE, Bytes, Millis
from odradek.zookeeper.client.errors import (
    AuthFailed,
    NeverSent,
    OutcomeUnknown,
    SessionClosed,
    SessionExpired,
)
from odradek.zookeeper.client.pipeline import PipelineLimits, Submission
from odradek.zookeeper.client.servers import BACKOFF_MAX
from odradek.zookeeper.client.session import SEARCH_FIRST, SEARCH_MAX, SessionSettings
from odradek.zookeeper.client.states import PREDECESSORS, Closed, State, Status
from odradek.zookeeper.protocol.codes import AUTH_XID, PING_XID, EventType, KeeperCode
from odradek.zookeeper.protocol.jute import Identity
from odradek.zookeeper.protocol.jute_replies import (
    Data,
    Done,
    Identities,
    ReplyHeader,
    framed_reply,
)
from odradek.zookeeper.protocol.jute_requests import (
    Auth,
    Check,
    CloseSession,
    Create2,
    GetData,
    Ping,
    SetData,
    SetWatches,
    WhoAmI,
)
from tests.unit.zookeeper.client_talk import PASSWORD, STAT, TIMEOUT, Talk, error_types

ANNA = Auth("digest", b"anna:secret")


# Coming to life


def test_a_session_begins_with_an_introduction() -> None:
    """A client without a session names none, and acts only once the server has granted one."""
    t = Talk()
    t.begin()
    assert t.dialled == [("a", 1)]
    t.connect()
    (hello,) = t.hellos
    assert (hello.session_id, hello.password, hello.last_zxid_seen) == (0, bytes(16), 0)
    assert hello.timeout == TIMEOUT
    assert t.statuses == []
    t.welcome(session_id=7)
    assert t.statuses == [Status.CONNECTED]
    assert t.session.session_id == 7


def test_operations_may_come_before_the_session() -> None:
    """They wait, in order, and go out together once there is a session."""
    t = Talk()
    first = t.ask(GetData("/a"), GetData("/b"))
    t.begin()
    second = t.ask(GetData("/c"))
    t.connect()
    assert t.requests() == []
    t.welcome()
    assert t.requests() == [GetData("/a"), GetData("/b"), GetData("/c")]
    t.answer_all()
    assert t.delivered[-2:] == [first, second]
    assert first.answers == [Data(b"data", STAT)] * 2


def test_who_does_not_want_to_wait_is_told_at_once() -> None:
    """Without a connection an impatient operation fails, and is known not to have been sent."""
    t = Talk()
    t.begin()
    submission = t.ask(SetData("/a", b""), waits=False)
    assert error_types(submission) == [NeverSent]
    t.connect()
    t.welcome()
    assert t.requests() == []


def test_a_server_that_grants_nothing_in_time_is_left_for_the_next() -> None:
    """The timeout is shared among the servers, so that all can be tried before it is over."""
    t = Talk("a:1,b:2,c:3")
    t.begin()
    t.after(TIMEOUT // 3 - 1)
    assert t.hung_up == 0
    t.after(1)
    assert t.hung_up == 1
    assert t.dialled == [("a", 1), ("b", 2)]
    t.connect()
    t.after(TIMEOUT // 3)
    assert t.dialled[2:] == [("c", 3)]


def test_every_server_is_tried_at_once_and_then_ever_more_slowly() -> None:
    """An ensemble that is away is not hammered, and is found soon when it is back."""
    t = Talk("a:1,b:2")
    t.begin()
    pauses: list[int] = []
    for _ in range(20):
        t.cut("refused")
        deadline = t.session.deadline
        assert deadline is not None
        if len(t.dialled) == len(pauses) + 1:  # not dialled at once
            pauses.append(deadline - t.now)
            t.after(pauses[-1])
        else:
            pauses.append(0)
    assert pauses[0] == 0
    assert pauses[1] == 50
    assert all(a <= b for a, b in pairwise(pauses))
    assert pauses[-1] == BACKOFF_MAX
    assert t.dialled[:4] == [("a", 1), ("b", 2), ("a", 1), ("b", 2)]


def test_a_connection_that_never_holds_does_not_reset_the_pauses() -> None:
    """A server that grants a session and drops it at once is not dialled in a busy loop."""
    t = Talk("a:1").live()
    for _ in range(4):
        t.cut()
        assert t.session.deadline is not None
        assert t.session.deadline > t.now
        t.after(t.session.deadline - t.now)
        t.connect()
        t.welcome()
    t.after(BACKOFF_MAX)
    t.cut()
    assert len(t.dialled) == 6  # this one held: the next try comes at once


# Staying alive


def test_an_idle_session_wakes_up_for_its_pings_only() -> None:
    """One ping for each third of the timeout that the server granted, and nothing else."""
    t = Talk().live(timeout=3_000)
    for _ in range(5):
        assert t.session.deadline == t.now + 1_000
        t.after(1_000)
        assert t.requests() == [Ping()]
        t.answer()


def test_requests_count_as_signs_of_life() -> None:
    """Who talks need not ping."""
    t = Talk().live(timeout=3_000)
    t.after(900)
    t.ask(GetData("/a"))
    t.answer()
    t.after(900)
    assert t.requests() == []
    assert t.session.deadline == t.now + 100


def test_a_silent_server_is_left_while_the_session_can_still_be_saved() -> None:
    """After two thirds of the timeout; the session goes on elsewhere, by its id and password."""
    t = Talk().live(session_id=77, timeout=3_000)
    t.ask(GetData("/a"))
    t.answer(zxid=5)
    t.after(1_000)
    t.after(999)
    assert t.hung_up == 0
    t.after(1)
    assert t.hung_up == 1
    assert t.statuses == [Status.CONNECTED, Status.DISCONNECTED]
    t.connect()
    assert t.hellos[-1][:4] == (5, TIMEOUT, 77, PASSWORD)
    t.welcome(session_id=77)
    assert t.statuses[2:] == [Status.CONNECTED]


# Losing the connection


def test_what_was_sent_is_in_doubt_and_what_was_not_is_not() -> None:
    """Sent: the outcome is unknown, nothing is repeated. Not sent: it goes out once, later."""
    limits = PipelineLimits(in_flight_max=3)
    t = Talk(settings=SessionSettings(timeout=TIMEOUT, limits=limits)).live()
    sent = t.ask(SetData("/a", b""), SetData("/b", b""), SetData("/b", b""))
    unsent = t.ask(SetData("/c", b""))
    impatient = t.ask(SetData("/d", b""), waits=False)
    t.answer()
    t.cut()
    assert not isinstance(sent.answers[0], OutcomeUnknown)
    assert [type(answer) for answer in sent.answers[1:]] == [OutcomeUnknown, OutcomeUnknown]
    assert error_types(impatient) == [NeverSent]
    assert t.delivered[-3:-1] == [sent, impatient]
    assert t.statuses[-1] is Status.DISCONNECTED
    t.connect()
    t.welcome()
    assert t.requests() == [SetData("/c", b"")]
    t.answer()
    assert t.delivered[-1] is unsent


def test_a_new_connection_gets_credentials_then_watches_then_operations() -> None:
    """Nothing is done with less rights than before, and no change goes by unseen."""
    t = Talk().live()
    t.authenticate("digest", b"anna:secret")
    t.ask(GetData("/w", watch=True))
    t.answer()
    t.answer(zxid=9)
    t.cut()
    t.ask(SetData("/x", b""))
    t.connect()
    t.welcome()
    assert t.requests() == [ANNA, SetWatches(9, ["/w"], [], []), SetData("/x", b"")]


def test_a_watch_that_fires_while_we_were_away_comes_before_any_answer() -> None:
    """The server tells of it when the watch is armed anew."""
    t = Talk().live()
    t.ask(GetData("/w", watch=True))
    t.answer(zxid=9)
    t.cut()
    read = t.ask(GetData("/w"))
    t.connect()
    t.welcome()
    t.notify(EventType.NODE_DATA_CHANGED, "/w")
    t.answer_all()
    assert t.delivered[-2:] == [t.events[0], read]


def test_a_watch_of_an_unanswered_read_is_not_armed_anew() -> None:
    """The reader was told that the outcome is unknown; it will read again."""
    t = Talk().live()
    t.ask(GetData("/w", watch=True))
    t.cut()
    t.connect()
    t.welcome()
    assert t.requests() == []


# The end of a session


def test_expiry_stops_everything_before_the_owner_may_begin_again() -> None:
    """Every caller is told, then the owner; nothing is dialled until the owner asks for it."""
    t = Talk().live(session_id=77)
    t.authenticate("digest", b"anna:secret")
    t.ask(GetData("/w", watch=True))
    t.answer_all()
    t.cut()
    pending = t.ask(SetData("/a", b""))
    t.connect()
    t.welcome(timeout=0)
    assert t.hung_up == 1
    assert error_types(pending) == [SessionExpired]
    assert t.delivered[-2] is pending
    assert t.statuses[-1] is Status.EXPIRED
    assert t.session.deadline is None
    assert error_types(t.ask(GetData("/a"))) == [SessionExpired]
    assert len(t.dialled) == 2

    t.begin()
    t.connect()
    assert t.hellos[-1][:4] == (0, TIMEOUT, 0, bytes(16))
    t.welcome(session_id=78)
    assert t.requests() == [ANNA]  # but no watch: they went with the session
    assert t.session.session_id == 78


def test_refused_credentials_end_the_session() -> None:
    """The server closes the connection after that: trying again with the same would not help."""
    t = Talk().live()
    t.authenticate("digest", b"good:one")
    t.answer()
    bad = t.authenticate("nonsense", b"")
    pending = t.ask(SetData("/a", b""))
    t.answer(KeeperCode.AUTHFAILED)
    assert t.hung_up == 1
    assert error_types(bad) == [AuthFailed]
    assert error_types(pending) == [OutcomeUnknown]  # it was sent, right behind
    assert t.statuses[-1] is Status.AUTH_FAILED
    assert error_types(t.ask(SetData("/a", b""))) == [AuthFailed]
    t.begin()
    t.connect()
    t.welcome()
    assert t.requests() == [Auth("digest", b"good:one")]


def test_credentials_are_accepted_when_some_connection_has_them() -> None:
    """A connection that is lost meanwhile is not the caller's concern."""
    t = Talk().live()
    waiting = t.authenticate("digest", b"anna:secret")
    t.cut()
    assert waiting.unanswered
    t.connect()
    t.welcome()
    t.answer()
    assert waiting.answers == [Done()]
    who = t.ask(WhoAmI())
    t.answer(Identities([Identity("digest", "anna")]))
    assert not who.unanswered
    t.say(framed_reply(ReplyHeader(AUTH_XID, 0, 0)))  # of the lost connection, or a lie
    assert t.hung_up == 1


def test_closing_lets_what_was_sent_be_answered() -> None:
    """What was not sent is refused, and so is all that comes later."""
    limits = PipelineLimits(in_flight_max=2)
    t = Talk(settings=SessionSettings(timeout=TIMEOUT, limits=limits)).live()
    sent = t.ask(GetData("/a"))
    half = t.ask(GetData("/b"), GetData("/c"))
    t.close()
    late = t.ask(GetData("/d"))
    assert error_types(late) == [SessionClosed]
    t.answer()
    assert t.requests() == [GetData("/b"), CloseSession()]
    t.answer()
    assert not sent.unanswered
    assert isinstance(half.answers[0], Data)
    assert isinstance(half.answers[1], SessionClosed)
    t.answer()
    assert t.hung_up == 1
    assert t.statuses == [Status.CONNECTED, Status.DISCONNECTED, Status.CLOSED]
    assert t.session.deadline is None


def test_a_goodbye_that_nobody_answers_is_enough() -> None:
    """The connection breaks, or nothing is heard: closed all the same, and not dialled again."""
    cut, silent = Talk().live(), Talk().live()
    for t in (cut, silent):
        t.close()
    cut.cut()
    silent.after(TIMEOUT * 2 // 3)
    for t in (cut, silent):
        assert t.statuses[-1] is Status.CLOSED
        assert len(t.dialled) == 1


@pytest.mark.parametrize("moment", ["idle", "dialling", "greeting", "waiting", "expired"])
def test_a_client_can_be_closed_at_any_time(moment: str) -> None:
    """Whatever waits is refused; there is nobody to say goodbye to."""
    t = Talk("a:1")
    if moment != "idle":
        t.begin()
    if moment in {"greeting", "expired"}:
        t.connect()
    if moment == "waiting":
        t.cut()
    if moment == "expired":
        t.welcome()
        t.cut()
        t.after(BACKOFF_MAX)
        t.connect()
        t.welcome(timeout=0)
    pending = t.ask(GetData("/a"))
    t.close()
    assert error_types(pending) == [SessionExpired if moment == "expired" else SessionClosed]
    assert t.statuses[-1] is Status.CLOSED
    assert bool(t.hung_up) == (moment in {"dialling", "greeting", "expired"})
    t.close()  # once is enough


# Read-only servers


def test_a_server_that_is_cut_off_gives_no_lasting_session() -> None:
    """Its session is known to no other server, so the next is asked for one of its own."""
    t = Talk(settings=SessionSettings(timeout=TIMEOUT, read_only=True))
    t.live(session_id=99, read_only=True)
    assert t.hellos[-1].read_only
    assert t.statuses == [Status.READ_ONLY]
    t.cut()
    t.connect()
    assert t.hellos[-1].session_id == 0


def cut_off(connect: str = "a:1,b:2,c:3") -> Talk:
    """A client that took the first server, which only reads."""
    return Talk(connect, SessionSettings(timeout=TIMEOUT, read_only=True)).live(read_only=True)


def test_a_client_of_a_server_that_is_cut_off_looks_for_another() -> None:
    """Turn by turn, at once and then ever more slowly; meanwhile it reads and pings."""
    t = cut_off()
    looks: list[int] = []
    began = t.now
    while t.now < began + 10 * MINUTE:
        assert t.session.deadline is not None
        t.after(t.session.deadline - t.now)
        if len(t.looked) > len(looks):
            looks.append(t.now)
        t.say(framed_reply(ReplyHeader(PING_XID, 0, 0)) * t.requests().count(Ping()))
        t.asked.clear()
    pauses = [b - a for a, b in pairwise(looks)]
    assert pauses[0] == 2 * SEARCH_FIRST
    assert all(a <= b for a, b in pairwise(pauses))
    assert pauses[-1] == SEARCH_MAX
    assert t.looked[:4] == [("b", 2), ("c", 3), ("a", 1), ("b", 2)]
    assert t.hung_up == 0
    assert t.statuses == [Status.READ_ONLY]


def test_it_moves_to_the_first_that_writes() -> None:
    """At once; what it had asked on the old connection has an unknown outcome, as ever."""
    t = cut_off()
    t.after(SEARCH_FIRST)
    (server,) = t.looked
    t.carry_out(t.session.looked(server, t.now, writes=False))
    assert t.session.status is Status.READ_ONLY
    read = t.ask(GetData("/a"))
    t.carry_out(t.session.looked(server, t.now, writes=True))
    assert error_types(read) == [OutcomeUnknown]
    assert (t.hung_up, t.dialled[-1]) == (1, server)
    t.connect()
    t.welcome(session_id=8)
    assert t.statuses == [Status.READ_ONLY, Status.DISCONNECTED, Status.CONNECTED]
    t.after(SEARCH_MAX)
    assert len(t.looked) == 1


def test_an_answer_that_comes_too_late_moves_nobody() -> None:
    """Who has found a server that writes meanwhile stays there."""
    t = cut_off()
    t.after(SEARCH_FIRST)
    t.cut()
    t.carry_out(t.session.looked(("c", 3), t.now, writes=True))
    t.connect()
    t.welcome()
    t.carry_out(t.session.looked(("c", 3), t.now, writes=True))
    assert t.session.status is Status.CONNECTED
    assert t.hung_up == 0


# Many writes


def test_what_was_packed_is_what_can_be_sent() -> None:
    """The session knows jute.maxbuffer and the chroot, which makes every path longer."""
    settings = SessionSettings(limits=PipelineLimits(request_bytes_max=Bytes(500)))
    t = Talk("a:1/a/long/chroot", settings).live()
    guard = Check("/epoch", 7)
    multis = list(t.session.packed([SetData(f"/{i:02}", b"data", 1) for i in range(40)], [guard]))
    t.ask(*multis)
    assert len(t.asked) == len(multis) > 1
    assert {multi.ops[0] for multi in multis} == {guard}
    assert sum(len(multi.ops) - 1 for multi in multis) == 40


# Things that every state knows


def test_the_table_has_every_state() -> None:
    """A state that is not in it could never be entered; from one only there is no way out."""
    assert set(PREDECESSORS) == set(get_args(State))
    entered = frozenset[type[State]]().union(*PREDECESSORS.values())
    assert set(PREDECESSORS) - entered == {Closed}


def test_nothing_asked_is_answered_at_once() -> None:
    """An empty batch waits for nobody, in any state."""
    t = Talk()
    assert t.ask().unanswered == 0
    t.live()
    empty = Submission([])
    t.carry_out(t.session.submit(empty, Millis(0)))
    assert t.delivered[-1] is empty
    t.cut()
    t.ask(waits=False)
    assert t.delivered[-1] is not empty


def test_a_sequence_of_creates_keeps_its_order() -> None:
    """Answers stand where their operations stood."""
    t = Talk().live()
    made = t.ask(*[Create2(f"/n{i}", b"") for i in range(5)])
    t.answer_all()
    assert [getattr(answer, "path", None) for answer in made.answers] == [
        f"/n{i}" for i in range(5)
    ]
