"""Conversations of a fetcher with one leader broker, over several partitions."""

from collections.abc import Iterable

from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset
from odradek.model.units import Millis
from odradek.replication.fetcher import Pause, ReplicaFetcher, Request, Step
from odradek.replication.fetcher_requests import FetcherSettings
from odradek.replication.following import Follower, FollowerSettings, FollowerState
from odradek.replication.throttle import ReplicationThrottle
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.wire.messages.list_offsets import ListOffsetsRequest
from odradek.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.replication.model_log import ModelLog, encoded

ME, LEADER = BrokerId(1), BrokerId(2)
ORDERS_ID = TopicId(b"0123456789abcdef")
SESSION = 77


class Scene:
    """A fetcher of some partitions of one topic."""

    def __init__(
        self,
        partitions: int = 2,
        *,
        version: int = 17,
        topic_id: TopicId = ORDERS_ID,
        named_at_once: int = 1_000,
    ) -> None:
        self.now = Millis(1_000)
        self.topic_id = topic_id
        self.version = version
        self.throttled: set[TopicPartition] = set()
        self.throttle = ReplicationThrottle(self.throttled.__contains__)
        settings = FetcherSettings(version, partitions_max=named_at_once)
        self.fetcher = ReplicaFetcher(ME, BrokerEpoch(5), settings, self.throttle)
        self.logs: dict[int, ModelLog] = {}
        for number in range(partitions):
            self.add(number)

    def add(self, number: int, leader_epoch: int = 9) -> None:
        """Follows a partition that has one record."""
        if number not in self.logs:
            log = self.logs[number] = ModelLog()
            log.append((3, "first"))
        follower = Follower(
            (TopicPartition("orders", number), self.topic_id),
            self.logs[number],
            FollowerState(LEADER, LeaderEpoch(leader_epoch)),
            settings=FollowerSettings(truncates_on_fetch=self.version >= 12),
        )
        self.fetcher.add(follower, self.now)

    def ask(self) -> Request:
        """There is something to ask."""
        request = self.fetcher.next_request(self.now)
        assert not isinstance(request, Pause), request
        return request

    def fetch(self) -> FetchRequest:
        """It is a fetch."""
        request = self.ask()
        assert isinstance(request, FetchRequest), request
        return request

    def pause(self) -> Millis | None:
        """There is not: until when."""
        request = self.fetcher.next_request(self.now)
        assert isinstance(request, Pause), request
        return request.until

    def answer(
        self,
        rows: Iterable[PartitionData] = (),
        *,
        session: int = SESSION,
        error: int = 0,
        hangs: int | None = None,
    ) -> list[Step]:
        """The leader answers; appends are carried out at once, but where a disk hangs."""
        topic = FetchableTopicResponse("orders", self.topic_id, list(rows))
        response = FetchResponse(0, error, session, [topic] if topic.partitions else [])
        steps = self.fetcher.on_response(response, self.now)
        for follower, effects in steps:
            if follower.partition.partition == hangs:
                continue
            log = self.logs[follower.partition.partition]
            log.apply(effects)
            if effects.changes_log:
                log.apply(self.fetcher.on_applied(follower.partition, self.now))
        return steps

    def applied(self, number: int) -> None:
        """The log of a disk that hung has its records."""
        self.logs[number].append((9, "new"))
        self.fetcher.on_applied(TopicPartition("orders", number), self.now)

    def open_session(self) -> None:
        """The first fetch, with an empty answer."""
        assert self.fetch().session_epoch == 0
        self.answer()


def row(number: int, *, error: int = 0, base: int | None = None) -> PartitionData:
    """One partition of an answer, with a record or without."""
    records = None if base is None else encoded(base, [(9, "new")])
    return PartitionData(number, error, records=records, log_start_offset=0)


def named(request: FetchRequest) -> list[tuple[int, int]]:
    """Partitions and their fetch offsets."""
    return [(it.partition, it.fetch_offset) for topic in request.topics for it in topic.partitions]


def forgotten(request: FetchRequest) -> list[int]:
    """Partitions that the session shall no longer hold."""
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


