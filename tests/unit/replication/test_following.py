"""Conversations of one follower with its leader: where the logs part, and what goes wrong."""

from typing import Final

from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Millis
from odradek.replication.following import (
    NOTHING,
    AskingEarliest,
    AskingEpochEnd,
    AskingLatest,
    EpochEnd,
    Failed,
    Fetched,
    Fetching,
    FetchPosition,
    Follower,
    FollowerEffects,
    FollowerSettings,
    FollowerState,
)
from tests.unit.replication.model_log import ModelLog, encoded

ME, LEADER = BrokerId(1), BrokerId(2)
OK: Final = ErrorCode.NONE


class Scene:
    """A follower of epoch 9 with its log, whose effects are carried out at once."""

    def __init__(
        self, epochs: list[int], *, high_watermark: int = 0, on_fetch: bool = True
    ) -> None:
        self.now = Millis(1_000)
        self.log = ModelLog()
        for number, epoch in enumerate(epochs):
            self.log.append((epoch, f"r{number}"))
        self.log.high_watermark = Offset(high_watermark)
        self.follower = Follower(
            (TopicPartition("orders", 0), NO_TOPIC_ID),
            self.log,
            FollowerState(LEADER, LeaderEpoch(9)),
            settings=FollowerSettings(truncates_on_fetch=on_fetch),
        )
        self.carry_out(self.follower.begin())

    def carry_out(self, effects: FollowerEffects) -> FollowerEffects:
        """The disk is quick."""
        self.log.apply(effects)
        if effects.changes_log:
            self.log.apply(self.follower.on_applied())
        return effects

    def fetched(
        self,
        error: ErrorCode = OK,
        *,
        epochs: list[int] | None = None,
        high_watermark: int = 0,
        start: int = 0,
        diverging: tuple[int, int] | None = None,
    ) -> FollowerEffects:
        """An answer to a fetch."""
        end = self.log.log_end_offset
        records = encoded(end, [(epoch, "new") for epoch in epochs]) if epochs else None
        at = EpochEnd(LeaderEpoch(diverging[0]), Offset(diverging[1])) if diverging else None
        fetched = Fetched(
            error,
            Offset(high_watermark),
            Offset(start),
            at,
            memoryview(records) if records else None,
        )
        return self.carry_out(self.follower.on_fetched(fetched, self.now))

    def epoch_end(self, epoch: int, offset: int) -> FollowerEffects:
        """An answer to where an epoch ends."""
        end = EpochEnd(LeaderEpoch(epoch), Offset(offset))
        return self.carry_out(self.follower.on_epoch_end(OK, end, self.now))

    def offset(self, offset: int) -> FollowerEffects:
        """An answer to where the log ends, or starts."""
        return self.carry_out(self.follower.on_offset(OK, Offset(offset), self.now))

    def at(self) -> tuple[int, int] | None:
        """The offset of the next fetch, and the epoch before it."""
        position = self.follower.position
        return None if position is None else (position.offset, position.last_fetched_epoch)


def test_records_come_before_the_high_watermark_that_covers_them() -> None:
    """It is taken over once they are in the log, and never above its end."""
    t = Scene([3, 3])
    effects = t.fetched(epochs=[3, 9], high_watermark=3)
    assert effects.append is not None
    assert effects.high_watermark is None
    assert t.log.high_watermark == 3
    t.fetched(high_watermark=7)
    assert t.log.high_watermark == 4
    assert t.follower.lag == 3
    assert t.follower.position == FetchPosition(
        LeaderEpoch(9), Offset(4), LeaderEpoch(9), Offset(0)
    )


def test_the_high_watermark_does_not_go_back_with_a_new_leader() -> None:
    """A new leader may know less of what is committed than its followers do."""
    t = Scene([3, 3], high_watermark=2)
    assert t.fetched(high_watermark=1) == NOTHING
    assert t.log.high_watermark == 2


def test_the_log_start_follows_the_leaders() -> None:
    """Not beyond the high watermark: the rest comes with the records."""
    t = Scene([3, 3, 3])
    assert t.fetched(high_watermark=2, start=3) == FollowerEffects(
        high_watermark=Offset(2), log_start_offset=Offset(2)
    )


def test_nothing_is_asked_while_the_log_is_being_changed() -> None:
    """The end of the log is not known then."""
    t = Scene([3])
    records = memoryview(encoded(1, [(9, "new")]))
    fetched = Fetched(OK, Offset(1), Offset(0), None, records)
    assert t.follower.on_fetched(fetched, t.now).append is records
    assert t.follower.position is None


