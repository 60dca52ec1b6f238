"""Fetch sessions: what a client names once, and what it is told again."""

import pytest

from odradek.broker.fetching.fetch_sessions import (
    FetchSessions,
    SessionNotFound,
    Told,
    WrongSessionEpoch,
)
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.sim.chance import SeededRandom
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

ORDERS = TopicPartition("orders", 0)
NOW = Millis(0)


def request(
    number: int, epoch: int, *partitions: int, forgets: tuple[int, ...] = ()
) -> FetchRequest:
    """About partitions of one topic."""
    wanted = [FetchPartition(it, fetch_offset=0, partition_max_bytes=1) for it in partitions]
    return FetchRequest(
        session_id=number,
        session_epoch=epoch,
        topics=[FetchTopic("orders", partitions=wanted)] if wanted else [],
        forgotten_topics_data=[ForgottenTopic("orders", partitions=list(forgets))],
    )


def sessions(room: int = 2) -> FetchSessions:
    """Room for so many."""
    return FetchSessions(SeededRandom(1, "sessions"), room)


def test_a_session_remembers_what_its_client_wants() -> None:
    """What is named once is fetched until it is forgotten."""
    all_of_them = sessions()
    session = all_of_them.find(request(0, 0, 0, 1), NOW)
    assert session is not None
    again = all_of_them.find(request(session.id, 1, 2, forgets=(0,)), NOW)
    assert again is session
    assert [it.partition for it in session.wanted] == [1, 2]
    assert all_of_them.partitions() == 2


def test_a_client_is_told_only_what_is_new() -> None:
    """The high watermark or the start of the log may have moved."""
    session = sessions().find(request(0, 0, 0), NOW)
    assert session is not None
    assert session.is_news(ORDERS, Told(5, 0))
    assert not session.is_news(ORDERS, Told(5, 0))
    assert session.is_news(ORDERS, Told(6, 0))


def test_a_request_that_was_lost_or_came_twice_is_found_out() -> None:
    """The client then begins a new session."""
    all_of_them = sessions()
    session = all_of_them.find(request(0, 0, 0), NOW)
    assert session is not None
    all_of_them.find(request(session.id, 1), NOW)
    with pytest.raises(WrongSessionEpoch):
        all_of_them.find(request(session.id, 1), NOW)
    with pytest.raises(SessionNotFound):
        all_of_them.find(request(session.id + 1, 1), NOW)


def test_who_finds_no_room_fetches_without_a_session() -> None:
    """Until another was idle for long enough to be given up."""
    all_of_them = sessions(room=1)
    first = all_of_them.find(request(0, 0, 0), NOW)
    assert first is not None
    assert all_of_them.find(request(0, 0, 0), NOW) is None
    assert all_of_them.find(request(0, 0, 0), Millis(120_000)) is not None
    with pytest.raises(SessionNotFound):
        all_of_them.find(request(first.id, 1), NOW)


def test_the_final_epoch_ends_the_session() -> None:
    """The request itself is answered in full."""
    all_of_them = sessions()
    session = all_of_them.find(request(0, 0, 0), NOW)
    assert session is not None
    assert all_of_them.find(request(session.id, -1, 0), NOW) is None
    assert len(all_of_them) == 0


def test_who_was_served_comes_last_the_next_time() -> None:
    """Or one busy partition would keep the others from ever being read."""
    session = sessions().find(request(0, 0, 0, 1, 2), NOW)
    assert session is not None
    session.served(ORDERS)
    assert [it.partition for it in session.wanted] == [1, 2, 0]
