"""The core of the client against arbitrary bytes, cuts and faults."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from odradek.zookeeper.client.pipeline import PipelineLimits, Submission
from odradek.zookeeper.client.session import SessionSettings
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import EventType
from odradek.zookeeper.protocol.jute import framed
from odradek.zookeeper.protocol.jute_replies import (
    Connected,
    Event,
    ReplyHeader,
    framed_event,
    framed_reply,
)
from odradek.zookeeper.protocol.jute_requests import Exists, GetChildren2, GetData, Request, SetData
from tests.unit.zookeeper.client_talk import PASSWORD, TIMEOUT, Talk, fitting

OPERATIONS: Final[tuple[Request, ...]] = (
    GetData("/a", watch=True),
    SetData("/a", b"x"),
    Exists("/b"),
    GetChildren2("/c", watch=True),
)


def transcript() -> bytes:
    """All that a good server says, from its greeting on."""
    hello = framed(Connected(TIMEOUT, 7, PASSWORD).body())
    answers = [
        framed_reply(ReplyHeader(xid, xid, 0), fitting(operation).body())
        for xid, operation in enumerate(OPERATIONS, 1)
    ]
    answers.insert(2, framed_event(-1, Event(EventType.NODE_DATA_CHANGED, "/a")))
    return hello + b"".join(answers)


def listening() -> tuple[Talk, Submission]:
    """A client that has asked and hears nothing yet."""
    t = Talk()
    submission = t.ask(*OPERATIONS)
    t.begin()
    t.connect()
    return t, submission


@given(st.lists(st.integers(0, len(transcript()))))
def test_where_the_network_cuts_makes_no_difference(cuts: list[int]) -> None:
    """Byte by byte or all at once: the same answers and events, in the same order."""
    whole, _ = listening()
    whole.say(transcript())
    t, submission = listening()
    start = 0
    for end in (*sorted(cuts), len(transcript())):
        t.say(transcript()[start:end])
        start = end
    assert not submission.unanswered
    assert t.hung_up == 0
    assert t.events == whole.events
    assert t.statuses == whole.statuses


@given(st.binary(max_size=200), st.integers(0, len(transcript())))
def test_no_bytes_get_more_than_a_hang_up(noise: bytes, place: int) -> None:
    """Whatever a server says after some truth: no error escapes, and the session can go on."""
    t, _ = listening()
    t.say(transcript()[:place])
    t.say(noise)
    if t.session.status is Status.EXPIRED:
        t.begin()
    elif not t.hung_up:
        t.cut()
    if t.session.deadline is not None and len(t.dialled) < 2:
        t.after(t.session.deadline - t.now)
    t.connect()
    t.welcome(session_id=t.session.session_id or 7)
    assert t.session.status is Status.CONNECTED


@given(st.data(), st.integers(1, 5))
def test_every_operation_is_answered_once(data: st.DataObject, window: int) -> None:
    """Through any sequence of cuts, expiries and answers; at the end nothing is left waiting."""
    limits = PipelineLimits(in_flight_max=window)
    t = Talk("a:1", SessionSettings(timeout=TIMEOUT, limits=limits)).live()
    handed_in = []
    for _ in range(data.draw(st.integers(1, 30))):
        match data.draw(st.sampled_from(["ask", "ask", "answer", "answer", "cut", "expire"])):
            case "ask":
                count = data.draw(st.integers(0, 4))
                waits = data.draw(st.booleans())
                handed_in.append(t.ask(*[SetData("/a", b"")] * count, waits=waits))
            case "answer" if t.asked:
                t.answer()
            case "cut" | "expire" as fault:
                t.cut()
                while len(t.dialled) == len(t.hellos) and t.session.deadline is not None:
                    t.after(t.session.deadline - t.now)
                t.connect()
                t.welcome(timeout=0 if fault == "expire" else TIMEOUT)
                if fault == "expire":
                    t.begin()
                    t.connect()
                    t.welcome()
    t.close()
    t.answer_all()
    assert t.session.status is Status.CLOSED
    delivered = [news for news in t.delivered if isinstance(news, Submission) and news in handed_in]
    assert len(delivered) == len(handed_in)
    assert not any(submission.unanswered for submission in handed_in)