def test_a_log_is_cut_where_the_leader_left_its_epoch() -> None:
    """KIP-595: the answer to a fetch says where the leader's log has another epoch."""
    t = Scene([3, 3, 5, 5, 5])
    assert t.at() == (5, 5)
    assert t.fetched(diverging=(5, 4)).truncate_to == 4
    assert t.at() == (4, 5)


def test_a_log_is_cut_where_its_own_part_of_that_epoch_ends() -> None:
    """The leader wrote more in it than this log has, which has another epoch in its place."""
    t = Scene([3, 5, 7, 7])
    assert t.fetched(diverging=(5, 4)).truncate_to == 2
    assert t.at() == (2, 5)


def test_an_epoch_that_the_leader_never_had_is_cut_in_rounds() -> None:
    """KIP-279: its end at the leader is that of a smaller one, which may part earlier still."""
    t = Scene([2, 2, 4, 4, 6, 6])
    assert t.fetched(diverging=(5, 6)).truncate_to == 4  # 5 is unknown here: up to the end of 4
    assert t.at() == (4, 4)
    assert t.fetched(diverging=(3, 4)).truncate_to == 2
    assert t.at() == (2, 2)
    assert t.fetched(epochs=[3, 3, 5]).append is not None


def test_an_old_leader_is_asked_until_the_epochs_are_the_same() -> None:
    """KIP-279 with OffsetForLeaderEpoch: fetches begin after the last round."""
    t = Scene([2, 2, 4, 4, 6, 6], on_fetch=False)
    assert t.follower.state == AskingEpochEnd(LeaderEpoch(6))
    assert t.epoch_end(5, 6).truncate_to == 4
    assert t.follower.state == AskingEpochEnd(LeaderEpoch(4))
    assert t.epoch_end(4, 3).truncate_to == 3
    assert t.at() == (3, -1)


def test_a_leader_that_knows_no_epoch_gets_a_cut_at_the_high_watermark() -> None:
    """Nothing above it is known to be the same; nothing below it is given up."""
    t = Scene([2, 2, 4], high_watermark=1, on_fetch=False)
    assert t.epoch_end(-1, -1).truncate_to == 1
    assert t.follower.state == Fetching()


def test_a_leader_before_kip_279_says_no_epoch() -> None:
    """Version 0 of OffsetForLeaderEpoch: its end is all that there is."""
    t = Scene([2, 2, 4], on_fetch=False)
    assert t.epoch_end(-1, 2).truncate_to == 2
    assert t.follower.state == Fetching()


def test_an_epoch_without_records_is_forgotten() -> None:
    """It led for a moment and wrote nothing: the cut is at the end of the log, and needed."""
    t = Scene([3, 3])
    t.log.epochs.assign(LeaderEpoch(7), Offset(2))
    assert t.at() == (2, 7)
    assert t.fetched(diverging=(3, 5)).truncate_to == 2
    assert t.at() == (2, 3)


def test_a_log_without_records_fetches_at_once() -> None:
    """There is nothing to cut, so it does not wait for its disk."""
    t = Scene([])
    assert t.follower.begin() is NOTHING
    assert t.at() == (0, -1)


def test_a_log_without_epochs_begins_at_its_high_watermark() -> None:
    """There is nothing to compare."""
    t = Scene([])
    t.log.entries = [(-1, "old"), (-1, "old")]
    t.log.high_watermark = Offset(1)
    assert t.follower.begin().truncate_to == 1


def test_a_leader_with_a_shorter_log_cuts_the_followers() -> None:
    """After an unclean election: what the leader does not have is gone."""
    t = Scene([3, 3, 3], high_watermark=3)
    t.fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert t.follower.state == AskingLatest()
    assert t.offset(1).truncate_to == 1
    assert t.at() == (1, 3)
    assert t.log.high_watermark == 1


def test_a_leader_that_starts_beyond_the_log_begins_it_anew() -> None:
    """What is missing in between was deleted there, by retention or DeleteRecords."""
    t = Scene([3, 3, 3])
    t.fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert t.offset(90) == NOTHING
    assert t.follower.state == AskingEarliest()
    assert t.offset(40) == FollowerEffects(start_fully_at=Offset(40))
    assert t.at() == (40, -1)