def test_another_registration_is_told_of_every_partition() -> None:
    """The session does not repeat a position, and the leader counts it for one life only."""
    t = Scene()
    t.open_session()
    t.fetcher.on_registered(BrokerEpoch(6))
    t.fetcher.on_registered(BrokerEpoch(6))
    request = t.fetch()
    assert request.replica_state is not None
    assert (request.session_epoch, request.replica_state.replica_epoch) == (0, 6)
    assert named(request) == [(0, 1), (1, 1)]


def test_a_session_names_only_what_has_changed() -> None:
    """KIP-227: everything once, then an empty fetch, then the one that got a record."""
    t = Scene()
    first = t.fetch()
    assert (first.session_id, first.session_epoch) == (0, 0)
    assert named(first) == [(0, 1), (1, 1)]
    t.answer()
    second = t.fetch()
    assert (second.session_id, second.session_epoch) == (SESSION, 1)
    assert named(second) == []
    t.answer([row(1, base=1)])
    third = t.fetch()
    assert third.session_epoch == 2
    assert named(third) == [(1, 2)]


def test_one_request_is_on_its_way_at_a_time() -> None:
    """The next one knows what the answer said."""
    t = Scene()
    t.fetch()
    assert t.pause() is None


def test_a_broker_says_who_it_is() -> None:
    """KIP-903: from version 15 on with the epoch of its registration."""
    assert Scene(version=14).fetch().replica_id == ME
    state = Scene(version=17).fetch().replica_state
    assert state is not None
    assert (state.replica_id, state.replica_epoch) == (ME, 5)


def test_topics_without_an_id_are_named() -> None:
    """A log from before Kafka 2.8: version 12 is the last that has names."""
    t = Scene(topic_id=NO_TOPIC_ID)
    assert t.fetcher.fetch_version == 12
    assert t.fetch().topics[0].topic == "orders"


def test_a_throttled_replica_that_has_fallen_behind_waits_for_its_share() -> None:
    """With all others that are throttled; what is in sync, or not named, goes on."""
    t = Scene(partitions=4)
    t.throttled.update(TopicPartition("orders", number) for number in (0, 1, 2))
    t.throttle.rate = 1_000
    t.open_session()
    t.fetch()
    behind = [row(number) for number in (0, 1)]
    for one in behind:
        one.high_watermark = 500
    t.now = Millis(t.now + 5_000)  # what was not used long ago is not owed
    t.answer(behind)
    size = len(encoded(1, [(9, "new")]))
    t.throttle.note(1_000, t.now)  # another leader's replicas have used the share of a second
    assert named(t.fetch()) == []
    one = row(0, base=1)
    one.high_watermark = 500
    t.answer([one, row(2, base=1), row(3, base=1)])
    request = t.fetch()
    assert named(request) == [(2, 2), (3, 2)]
    assert sorted(forgotten(request)) == [0, 1]
    t.answer()
    t.now = Millis(t.now + size - 1)
    t.fetch()
    t.answer()
    t.now = Millis(t.now + 1)
    assert sorted(named(t.fetch())) == [(0, 2), (1, 1)]


def test_a_partition_with_an_error_delays_no_other() -> None:
    """It leaves the session for its pause, and comes back."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.answer([row(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), row(1, base=1)])
    request = t.fetch()
    assert named(request) == [(1, 2)]
    assert forgotten(request) == [0]
    t.now = Millis(t.now + 20)
    t.answer()
    assert named(t.fetch()) == [(0, 1)]


def test_a_log_that_is_being_changed_is_waited_for_but_not_for_long() -> None:
    """Most appends take a moment; one that hangs on a sick disk holds up no other partition."""
    t = Scene()
    t.open_session()
    t.fetch()
    topic = FetchableTopicResponse("orders", ORDERS_ID, [row(0, base=1)])
    t.fetcher.on_response(FetchResponse(session_id=SESSION, responses=[topic]), t.now)
    until = t.pause()
    assert until is not None
    t.now = until
    assert forgotten(t.fetch()) == [0]


def test_a_partition_that_is_followed_no_longer_is_forgotten() -> None:
    """And an answer for it that was on its way is not applied."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.fetcher.remove(TopicPartition("orders", 0))
    assert t.answer([row(0, base=1)]) == []
    request = t.fetch()
    assert forgotten(request) == [0]
    assert len(t.fetcher) == 1


