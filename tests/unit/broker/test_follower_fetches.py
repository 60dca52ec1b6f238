"""Who reads how far: followers up to the end of the log, consumers up to the high watermark."""

from collections.abc import Callable

from odradek.access.decisions import Decisions
from odradek.broker.access.authorizer import Authorizer
from odradek.broker.fetching.fetch_sessions import Slot
from odradek.broker.fetching.partition_reading import Found, Look
from odradek.broker.timers import Timer
from odradek.metadata.image import Changes
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Millis
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from tests.unit.broker.fetch_ground import B2, B3, LIFE, RACK_AWARE, Asked, Reading, live, size
from tests.unit.broker.ground import ME, ORDERS, TOPIC_ID


def test_a_consumer_reads_what_is_committed_and_a_follower_all() -> None:
    """A record that one replica has may still be lost: no consumer has seen it then."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one", "two")
        assert size(t.consume(0).row) == 0
        row = t.follow(2, 0).row
        assert size(row) > 0
        assert (row.high_watermark, row.log_start_offset) == (0, 0)
        t.follow(2, 2)
        assert t.follow(3, 2).row.high_watermark == 2
        assert size(t.consume(0).row) > 0
        await t.append("three")
        row = t.consume(0).row
        assert row.high_watermark == 2
        assert row.records == t.follow(2, 0, bytes_max=1).row.records

    live(talk)


def test_only_brokers_are_followers_whose_end_is_noted() -> None:
    """Somebody who only says so could have a broker asked whether it lives, at each of its ends."""

    async def talk(t: Reading) -> None:
        await t.lead()
        follower = t.follow(2, 0).connection
        assert follower.at_end is not None
        follower.at_end()
        assert t.gone == [B2]
        access = Authorizer(Decisions(), "BROKERS")
        t.fetches.deps = t.fetches.deps._replace(access=access)
        assert t.follow(3, 0).connection.at_end is None

    live(talk)


def test_a_follower_is_answered_as_soon_as_the_log_grows() -> None:
    """Producers with acks=all wait for it."""

    async def talk(t: Reading) -> None:
        await t.lead()
        asked = t.follow(2, 0, wait=500)
        consumed = t.consume(0, wait=500)
        assert asked.response is None
        await t.append("one")
        assert size(asked.row) > 0
        assert consumed.response is None

    live(talk)


def test_a_consumer_is_answered_as_soon_as_records_are_committed() -> None:
    """By the fetches of the followers."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one")
        consumed = t.consume(0, wait=500)
        t.follow(2, 1)
        t.follow(3, 1)
        await t.turn()
        assert size(consumed.row) > 0

    live(talk)


