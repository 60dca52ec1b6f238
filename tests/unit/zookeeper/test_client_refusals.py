"""A server that lies costs itself the connection, and nothing else."""

from collections.abc import Callable

import pytest

from odradek.zookeeper.client.errors import OutcomeUnknown
from odradek.zookeeper.client.session import DOES_NOT_SERVE
from odradek.zookeeper.client.states import Status, StatusChanged
from odradek.zookeeper.protocol.codes import (
    AUTH_XID,
    NOTIFICATION_XID,
    PING_XID,
    SET_WATCHES_XID,
    EventType,
    KeeperCode,
)
from odradek.zookeeper.protocol.jute import INT, framed
from odradek.zookeeper.protocol.jute_replies import (
    Connected,
    Data,
    Event,
    Failed,
    ReplyHeader,
    Results,
    StatReply,
    framed_reply,
)
from odradek.zookeeper.protocol.jute_requests import GetData, Multi, SetData
from tests.unit.zookeeper.client_talk import PASSWORD, STAT, Talk, error_types

DATA = Data(b"data", STAT).body()
HEADER_XID_1 = ReplyHeader(1, 0, 0)

LIES = {
    "a later xid": framed_reply(ReplyHeader(2, 0, 0), DATA),
    "an earlier xid": framed_reply(ReplyHeader(0, 0, 0), DATA),
    "a number that nobody has": framed_reply(ReplyHeader(-77, 0, 0), DATA),
    "an unasked ping": framed_reply(ReplyHeader(PING_XID, 0, 0)),
    "unasked credentials": framed_reply(ReplyHeader(AUTH_XID, 0, 0)),
    "unasked watches": framed_reply(ReplyHeader(SET_WATCHES_XID, 0, 0)),
    "a negative length": INT.pack(-5),
    "a length above all bounds": INT.pack(1 << 30),
    "half a header": framed(bytes(7)),
    "no body": framed_reply(HEADER_XID_1),
    "half a body": framed_reply(HEADER_XID_1, DATA[:-1]),
    "a lying length in the body": framed_reply(HEADER_XID_1, INT.pack(1 << 20) + DATA[4:]),
    "a negative length in the body": framed_reply(HEADER_XID_1, INT.pack(-7) + DATA[4:]),
    "half an event": framed_reply(ReplyHeader(NOTIFICATION_XID, 0, 0), Event(1, "/a").body()[:-1]),
    "an event that is not text": framed_reply(
        ReplyHeader(NOTIFICATION_XID, 0, 0), Event(1, "/a").body()[:-1] + b"\xff"
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_costs_the_connection(lie: str) -> None:
    """What was asked there is in doubt from then on; the next server may do better."""
    t = Talk().live()
    pending = t.ask(GetData("/a"))
    t.say(LIES[lie])
    assert t.hung_up == 1
    assert error_types(pending) == [OutcomeUnknown]
    assert t.statuses[-1] is Status.DISCONNECTED
    last = t.delivered[-1]
    assert isinstance(last, StatusChanged)
    assert "protocol" in last.reason
    assert t.dialled == [("a", 1), ("b", 2)]


def test_an_answer_to_nothing_is_a_lie() -> None:
    """Whoever answers what nobody asked for is not believed in anything else."""
    t = Talk().live()
    t.say(framed_reply(HEADER_XID_1, DATA))
    assert t.hung_up == 1


def test_what_came_before_a_lie_counts() -> None:
    """The truth is delivered first; what follows the lie is not even looked at."""
    t = Talk().live()
    read = t.ask(GetData("/a"))
    truth = framed_reply(HEADER_XID_1, DATA)
    t.say(truth + LIES["a number that nobody has"] + truth)
    assert read.answers == [Data(b"data", STAT)]
    assert t.hung_up == 1


@pytest.mark.parametrize("code", sorted(DOES_NOT_SERVE))
def test_a_server_that_does_not_serve_is_left(code: KeeperCode) -> None:
    """What became of all that was asked there is unknown; what came before counts."""
    t = Talk().live()
    before, write = t.ask(GetData("/a")), t.ask(Multi((SetData("/a", b"", 1),)))
    read = t.ask(GetData("/b"))
    t.say(framed_reply(HEADER_XID_1, DATA) + framed_reply(ReplyHeader(2, 0, code)))
    assert before.answers == [Data(b"data", STAT)]
    assert error_types(write) == error_types(read) == [OutcomeUnknown]
    assert t.hung_up == 1
    assert t.dialled == [("a", 1), ("b", 2)]
    last = t.delivered[-1]
    assert isinstance(last, StatusChanged)
    assert "does not serve" in last.reason


def test_servers_that_do_not_serve_are_tried_ever_more_slowly() -> None:
    """Who is overloaded is not hammered."""
    t = Talk().live()
    throttled = framed_reply(ReplyHeader(1, 0, KeeperCode.THROTTLEDOP))
    t.ask(GetData("/a"))
    t.say(throttled)
    t.connect()
    t.welcome()
    t.ask(GetData("/a"))
    t.say(framed_reply(ReplyHeader(2, 0, KeeperCode.THROTTLEDOP)))
    assert len(t.dialled) == 2, "both were tried: there is a pause"


GREETINGS: dict[str, Callable[[], bytes]] = {
    "cut": lambda: framed(Connected(6000, 7, PASSWORD).body()[:15]),
    "oversized": lambda: INT.pack(1 << 30),
    "expired before it began": lambda: framed(Connected(0, 0, PASSWORD).body()),
}


@pytest.mark.parametrize("greeting", GREETINGS)
def test_a_greeting_that_cannot_be_is_no_session(greeting: str) -> None:
    """The next server is tried."""
    t = Talk()
    t.begin()
    t.connect()
    t.say(GREETINGS[greeting]())
    assert t.hung_up == 1
    assert len(t.dialled) == 2
    assert t.statuses == []


def test_the_session_of_somebody_else_is_refused() -> None:
    """Our ephemeral nodes belong to the session that we asked for, and to no other."""
    t = Talk().live(session_id=7)
    t.cut()
    t.connect()
    t.welcome(session_id=8)
    assert t.hung_up == 1
    assert t.session.session_id == 7


def test_watches_that_are_not_armed_anew_cost_the_connection() -> None:
    """The owner would wait for ever for events that nobody sends."""
    t = Talk().live()
    t.ask(GetData("/w", watch=True))
    t.answer()
    t.cut()
    t.connect()
    t.welcome()
    t.answer(-6)
    assert t.hung_up == 1


@pytest.mark.parametrize(
    "event", [(99, "/w"), (-1, "/w"), (EventType.NODE_CREATED, ""), (EventType.NODE_CREATED, "w")]
)
def test_an_event_that_nobody_waits_for_is_nothing(event: tuple[int, str]) -> None:
    """Kinds of later versions, and paths that are none, go by."""
    t = Talk().live()
    t.ask(GetData("/w", watch=True))
    t.answer()
    t.notify(*event)
    assert not t.events
    assert t.hung_up == 0


@pytest.mark.parametrize(
    "results",
    [
        Results([StatReply(STAT)]),
        Results([StatReply(STAT)] * 3),
        Results([StatReply(STAT), Failed(-103)]),
    ],
)
def test_a_multi_is_done_or_not(results: Results) -> None:
    """A part of it, or more than there was, cannot be: who knows what else is not so."""
    t = Talk().live()
    pending = t.ask(Multi((SetData("/a", b""), SetData("/b", b""))))
    t.answer(results)
    assert t.hung_up == 1
    assert error_types(pending) == [OutcomeUnknown]


def test_a_lie_cannot_make_us_hold_memory() -> None:
    """Only bytes that came are kept; the announcement of many is refused before they come."""
    t = Talk().live()
    t.say(INT.pack(4 << 20) + bytes(10))
    assert t.hung_up == 0  # at the bound
    t = Talk().live()
    t.say(INT.pack((4 << 20) + 1))
    assert t.hung_up == 1