def test_an_offset_that_is_in_range_after_all_is_fetched_after_a_pause() -> None:
    """The leader's log has grown meanwhile; nothing is cut."""
    t = Scene([3, 3, 3])
    t.fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
    t.offset(90)
    assert t.offset(0) == NOTHING
    assert t.at() == (3, 3)
    assert t.follower.retry_at is not None


def test_errors_in_a_row_double_the_pause() -> None:
    """The first ones are those of an election, which is over in no time."""
    t = Scene([3])
    pauses = []
    for _ in range(8):
        t.fetched(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert t.follower.retry_at is not None
        pauses.append(t.follower.retry_at - t.now)
    assert pauses == [20, 40, 80, 160, 320, 640, 1_000, 1_000]
    t.fetched()
    assert t.follower.retry_at is None
    t.fetched(ErrorCode.UNKNOWN_LEADER_EPOCH)
    assert t.follower.retry_at == t.now + 20


def test_a_fenced_follower_waits_for_the_controller() -> None:
    """There is a newer leadership, of which it will be told; asking again cannot help."""
    t = Scene([3])
    t.fetched(ErrorCode.FENCED_LEADER_EPOCH)
    assert t.follower.state == Failed(ErrorCode.FENCED_LEADER_EPOCH)
    assert t.follower.position is None


def test_records_that_arrive_corrupt_are_fetched_again() -> None:
    """A bit may have turned on the way; after a cut that failed nothing is tried again."""
    t = Scene([3, 5])
    records = memoryview(encoded(2, [(9, "new")]))
    t.follower.on_fetched(Fetched(OK, Offset(1), Offset(0), None, records), t.now)
    t.follower.on_apply_failed(ErrorCode.CORRUPT_MESSAGE, t.now)
    assert t.at() == (2, 5)
    assert t.follower.retry_at is not None
    t.follower.on_fetched(Fetched(OK, diverging=EpochEnd(LeaderEpoch(3), Offset(1))), t.now)
    t.follower.on_apply_failed(ErrorCode.KAFKA_STORAGE_ERROR, t.now)
    assert t.follower.state == Failed(ErrorCode.KAFKA_STORAGE_ERROR)


def unwritten_pauses(t: Scene, error: ErrorCode, times: int) -> list[int]:
    """How long it rests each time, while what it fetches cannot be appended."""
    pauses = []
    for _ in range(times):
        end = t.log.log_end_offset
        records = memoryview(encoded(end, [(9, "new")]))
        t.follower.on_fetched(Fetched(OK, Offset(1), Offset(0), None, records), t.now)
        t.follower.on_apply_failed(error, t.now)
        assert t.follower.retry_at is not None
        pauses.append(t.follower.retry_at - t.now)
    return pauses


def test_what_cannot_be_written_is_fetched_ever_more_slowly() -> None:
    """A full disk stays full for long; with the first append that succeeds it begins anew."""
    t = Scene([3, 5])
    full = ErrorCode.KAFKA_STORAGE_ERROR
    doubled = [20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120]
    assert unwritten_pauses(t, full, 11) == [*doubled, 10_000, 10_000]
    t.fetched()
    assert unwritten_pauses(t, full, 1) == [10_000]
    t.fetched(epochs=[9])
    assert unwritten_pauses(t, full, 2) == [20, 40]
    assert unwritten_pauses(t, ErrorCode.CORRUPT_MESSAGE, 2) == [20, 20]


def test_comparisons_without_end_get_a_pause() -> None:
    """A leader that always answers another epoch keeps no processor busy."""
    t = Scene([3, 3])
    for _ in range(32):
        t.fetched(diverging=(3, 2))
        assert t.follower.retry_at is None
    t.fetched(diverging=(3, 2))
    assert t.follower.retry_at is not None


def test_a_cut_below_its_own_start_begins_the_log_where_the_leaders_does() -> None:
    """Begun at the cut, it would be in sync without what the leader has below that."""
    t = Scene([3, 3, 3, 3])
    t.log.log_start_offset = t.log.high_watermark = Offset(3)
    assert t.fetched(diverging=(3, 2)) == NOTHING
    assert t.follower.state == AskingEarliest(anew=True)
    effects = t.follower.on_offset(OK, Offset(1), t.now)
    assert effects == FollowerEffects(start_fully_at=Offset(1))
    t.carry_out(effects)
    assert (t.log.log_start_offset, t.log.log_end_offset) == (1, 1)
    assert t.follower.position is not None
