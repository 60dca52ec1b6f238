"""What is sent, how much of it at once, and whose answer is whose."""

import pytest

from odradek.model.units import Bytes
from odradek.zookeeper.client.errors import (
    BadVersion,
    MultiFailed,
    NeverSent,
    NoNode,
    QueueFull,
    RequestTooLarge,
    RuntimeInconsistency,
    SystemFault,
)
from odradek.zookeeper.client.pipeline import XID_MAX, PipelineLimits
from odradek.zookeeper.client.servers import BACKOFF_MAX
from odradek.zookeeper.client.session import SessionSettings
from odradek.zookeeper.protocol.codes import KeeperCode
from odradek.zookeeper.protocol.jute_replies import (
    Checked,
    Children,
    Created,
    Created2,
    Data,
    Failed,
    Results,
    StatReply,
)
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Create2,
    GetData,
    GetEphemerals,
    Multi,
    MultiRead,
    SetData,
    Sync,
    framed_request,
)
from tests.unit.zookeeper.client_talk import STAT, TIMEOUT, Talk, error_types


def limited(
    in_flight_max: int = 1000,
    in_flight_bytes_max: int = 1 << 22,
    queued_max: int = 1000,
    request_bytes_max: int = 1 << 20,
) -> Talk:
    """A live session with these bounds."""
    limits = PipelineLimits(
        in_flight_max, Bytes(in_flight_bytes_max), queued_max, Bytes(request_bytes_max)
    )
    return Talk(settings=SessionSettings(timeout=TIMEOUT, limits=limits)).live()


def reads(count: int) -> list[GetData]:
    """So many."""
    return [GetData(f"/{i}") for i in range(count)]


def test_the_window_bounds_what_is_in_flight() -> None:
    """The rest waits here, where it can still be taken back."""
    t = limited(in_flight_max=10)
    submission = t.ask(*reads(25))
    seen = 0
    while t.asked:
        assert t.session.in_flight <= 10
        seen += 1
        t.answer()
    assert seen == 25
    assert not submission.unanswered


def test_the_window_is_filled_up_when_half_of_it_is_free() -> None:
    """Small packets go out together, not one for each answer that comes."""
    t = limited(in_flight_max=10)
    t.ask(*reads(25))
    for _ in range(4):
        t.answer()
    assert len(t.asked) == 6
    t.answer()
    assert len(t.asked) == 10


def test_the_window_bounds_bytes_too() -> None:
    """Large requests fill it sooner; one of them may reach over its edge."""
    request = SetData("/a", bytes(1000))
    size = len(framed_request(1, request))
    t = limited(in_flight_bytes_max=size * 2 + 1)
    t.ask(*[request] * 5)
    assert len(t.asked) == 3
    t.answer()
    t.answer()
    assert len(t.asked) == 3
    t.answer_all()
    assert t.session.in_flight == 0


def test_the_queue_is_bounded() -> None:
    """A caller that hands in more than can ever wait is refused, whole; the others are not."""
    t = limited(in_flight_max=1, queued_max=10)
    first = t.ask(*reads(10))
    too_much = t.ask(*reads(2))
    assert error_types(too_much) == [QueueFull, QueueFull]
    t.answer_all()
    assert not first.unanswered
    again = t.ask(*reads(10))
    t.answer_all()
    assert [type(answer) for answer in again.answers] == [Data] * 10


def test_the_impatient_leave_the_queue() -> None:
    """The room that they had is free for others."""
    t = limited(in_flight_max=1, queued_max=10)
    t.ask(*reads(1))
    for _ in range(2):
        impatient = t.ask(*reads(9), waits=False)
        t.after(BACKOFF_MAX)  # the connection has held: the next one is asked for at once
        t.cut()
        assert set(error_types(impatient)) == {NeverSent}
        t.connect()
        t.welcome()
        t.ask(*reads(1))


def test_a_request_that_no_server_would_take_is_not_sent() -> None:
    """The server would close the connection for it, and put all the others in doubt."""
    fits = SetData("/a", bytes(100))
    limit = len(framed_request(1, fits)) - 4
    t = limited(request_bytes_max=limit)
    submission = t.ask(fits, SetData("/a", bytes(101)), fits)
    assert t.requests() == [fits, fits]
    t.answer_all()
    assert [type(answer) for answer in submission.answers] == [
        StatReply,
        RequestTooLarge,
        StatReply,
    ]


