"""Until when a client may believe that its session lives for everybody else."""

from odradek.model.units import Millis
from odradek.zookeeper.protocol.jute_requests import Exists
from tests.unit.zookeeper.client_talk import TIMEOUT, Talk


def holds(talk: Talk) -> bool:
    """At the moment that the test has come to."""
    return talk.session.lease.holds(talk.now)


def stands_still(talk: Talk, millis: int) -> None:
    """The process does not run meanwhile."""
    talk.now = Millis(talk.now + millis)


def test_an_answer_proves_the_session_from_its_request_on() -> None:
    """The server heard of us no later than that; when we read its answer says nothing."""
    talk = Talk().live()
    talk.ask(Exists("/a"))
    stands_still(talk, TIMEOUT - 1)
    assert holds(talk)
    stands_still(talk, 1)
    talk.answer()
    assert not holds(talk)
    talk.ask(Exists("/b"))
    talk.answer()
    assert holds(talk)


def look_on(talk: Talk, millis: int) -> None:
    """Time goes by, with every try to reach a server, none of which succeeds."""
    end = talk.now + millis
    while talk.now < end:
        deadline = talk.session.deadline
        assert deadline is not None
        talk.after(max(deadline - talk.now, 0))


def test_a_client_that_is_awake_keeps_it_while_no_server_is_there() -> None:
    """An ensemble that is away ends no session."""
    talk = Talk("a:1").live()
    talk.cut()
    look_on(talk, 10 * TIMEOUT)
    assert holds(talk)


def test_a_client_that_stood_still_while_no_server_was_there_has_lost_it() -> None:
    """One may have been there meanwhile, and no later try brings it back, but an answer does."""
    talk = Talk("a:1").live()
    talk.cut()
    look_on(talk, 2 * TIMEOUT)
    stands_still(talk, 3 * TIMEOUT)
    assert not holds(talk)
    look_on(talk, 2 * TIMEOUT)
    assert not holds(talk)
    while len(talk.hellos) < 2:
        talk.after(50)
        if type(talk.session.state).__name__ == "Dialling":
            talk.connect()
    talk.welcome()
    assert holds(talk)


def test_a_session_that_is_over_has_none() -> None:
    """However short the time since the last answer is."""
    talk = Talk().live()
    talk.cut()
    talk.connect()
    talk.welcome(timeout=0)
    assert not holds(talk)