def test_logs_that_have_parted_are_told_where() -> None:
    """KIP-595: no records, and the position does not count."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one", "two")
        await t.lead(epoch=5)
        await t.append("three")
        row = t.follow(2, 4, last_epoch=4, epoch=5, wait=500).row
        assert row.diverging_epoch is not None
        assert (row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (3, 2)
        assert size(row) == 0
        assert {it.end_offset for _, it in t.led.leader.followers()} == {None}
        row = t.consume(3, last_epoch=3).row
        assert row.diverging_epoch is not None, "a consumer is told, too"

    live(talk)


def test_an_epoch_that_only_the_follower_has_is_a_divergence_wherever_it_ends() -> None:
    """KIP-279: this log goes on beyond that offset, but in another epoch."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one", "two")
        await t.lead(epoch=5)
        await t.append("three")
        row = t.follow(2, 2, last_epoch=4, epoch=5, wait=500).row
        assert row.diverging_epoch is not None
        assert (row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (3, 2)
        assert size(row) == 0

    live(talk)


def test_a_follower_of_another_epoch_is_refused() -> None:
    """KIP-320: it would be counted for what it does not have."""

    async def talk(t: Reading) -> None:
        await t.lead(epoch=5)
        assert t.follow(2, 0, epoch=4).row.error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert t.follow(2, 0, epoch=6).row.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert t.follow(7, 0, epoch=5).row.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        beyond = t.follow(2, 1, epoch=5, last_epoch=-1)
        assert beyond.row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    live(talk)


def test_a_waiting_fetch_learns_that_the_leader_epoch_has_ended() -> None:
    """It asks again in the new one, or elsewhere."""

    async def talk(t: Reading) -> None:
        await t.lead()
        asked, consumed = t.follow(2, 0, wait=9_000), t.consume(0, wait=9_000)
        await t.lead(epoch=4)
        await t.turn()
        assert asked.row.error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert consumed.response is None
        await t.lead(epoch=6, leader=2)
        await t.turn()
        assert consumed.row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    live(talk)


def test_a_follower_in_another_life_cannot_join() -> None:
    """KIP-903: the broker that fetched may have lost its log since."""

    async def talk(t: Reading) -> None:
        await t.lead()
        t.follow(2, 0, life=LIFE)
        t.follow(3, 0)
        eligible = {int(broker): it.eligible for broker, it in t.led.leader.followers()}
        assert eligible == {2: False, 3: True}

    live(talk)


class InSession:
    """A follower that has a session for all its partitions."""

    def __init__(self, reading: Reading, count: int) -> None:
        self.reading = reading
        self.partitions = [TopicPartition("orders", number) for number in range(count)]
        self.id, self.epoch = 0, 0

    def begin(self, *offsets: tuple[int, int]) -> None:
        """Its first fetch, which is answered at once."""
        self.id = self.fetch(*offsets, wait=0).answered.session_id

    def fetch(
        self,
        *offsets: tuple[int, int],
        forgets: tuple[int, ...] = (),
        wait: int = 500,
        life: int = LIFE + 2,
    ) -> Asked:
        """Names these partitions, with where they are fetched from."""
        wanted = [FetchPartition(it, 3, at, 3 if at else -1, 0, 1 << 20) for it, at in offsets]
        request = FetchRequest(
            replica_state=ReplicaState(2, life),
            max_wait_ms=wait,
            min_bytes=1,
            session_id=self.id,
            session_epoch=self.epoch,
            topics=[FetchTopic("", TOPIC_ID, wanted)] if wanted else [],
            forgotten_topics_data=[ForgottenTopic("", TOPIC_ID, forgets)] if forgets else [],
        )
        self.epoch += 1
        return self.reading.ask(request)


def test_a_session_looks_at_what_has_changed_alone() -> None:
    """A record in one of many partitions costs a look at that one."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 50)
        await t.lead(*follower.partitions)
        follower.begin(*((it, 0) for it in range(50)))
        looked: list[int] = []
        look = t.fetches.reading.read

        def counted(slot: Slot, how: Look) -> Found:
            looked.append(slot.number)
            return look(slot, how)

        t.fetches.reading.read = counted  # type: ignore[method-assign, assignment]
        waiting = follower.fetch()
        await t.append("one", partition=follower.partitions[7])
        assert size(waiting.row) > 0
        assert looked == [7]
        follower.fetch((7, 1))
        assert looked == [7, 7]

    live(talk)


def test_a_session_is_told_a_high_watermark_that_moved_meanwhile() -> None:
    """Even if there is nothing else to tell: the follower's own consumers wait for it."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 1)
        await t.lead()
        await t.append("one")
        follower.begin((0, 0))
        waiting = follower.fetch((0, 1))
        t.follow(3, 1)
        await t.turn()
        assert waiting.response is None, "that alone is no reason to answer"
        await t.clock.sleep_until(t.clock.monotonic() + 600)  # type: ignore[arg-type]
        assert waiting.row.high_watermark == 1
        assert follower.fetch(wait=0).answered.responses == []

    live(talk)


def test_a_follower_without_a_session_is_told_once_where_a_log_begins() -> None:
    """It may be unable to delete for now: it would ask again and again, as fast as it can."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one", "two")
        t.follow(3, 2)
        waiting = t.follow(2, 2, wait=500)
        await t.replicas.logs.move_start(t.led.log, Offset(1))
        t.led.on_log_start()
        assert t.led.await_low_watermark(Offset(1), Sleeping()) is not None
        await t.turn()
        assert waiting.row.log_start_offset == 1
        again = t.follow(2, 2, wait=500)
        await t.turn()
        assert again.response is None
        assert t.led.await_low_watermark(Offset(1), Sleeping()) is not None
        await t.turn()
        assert again.row.log_start_offset == 1, "another deletion is told at once"

    live(talk)


def test_a_follower_that_begins_anew_in_its_session_is_told_where_a_log_begins() -> None:
    """It names a start below what it was told: it may not have heard, or not have done it."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 1)
        await t.lead()
        await t.append("one", "two")
        follower.begin((0, 2))
        t.follow(3, 2)
        await t.replicas.logs.move_start(t.led.log, Offset(1))
        t.led.on_log_start()
        assert follower.fetch(wait=0).row.log_start_offset == 1
        assert follower.fetch(wait=0).answered.responses == []
        assert follower.fetch((0, 2), wait=0).row.log_start_offset == 1

    live(talk)


class Sleeping:
    """A deletion that waits."""

    def wake(self) -> None:
        """It is over."""


def test_the_next_request_of_a_session_ends_one_that_waits() -> None:
    """A follower has new partitions to name, and does not wait half a second with them."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 2)
        await t.lead(*follower.partitions)
        follower.begin((0, 0))
        waiting = follower.fetch()
        follower.fetch((1, 0))
        assert waiting.answered.responses == []
        await t.append("one", partition=follower.partitions[0])

    live(talk)


def test_what_a_session_forgets_is_not_found_by_a_request_that_comes_from_the_disk() -> None:
    """It would be served from there for ever, beside what the follower asks for by then."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 2)
        await t.lead(*follower.partitions)
        await t.append("one")
        follower.begin((0, 0))
        at_disk = follower.fetch((0, 0))
        assert at_disk.response is None, "what is asked for again is checked first"
        follower.fetch((1, 0), forgets=(0,))
        await t.turn()
        assert at_disk.answered.responses == []
        await t.append("two")
        ((*rows,),) = [it.partitions for it in follower.fetch((0, 1)).answered.responses]
        assert [size(it) for it in rows if it.partition_index == 0] == [71]

    live(talk)


def test_a_follower_that_comes_before_its_leader_has_begun_waits() -> None:
    """It is not refused again and again; as soon as this broker leads, its position counts."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 3)
        await t.lead(follower.partitions[0])
        follower.begin((0, 0))
        waiting = follower.fetch((1, 0), wait=9_000)
        await t.lead(follower.partitions[1])
        await t.turn()
        assert waiting.response is None
        ((_, progress), _) = t.replicas.led(follower.partitions[1]).leader.followers()
        assert progress.end_offset == 0
        await t.append("one", partition=follower.partitions[1])
        assert size(waiting.row) > 0
        asked = follower.fetch((1, 1), (2, 0), wait=9_000)
        await t.lead(follower.partitions[0])
        await t.clock.sleep_until(t.clock.monotonic() + 4_900)  # type: ignore[arg-type]
        assert asked.response is None
        await t.clock.sleep_until(t.clock.monotonic() + 700)  # type: ignore[arg-type]
        assert asked.row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "not for ever"

    live(talk)


def test_a_follower_that_came_too_early_and_is_gone_is_not_looked_for() -> None:
    """Its broker has died: no timer rings for it any more."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 2)
        await t.lead(follower.partitions[0])
        follower.begin((0, 0))
        asked = follower.fetch((1, 0), wait=100)
        await t.clock.sleep_until(t.clock.monotonic() + 6_000)  # type: ignore[arg-type]
        assert asked.response is not None
        rung: list[Millis] = []
        set_timer = t.timers.at

        def counted(deadline: Millis, call: Callable[[], None]) -> Timer:
            rung.append(deadline)
            return set_timer(deadline, call)

        t.timers.at = counted  # type: ignore[method-assign]
        await t.clock.sleep_until(t.clock.monotonic() + 6_000)  # type: ignore[arg-type]
        assert rung == []

    live(talk)


def test_a_follower_that_comes_before_the_topic_has_a_name_waits_for_that_alone() -> None:
    """The leader has begun; what it is to be told last is how the topic of this id is called."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 2)
        await t.lead(*follower.partitions)
        follower.begin((0, 0))
        t.cluster.update(Changes(t.cluster.image).remove_topic("orders").image())
        asked = follower.fetch((1, 0), wait=9_000)
        await t.turn()
        assert asked.response is None
        t.know(1, 2, 3)
        await t.append("one", partition=follower.partitions[1])
        assert size(asked.row) > 0

    live(talk)


def test_a_follower_that_hears_of_the_next_epoch_first_waits_for_its_leader() -> None:
    """The controller tells brokers in no order; one of the past is refused at once."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 1)
        await t.lead()
        follower.begin((0, 0))
        wanted = FetchPartition(0, 4, 0, -1, 0, 1 << 20)
        request = FetchRequest(
            replica_state=ReplicaState(2, LIFE + 2),
            max_wait_ms=9_000,
            min_bytes=1,
            session_id=follower.id,
            session_epoch=1,
            topics=[FetchTopic("", TOPIC_ID, [wanted])],
        )
        asked = t.ask(request)
        await t.lead(epoch=4)
        await t.append("one")
        assert size(asked.row) > 0
        await t.lead(epoch=5)
        request.session_epoch = 2
        assert t.ask(request).row.error_code == ErrorCode.FENCED_LEADER_EPOCH

    live(talk)


def test_a_follower_that_came_early_to_another_follower_is_refused_at_once() -> None:
    """The controller has chosen another leader meanwhile: it looks for that one, and loses no time.

    What this broker is told of an earlier epoch says nothing yet of the one that is asked for.
    """

    async def talk(t: Reading) -> None:
        follower = InSession(t, 2)
        await t.lead(follower.partitions[0])
        follower.begin((0, 0))
        asked = follower.fetch((1, 0), wait=9_000)
        await t.lead(follower.partitions[1], epoch=2, leader=3)
        await t.turn()
        assert asked.response is None
        await t.lead(follower.partitions[1], epoch=3, leader=3)
        await t.turn()
        assert asked.row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    live(talk)


def test_a_follower_that_registers_anew_is_known_by_that_in_all_its_partitions() -> None:
    """Its process lives on, and so does its session, which need not name a partition again."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 1)
        await t.lead()
        follower.begin((0, 0))
        follower.fetch(life=LIFE + 7)
        ((_, known), _) = t.led.leader.followers()
        assert known.broker_epoch == LIFE + 7

    live(talk)


def test_a_follower_that_was_not_known_may_join_once_it_is() -> None:
    """Its broker's registration comes after its fetch: it says nothing new, and still counts."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 1)
        await t.lead()
        t.know(1, 3)
        follower.begin((0, 0))
        ((_, before), _) = t.led.leader.followers()
        assert not before.eligible
        t.know(1, 2, 3)
        follower.fetch()
        assert before.eligible

    live(talk)


def test_the_bytes_of_an_answer_are_counted_over_all_partitions() -> None:
    """Except for the first batch, each fits into what the others have left."""

    async def talk(t: Reading) -> None:
        follower = InSession(t, 3)
        await t.lead(*follower.partitions)
        for each in follower.partitions:
            await t.append("x" * 100, partition=each)
        one = size(t.follow(3, 0).row)
        wanted = [FetchPartition(it, 3, 0, -1, 0, 1 << 20) for it in range(3)]
        request = FetchRequest(
            replica_state=ReplicaState(2, LIFE + 2),
            max_bytes=2 * one,
            topics=[FetchTopic("", TOPIC_ID, wanted)],
        )
        (topic,) = t.ask(request).answered.responses
        assert [size(row) for row in topic.partitions] == [one, one, 0]
        request.max_bytes = 1
        (topic,) = t.ask(request).answered.responses
        assert [size(row) for row in topic.partitions] == [one, 0, 0]

    live(talk)


def test_a_consumer_is_sent_to_a_replica_in_its_rack() -> None:
    """KIP-392: if that holds the offset, and the operator has set a selector."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one", "two")
        t.follow(2, 1)
        t.follow(3, 2)
        assert t.consume(1, rack="rack-2").row.preferred_read_replica == 2
        assert t.consume(2, rack="rack-2").row.preferred_read_replica == -1
        assert t.consume(0, rack="rack-1").row.preferred_read_replica == -1
        assert t.consume(0, rack="nowhere").row.preferred_read_replica == -1
        t.know(1, 3)
        assert t.consume(1, rack="rack-2").row.preferred_read_replica == -1

    live(talk, selector=RACK_AWARE)


def test_a_follower_serves_consumers_up_to_its_own_high_watermark() -> None:
    """It wakes them when it learns that more is committed; other followers it does not serve."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one", "two")
        await t.lead(epoch=4, leader=2)
        followed = t.replicas.followed(ORDERS)
        assert followed is not None
        assert t.follow(3, 0, epoch=4).row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        consumed = t.consume(0, wait=9_000)
        assert consumed.response is None
        followed.on_high_watermark(Offset(2))
        await t.turn()
        assert size(consumed.row) > 0

    live(talk)