def test_what_its_caller_gave_up_is_not_sent_any_more() -> None:
    """Unless it is on its way: then its answer is awaited, for the sake of the order."""
    t = limited(in_flight_max=4)
    given_up = t.ask(*reads(6))
    other = t.ask(SetData("/a", b""))
    given_up.withdrawn = True
    t.answer_all()
    assert [type(answer) for answer in given_up.answers] == [Data] * 4 + [NeverSent] * 2
    assert isinstance(other.answers[0], StatReply)


def test_numbers_begin_anew_before_they_run_out() -> None:
    """Negative ones have meanings of their own."""
    t = limited()
    t.session._pipeline._xid = XID_MAX - 2
    t.ask(*reads(4))
    assert [xid for xid, _ in t.asked] == [XID_MAX - 1, XID_MAX, 1, 2]
    t.answer_all()
    assert t.hung_up == 0


def test_an_error_names_what_was_asked() -> None:
    """Each of ZooKeeper's codes has its type; the path is in the text."""
    t = limited()
    submission = t.ask(GetData("/a"), GetData("/b"))
    t.answer(KeeperCode.NONODE)
    t.answer(-4711)
    assert error_types(submission) == [NoNode, SystemFault]
    assert str(submission.answers[0]) == "GET_DATA /a: There is no such node."
    assert "-4711" in str(submission.answers[1])


WRITES = Multi((Check("/a", 1), SetData("/b", b"", 2), SetData("/c", b"", 3)))


def test_a_multi_answers_with_all_its_results() -> None:
    """In the order of its operations."""
    t = limited()
    submission = t.ask(WRITES)
    results = Results([Checked(), StatReply(STAT), StatReply(STAT)])
    t.answer(results)
    assert submission.answers == [results]


def test_a_multi_that_failed_names_the_operation_that_did() -> None:
    """Those before it were fine, those behind it were not tried: neither is the reason."""
    t = limited()
    submission = t.ask(WRITES)
    t.answer(Results([Failed(0), Failed(KeeperCode.BADVERSION), Failed(-2)]))
    error = submission.answers[0]
    assert isinstance(error, MultiFailed)
    assert (type(error.cause), error.index) == (BadVersion, 1)
    assert error.keeper_code is KeeperCode.BADVERSION


@pytest.mark.parametrize("codes", [[-2, -2, -2], [0, 0, 0]])
def test_a_multi_that_failed_for_no_reason_still_failed(codes: list[int]) -> None:
    """No server should say so, but nothing of it was done."""
    t = limited()
    submission = t.ask(WRITES)
    t.answer(Results([Failed(code) for code in codes]))
    error = submission.answers[0]
    assert isinstance(error, MultiFailed)
    assert (type(error.cause), error.index) == (RuntimeInconsistency, None)


def test_a_multi_that_is_refused_as_a_whole_fails_too() -> None:
    """The same type, so that nobody has to catch two."""
    t = limited()
    submission = t.ask(WRITES)
    t.answer(KeeperCode.UNIMPLEMENTED)
    assert error_types(submission) == [MultiFailed]


def test_reads_in_a_multi_fail_one_by_one() -> None:
    """A read has nothing that would have to be undone."""
    t = limited()
    submission = t.ask(MultiRead((GetData("/a"), GetData("/b"))))
    results = Results([Failed(KeeperCode.NONODE), Data(b"", STAT)])
    t.answer(results)
    assert submission.answers == [results]


def test_the_chroot_is_put_on_and_taken_off() -> None:
    """The owner never sees it, wherever a path stands; the root of the owner is the chroot."""
    t = Talk("a:1/kafka").live()
    submission = t.ask(
        GetData("/a"),
        GetData("/", watch=True),
        Create2("/s-", b""),
        Sync("/a"),
        GetEphemerals(),
        Multi((Check("/a", 1), Create2("/b", b""))),
    )
    assert t.requests() == [
        GetData("/kafka/a"),
        GetData("/kafka", watch=True),
        Create2("/kafka/s-", b""),
        Sync("/kafka/a"),
        GetEphemerals("/kafka"),
        Multi((Check("/kafka/a", 1), Create2("/kafka/b", b""))),
    ]
    t.answer()
    t.answer()
    t.answer(Created2("/kafka/s-0000000000", STAT))
    t.answer(Created("/kafka/a"))
    t.answer(Children(["/kafka/e", "/kafkaesque"]))
    t.answer(Results([Checked(), Created2("/kafka/b", STAT)]))
    answers: list[object] = [*submission.answers[2:]]
    assert answers == [
        Created2("/s-0000000000", STAT),
        Created("/a"),
        Children(["/e", "/kafkaesque"]),
        Results([Checked(), Created2("/b", STAT)]),
    ]
    t.notify(3, "/kafka")
    assert [event.path for event in t.events] == ["/"]