def test_an_answer_from_an_earlier_leader_epoch_is_not_applied() -> None:
    """KIP-320: the offset may mean another record by now."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.add(0, leader_epoch=10)
    assert t.answer([row(0, base=1)]) == []
    request = t.fetch()
    assert named(request) == [(0, 1)]
    assert forgotten(request) == []
    assert request.topics[0].partitions[0].current_leader_epoch == 10


def test_a_new_partition_does_not_wait_for_an_old_long_poll() -> None:
    """A second fetch overtakes: the first may wait at the leader for half a second."""
    t = Scene()
    t.open_session()
    assert t.fetch().session_epoch == 1
    t.add(2)
    second = t.fetch()
    assert second.session_epoch == 2
    assert named(second) == [(2, 1)]
    t.add(3)
    assert t.pause() is None
    assert t.answer([row(2, base=1)]) == [], "the first request did not name it"
    assert len(t.answer([row(2, base=1)])) == 1


def test_where_a_log_begins_does_not_wait_for_an_old_long_poll() -> None:
    """A deletion may be waiting for it at the leader."""
    t = Scene()
    t.open_session()
    t.fetch()
    assert t.pause() is None
    t.logs[0].log_start_offset = Offset(1)
    t.fetcher.on_log_start(TopicPartition("orders", 0), t.now)
    second = t.fetch()
    assert second.topics[0].partitions[0].log_start_offset == 1
    assert named(second) == [(0, 1)]


def test_what_is_told_to_a_fetch_that_was_overtaken_counts() -> None:
    """It was overtaken to say where this log begins: the leader says its own start only once."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.logs[0].log_start_offset = Offset(1)
    t.fetcher.on_log_start(TopicPartition("orders", 0), t.now)
    t.fetch()
    assert len(t.answer([row(0, base=1)])) == 1
    assert t.answer([row(0, base=1)]) == [], "the same records, for the second fetch"
    assert named(t.fetch()) == [(0, 2)]


def test_a_partition_whose_pause_is_over_does_not_wait_for_an_old_long_poll() -> None:
    """The leader had not heard of its leadership: others are fetched meanwhile, and wait there."""
    t = Scene()
    t.fetch()
    t.answer([row(0, error=ErrorCode.UNKNOWN_LEADER_EPOCH)])
    first = t.fetch()
    assert forgotten(first) == [0]
    until = t.pause()
    assert until == t.now + 20
    t.now = until
    second = t.fetch()
    assert (second.session_epoch, named(second)) == (2, [(0, 1)])


def test_a_session_is_opened_without_waiting_for_records() -> None:
    """What is added meanwhile cannot overtake a full request. Without room every one waits."""
    t = Scene()
    assert t.fetch().max_wait_ms == 0
    t.answer()
    assert t.fetch().max_wait_ms == 500
    t.answer(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session=0)
    assert t.fetch().max_wait_ms == 0
    t.answer(session=0)
    assert t.fetch().max_wait_ms == 500
    t.answer()
    assert t.fetch().session_epoch == 1, "there is room again"


def test_the_same_records_twice_are_applied_once() -> None:
    """The fetch that overtook was answered from the same offset."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.add(2)
    t.fetch()
    assert len(t.answer([row(0, base=1)])) == 1
    assert t.answer([row(0, base=1)]) == []
    assert named(t.fetch()) == [(0, 2)]


def test_a_session_that_the_leader_has_lost_begins_anew_at_once() -> None:
    """It was evicted, or the leader has restarted: a full request, with no pause."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.answer(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session=0)
    again = t.fetch()
    assert (again.session_id, again.session_epoch) == (0, 0)
    assert named(again) == [(0, 1), (1, 1)]


