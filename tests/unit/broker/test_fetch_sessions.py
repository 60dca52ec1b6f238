"""Fetch sessions: what a client names once, and what is looked at again."""

import pytest

from odradek.broker.fetching.fetch_sessions import (
    NO_SESSION,
    FetchSessions,
    MixedTopicNames,
    Session,
    SessionNotFound,
    Slot,
    WrongSessionEpoch,
)
from odradek.broker.fetching.reader import Consumer, Follower, Reader
from odradek.model.ids import BrokerId, TopicId
from odradek.model.units import Millis
from odradek.security.principal import ANONYMOUS
from odradek.sim.doors.chance import SeededRandom
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

NOW = Millis(0)
ORDERS_ID = TopicId(b"0123456789abcdef")


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


def find(
    all_of_them: FetchSessions,
    asked: FetchRequest,
    now: Millis = NOW,
    *,
    reader: Reader | None = None,
    by_id: bool = False,
) -> Session:
    """The session, brought up to date."""
    session = all_of_them.find(asked, ANONYMOUS, reader or Consumer(), now, by_id=by_id)
    for _ in session.update(asked, {ORDERS_ID: "orders"}):
        pass
    return session


def numbers(session: Session) -> list[int]:
    """Its partitions."""
    return [slot.number for slot in session]


def test_a_session_remembers_what_its_client_wants() -> None:
    """What is named once is fetched until it is forgotten."""
    all_of_them = sessions()
    session = find(all_of_them, request(0, 0, 0, 1))
    again = find(all_of_them, request(session.id, 1, 2, forgets=(0,)))
    assert again is session
    assert numbers(session) == [1, 2]
    assert all_of_them.partitions() == 2


def test_what_a_request_names_is_looked_at() -> None:
    """And nothing else, until its replica wakes it."""
    all_of_them = sessions()
    session = find(all_of_them, request(0, 0, 0, 1))
    session.ready.clear()
    find(all_of_them, request(session.id, 1, 1))
    assert [slot.number for slot in session.ready] == [1]


def test_a_client_is_told_only_what_is_new() -> None:
    """The high watermark or the start of the log may have moved."""
    (slot,) = find(sessions(), request(0, 0, 0))
    assert slot.is_news(5, 0)
    slot.told(5, 0)
    assert not slot.is_news(5, 0)
    assert slot.is_news(6, 0)


def test_a_client_that_goes_back_is_told_everything_again() -> None:
    """What came with the news that the logs part has not been taken: so a follower cut its log."""
    slot = Slot(find(sessions(), request(0, 0, 1)), "orders", ORDERS_ID, 1)
    slot.update(FetchPartition(1, fetch_offset=9, last_fetched_epoch=4))
    slot.told(7, 3)
    slot.update(FetchPartition(1, fetch_offset=10, last_fetched_epoch=4))
    assert not slot.is_news(7, 3)
    slot.update(FetchPartition(1, fetch_offset=8, last_fetched_epoch=4))
    assert slot.is_news(7, 3)
    slot.told(7, 3)
    slot.update(FetchPartition(1, fetch_offset=8, last_fetched_epoch=3))
    assert slot.is_news(7, 3)


def test_a_request_that_was_lost_or_came_twice_is_found_out() -> None:
    """The client then begins a new session."""
    all_of_them = sessions()
    session = find(all_of_them, request(0, 0, 0))
    find(all_of_them, request(session.id, 1))
    with pytest.raises(WrongSessionEpoch):
        find(all_of_them, request(session.id, 1))
    with pytest.raises(SessionNotFound):
        find(all_of_them, request(session.id + 1, 1))


def test_without_room_a_client_fetches_without_a_session() -> None:
    """Until another was idle for long enough to be given up."""
    all_of_them = sessions(room=1)
    first = find(all_of_them, request(0, 0, 0))
    assert find(all_of_them, request(0, 0, 0)).id == NO_SESSION
    assert find(all_of_them, request(0, 0, 0), Millis(120_000)).id != NO_SESSION
    with pytest.raises(SessionNotFound):
        find(all_of_them, request(first.id, 1))


def test_a_follower_finds_room_among_consumers() -> None:
    """Without a session it would name all its partitions twice a second."""
    all_of_them = sessions(room=1)
    find(all_of_them, request(0, 0, 0))
    follower = Follower(BrokerId(2))
    assert find(all_of_them, request(0, 0, 0), reader=follower).id != NO_SESSION
    assert find(all_of_them, request(0, 0, 0), reader=follower).id == NO_SESSION


def test_the_final_epoch_ends_the_session() -> None:
    """The request itself is answered in full."""
    all_of_them = sessions()
    session = find(all_of_them, request(0, 0, 0))
    assert find(all_of_them, request(session.id, -1, 0)).id == NO_SESSION
    assert len(all_of_them) == 0


def test_a_partition_that_was_served_comes_last_the_next_time() -> None:
    """Or one busy partition would keep the others from ever being read."""
    session = find(sessions(), request(0, 0, 0, 1, 2))
    session.served(next(iter(session)))
    assert [slot.number for slot in session.ready] == [1, 2, 0]


def test_a_session_names_topics_by_id_or_by_name_all_its_life() -> None:
    """From version 13 on by id: the session of an older client is another one."""
    all_of_them = sessions()
    asked = request(0, 0, 0)
    asked.topics[0].topic, asked.topics[0].topic_id = "", ORDERS_ID
    session = find(all_of_them, asked, by_id=True)
    assert [slot.partition.topic for slot in session] == ["orders"]
    with pytest.raises(MixedTopicNames):
        find(all_of_them, request(session.id, 1, 0))