def test_a_topic_id_that_is_not_known_is_an_error_of_its_rows() -> None:
    """And so is one of an earlier topic with the same name."""

    async def talk(t: Reading) -> None:
        await t.lead()
        wanted = [FetchPartition(0, -1, 0, -1, -1, 1)]
        request = FetchRequest(topics=[FetchTopic("", b"another topic id", wanted)])
        assert t.ask(request).row.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert t.led.leader_epoch == LeaderEpoch(3)

    live(talk)


def test_a_throttled_follower_gets_no_more_than_its_share() -> None:
    """Until it is in the ISR: acks=all must not wait for it then."""

    async def talk(t: Reading) -> None:
        await t.lead(isr=(ME, B3))
        await t.append("one", "two")
        t.throttled.add(ORDERS)
        t.throttle.rate = 10
        t.throttle.note(10, t.clock.monotonic())  # the share of the second that has passed
        assert size(t.follow(2, 0).row) > 0
        held = t.follow(2, 0)
        assert (size(held.row), held.row.log_start_offset) == (0, 0)
        assert size(t.follow(3, 0).row) > 0, "in sync"
        t.throttled.clear()
        assert size(t.follow(2, 0).row) > 0, "no longer named"
        t.throttled.add(ORDERS)
        await t.clock.sleep_until(Millis(t.clock.monotonic() + 20_000))
        assert size(t.follow(2, 0).row) > 0, "paid"

    live(talk)