def test_a_session_out_of_step_is_closed() -> None:
    """Its id goes with the full request, so that the leader drops it."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.answer(error=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session=0)
    again = t.fetch()
    assert (again.session_id, again.session_epoch) == (SESSION, 0)


def test_a_leader_without_sessions_is_told_everything_each_time() -> None:
    """It has no room; who got records comes last in the next request."""
    t = Scene()
    t.fetch()
    t.answer([row(0, base=1)], session=0)
    again = t.fetch()
    assert again.session_epoch == 0
    assert named(again) == [(1, 1), (0, 2)]


def test_a_broken_connection_costs_the_session_and_a_pause() -> None:
    """What the leader made of the last request is not known."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.fetcher.on_no_response(t.now)
    until = t.pause()
    assert until == t.now + 20
    t.now = Millis(t.now + 20)
    assert t.fetch().session_epoch == 0
    t.fetcher.on_no_response(t.now)
    assert t.pause() == t.now + 40


def test_nothing_is_asked_when_every_partition_has_failed() -> None:
    """Only a new leadership helps."""
    t = Scene(partitions=1)
    t.open_session()
    t.fetch()
    t.answer([row(0, error=ErrorCode.FENCED_LEADER_EPOCH)])
    assert t.pause() is None
    t.add(0, leader_epoch=10)
    assert named(t.fetch()) == [(0, 1)]


def test_epochs_are_asked_for_before_the_first_fetch_of_an_old_leader() -> None:
    """Fetch below version 12 cannot say where the logs part; no answer means: later."""
    t = Scene(version=11)
    request = t.ask()
    assert isinstance(request, OffsetForLeaderEpochRequest)
    assert [it.partition for it in request.topics[0].partitions] == [0, 1]
    told = EpochEndOffset(0, 0, 3, 1)
    topic = OffsetForLeaderTopicResult("orders", [told])
    steps = t.fetcher.on_response(OffsetForLeaderEpochResponse(0, [topic]), t.now)
    assert [it.effects.truncate_to for it in steps] == [1]
    t.logs[0].apply(t.fetcher.on_applied(TopicPartition("orders", 0), t.now))
    assert named(t.fetch()) == [(0, 1)]


def test_an_offset_out_of_range_is_asked_about() -> None:
    """First where the leader's log ends."""
    t = Scene(partitions=1)
    t.open_session()
    t.fetch()
    t.answer([row(0, error=ErrorCode.OFFSET_OUT_OF_RANGE)])
    request = t.ask()
    assert isinstance(request, ListOffsetsRequest)
    assert request.replica_id == ME
    asked = request.topics[0].partitions[0]
    assert (asked.timestamp, asked.current_leader_epoch) == (-1, 9)


def test_a_log_start_that_moved_is_told_to_the_leader() -> None:
    """DeleteRecords at the leader waits for it."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.answer()
    t.logs[1].log_start_offset = Offset(1)
    t.fetcher.on_log_start(TopicPartition("orders", 1), t.now)
    assert t.fetch().topics[0].partitions[0].log_start_offset == 1


def test_retention_at_the_follower_holds_up_no_record() -> None:
    """It moves the log's start between a fetch and its answer; nobody tells the fetcher."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.logs[1].log_start_offset = Offset(1)
    t.answer([row(1, base=1)])
    assert t.logs[1].log_end_offset == 2
    asked = t.fetch().topics[0].partitions[0]
    assert (asked.partition, asked.fetch_offset, asked.log_start_offset) == (1, 2, 1)


def test_a_log_that_is_busy_is_waited_for_once() -> None:
    """Its disk may hang for a minute: what others write is not fetched late at every fetch."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.answer([row(0, base=1), row(1, base=1)], hangs=0)
    until = t.pause()
    assert until is not None
    t.now = until
    for base in (2, 3):
        assert named(t.fetch()) == [(1, base)]
        t.answer([row(1, base=base)])
    t.fetch()


def test_a_log_that_was_too_slow_is_waited_for_once_it_was_not() -> None:
    """A disk that takes long for every append does not hold up the others."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.answer([row(0, base=1)], hangs=0)
    until = t.pause()
    assert until is not None
    t.now = until
    t.fetch()
    t.applied(0)
    t.answer()
    t.fetch()
    t.answer([row(0, base=2)], hangs=0)
    t.fetch()  # at once
    t.applied(0)
    t.answer()
    t.fetch()
    t.answer([row(0, base=3)], hangs=0)
    assert t.pause() is not None


def test_an_answer_that_is_not_taken_is_asked_for_anew() -> None:
    """Or the leader, which sees no change, would send the same for ever."""
    t = Scene()
    t.open_session()
    t.fetch()
    t.logs[1].append((9, "from elsewhere"))
    assert t.answer([row(1, base=1)]) == []
    assert named(t.fetch()) == [(1, 2)]


def test_very_many_partitions_are_named_in_several_fetches() -> None:
    """Neither broker is held up by one; the leader waits for records in the last alone."""
    t = Scene(partitions=5, named_at_once=2)
    fetches = []
    for _ in range(3):
        fetches.append(t.fetch())
        assert t.pause() is None, "one follows the other"
        t.answer()
    assert [it.session_epoch for it in fetches] == [0, 1, 2]
    assert [named(it) for it in fetches] == [[(0, 1), (1, 1)], [(2, 1), (3, 1)], [(4, 1)]]
    assert [it.max_wait_ms for it in fetches] == [0, 0, 500]
    assert named(t.fetch()) == []


def test_a_leader_without_sessions_is_told_of_very_many_at_once() -> None:
    """Those that were not named would never be fetched; once there is room they are divided."""
    t = Scene(partitions=3, named_at_once=2)
    assert len(named(t.fetch())) == 2
    t.answer(session=0)
    again = t.fetch()
    assert (len(named(again)), again.max_wait_ms) == (3, 500)
    t.answer()
    t.fetcher.on_registered(BrokerEpoch(6))
    assert len(named(t.fetch())) == 2


def test_a_session_is_lost_while_partitions_wait_to_be_named() -> None:
    """The next one begins with the first of them."""
    t = Scene(partitions=3, named_at_once=2)
    t.open_session()
    assert named(t.fetch()) == [(2, 1)]
    t.answer(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session=0)
    assert named(t.fetch()) == [(0, 1), (1, 1)]
    t.answer()
    assert named(t.fetch()) == [(2, 1)]


def test_a_partition_changes_hands_while_it_waits_to_be_named() -> None:
    """One goes before the leader has heard of it, another gets a newer leader epoch."""
    t = Scene(partitions=4, named_at_once=2)
    assert t.fetch().session_epoch == 0
    t.fetcher.remove(TopicPartition("orders", 2))
    t.add(3, leader_epoch=10)
    t.add(0, leader_epoch=10)
    assert t.answer([row(0, base=1)]) == [], "it was asked for in the earlier epoch"
    request = t.fetch()
    assert named(request) == [(3, 1), (0, 1)]
    assert forgotten(request) == []
    assert {it.current_leader_epoch for it in request.topics[0].partitions} == {10}


def test_records_that_are_being_written_do_not_delay_what_waits_to_be_named() -> None:
    """The leader does not know of those that follow them."""
    t = Scene(partitions=3, named_at_once=2)
    t.fetch()
    topic = FetchableTopicResponse("orders", ORDERS_ID, [row(0, base=1)])
    t.fetcher.on_response(FetchResponse(session_id=SESSION, responses=[topic]), t.now)
    assert named(t.fetch()) == [(2, 1)]


def test_partitions_that_wait_for_their_pause_take_no_place_in_a_fetch() -> None:
    """Those behind them are named, and nothing more is waited for."""
    t = Scene(partitions=4, named_at_once=2)
    t.fetch()
    refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
    t.answer([row(0, error=refused), row(1, error=refused)])
    assert named(t.fetch()) == [(2, 1), (3, 1)]
    t.answer()
    request = t.fetch()
    assert (named(request), forgotten(request)) == ([], [0, 1])
    t.answer()
    t.fetcher.on_registered(BrokerEpoch(6))
    request = t.fetch()
    assert named(request) == [(2, 1), (3, 1)]
