"""The group coordinator on the loop: what is written, loaded, timed and forgotten."""

import pytest

from odradek.broker.partitions.replicas.hosted import StopState
from odradek.coordinator.groups.requests import DeleteGroup, DescribeGroup, FetchOffsets
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch
from odradek.storage.lending import give_back, lend
from tests.unit.broker.ground import Appender, Ground, batch_of, word
from tests.unit.broker.group_desk import PLACE, Desk, Known, commit, live
from tests.unit.broker.test_role_changes import worker_of

OTHER = BrokerId(2)


def test_a_commit_survives_the_broker() -> None:
    """It is answered once it is in the log, and read from there in the next life."""

    async def first(desk: Desk) -> None:
        await desk.active()
        assert await desk.commit(42) is ErrorCode.NONE

    async def second(desk: Desk) -> None:
        await desk.active()
        assert await desk.fetch() == {"orders-0": 42}

    with Ground() as ground:
        live(ground, first)
        live(ground, second)


def test_who_asks_too_early_is_told_to_ask_again() -> None:
    """Until the log is read nothing is known, and nothing may be said."""

    async def first(desk: Desk) -> None:
        await desk.active()
        await desk.commit(1)

    async def second(desk: Desk) -> None:
        assert await desk.fetch() is ErrorCode.NOT_COORDINATOR
        await desk.elect()
        assert await desk.fetch() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        while await desk.fetch() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            await desk.seconds(0.001)
        assert await desk.fetch() == {"orders-0": 1}

    with Ground() as ground:
        live(ground, first)
        live(ground, second)


def test_commits_of_one_turn_keep_their_order() -> None:
    """The last one counts, whichever is written first."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        asked = [desk.ask(commit(offset)) for offset in range(20)]
        for each in asked:
            await each.answers()
        assert await desk.fetch() == {"orders-0": 19}

    with Ground() as ground:
        live(ground, talk)


def test_what_is_too_large_is_refused_and_leaves_no_trace() -> None:
    """A commit is one batch if it can be, and several if it must; but a record is never cut.

    The refusal comes at once, and yet behind what was on its way before it.
    """

    async def talk(desk: Desk) -> None:
        led = await desk.active()
        before = desk.ask(commit(1))
        request = commit(2)
        request.topics[0].partitions[0].committed_metadata = "x" * 2_000
        refused = desk.ask(request)
        behind = desk.ask(commit(3, partitions=50))
        (response,) = await refused.answers()
        assert before.told.done()
        code = response.topics[0].partitions[0].error_code
        assert code == ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        await behind.answers()
        found = await desk.fetch()
        assert isinstance(found, dict)
        assert found["orders-49"] == 3
        assert led.log.log_end_offset == 51

    async def again(desk: Desk) -> None:
        await desk.active()
        found = await desk.fetch()
        assert isinstance(found, dict)
        assert len(found) == 50

    with Ground() as ground:
        ground.settings.topics[GROUP_METADATA_TOPIC] = {"max.message.bytes": "1000"}
        live(ground, talk)
        live(ground, again)


def test_parts_are_answered_in_their_order() -> None:
    """A request about many groups is one answer, however many turns it takes."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        await desk.commit(1)
        names = [f"group-{number}" for number in range(300)] + ["readers"]
        answers = await desk.ask(*map(DescribeGroup, names)).answers()
        assert [answer.group_id for answer in answers] == names
        assert [answer.group_state for answer in answers[-2:]] == ["Dead", "Empty"]
        assert await desk.ask().answers() == []

    with Ground() as ground:
        live(ground, talk)


def test_a_client_that_went_away_is_told_nothing() -> None:
    """What it asked for is done all the same: it was written already."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        asked = desk.ask(commit(7))
        asked.go_away()
        await desk.seconds(1)
        assert not asked.told.done()
        assert await desk.fetch() == {"orders-0": 7}

    with Ground() as ground:
        live(ground, talk)


def test_a_topic_takes_its_offsets_with_it() -> None:
    """Also one that was made anew under the same name; positions in others stay."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        await desk.commit(5)
        await desk.commit(6, "payments")
        desk.known.add("orders", 4, life=1)
        await desk.seconds(1)
        assert await desk.fetch() == {"payments-0": 6}
        desk.known.remove("payments")
        await desk.seconds(1)
        assert await desk.fetch() == {}

    known = Known(orders=1, payments=1, **{GROUP_METADATA_TOPIC: 1})
    with Ground() as ground:
        live(ground, talk, known)


def test_a_topic_that_goes_while_the_log_is_read() -> None:
    """Its offsets are forgotten once they are known."""

    async def first(desk: Desk) -> None:
        await desk.active()
        await desk.commit(5)

    async def second(desk: Desk) -> None:
        await desk.elect()
        desk.known.remove("orders")
        await desk.seconds(1)
        assert await desk.fetch() == {}

    with Ground() as ground:
        live(ground, first)
        live(ground, second)


def test_a_log_that_was_to_be_loaded_is_left_alone_once_it_is_not_led() -> None:
    """It waited for another to be loaded; by now a job may have it for itself."""

    async def talk(desk: Desk) -> None:
        replicas, waiting = desk.replicas, TopicPartition(GROUP_METADATA_TOPIC, 1)
        await desk.active()
        await desk.commit(1)
        await replicas.apply_leader_and_isr([word(waiting)])
        Appender(replicas.led(waiting)).append(batch_of("a"))
        both = [word(PLACE, epoch=1, leader=OTHER), word(waiting, epoch=1, leader=OTHER)]
        await replicas.apply_leader_and_isr(both)
        worker, found = worker_of(replicas, PLACE), replicas.dirs.get(waiting)
        assert found is not None
        assert worker is not worker_of(replicas, waiting)
        worker.hang(2)  # what was decided before is waited for by two jobs
        await replicas.apply_leader_and_isr([word(PLACE, epoch=2), word(waiting, epoch=2)])
        await replicas.apply_leader_and_isr([word(waiting, epoch=3, leader=OTHER)])
        lend([found], job := object())
        worker.go_on()
        while desk.groups.list_groups((), ())[1]:
            await desk.seconds(0.001)
        give_back([found], job)
        assert await desk.fetch() == {"orders-0": 1}

    known = Known(orders=1, **{GROUP_METADATA_TOPIC: 2})
    with Ground() as ground:
        live(ground, talk, known)


def test_who_waits_at_the_end_of_a_leadership_must_look_elsewhere() -> None:
    """The same at the end of the broker."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        asked = desk.ask(commit(1))
        await desk.replicas.stop({PLACE: StopState(NO_LEADER_EPOCH, delete=False)})
        (response,) = await asked.answers()
        assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        assert await desk.fetch() is ErrorCode.NOT_COORDINATOR

    with Ground() as ground:
        live(ground, talk)


def test_a_commit_that_takes_too_long_is_answered_by_the_clock() -> None:
    """A replica in sync is silent: the client tries again, though the commit may yet come true."""

    async def talk(desk: Desk) -> None:
        await desk.elect(isr=(1, 2))
        await desk.seconds(1)
        began = desk.machine.clock.monotonic()
        assert await desk.commit(1) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert desk.machine.clock.monotonic() - began >= 5_000
        assert await desk.fetch() == {}

    with Ground() as ground:
        live(ground, talk)


def test_a_commit_that_too_few_would_hold_is_not_written() -> None:
    """It is refused at once, instead of when its time is over."""

    async def talk(desk: Desk) -> None:
        led = await desk.elect(isr=(1,))
        await desk.seconds(1)
        assert await desk.commit(1) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert led.log.log_end_offset == 0

    with Ground() as ground:
        ground.settings.topics[GROUP_METADATA_TOPIC] = {"min.insync.replicas": "2"}
        live(ground, talk)


def test_an_empty_group_can_be_deleted() -> None:
    """Its offsets go with it, in the log too."""

    async def first(desk: Desk) -> None:
        await desk.active()
        await desk.commit(5, partitions=3)
        (deleted,) = await desk.ask(DeleteGroup("readers")).answers()
        assert deleted.error_code == ErrorCode.NONE
        (missing,) = await desk.ask(DeleteGroup("readers")).answers()
        assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND

    async def second(desk: Desk) -> None:
        await desk.active()
        assert desk.groups.list_groups((), ()) == ([], False)

    with Ground() as ground:
        live(ground, first)
        live(ground, second)


def test_an_answer_of_many_parts_is_of_one_moment() -> None:
    """A part that was known before the lease ended does not go out beside one that was refused."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        assert await desk.commit(42) is ErrorCode.NONE
        asked = desk.ask(FetchOffsets("readers", None), commit(43))
        desk.may_answer = False
        early, late = await asked.answers()
        assert late.topics[0].partitions[0].error_code is ErrorCode.NOT_COORDINATOR
        assert early.error_code is ErrorCode.NOT_COORDINATOR

    with Ground() as ground:
        live(ground, talk)


def test_what_was_asked_before_the_lease_ended_is_not_answered_after_it() -> None:
    """The lease is looked at when the answer is given, whether or not it has waited."""

    async def talk(desk: Desk) -> None:
        await desk.active()
        assert await desk.commit(42) is ErrorCode.NONE
        written = desk.ask(commit(43))
        desk.may_answer = False
        (answer,) = await written.answers()
        assert answer.topics[0].partitions[0].error_code is ErrorCode.NOT_COORDINATOR
        assert await desk.fetch() is ErrorCode.NOT_COORDINATOR
        desk.may_answer = True
        assert await desk.fetch() == {"orders-0": 43}

    with Ground() as ground:
        live(ground, talk)


@pytest.mark.parametrize("is_late", [True, False])
def test_kafka_18137_the_end_of_an_earlier_leadership_stops_no_loading(*, is_late: bool) -> None:
    """It is heard while the next one reads: that goes on, alone, and answers once it has read all.

    The end of the leadership that reads stops it. Coordinators of transactions load likewise.
    """

    async def talk(desk: Desk) -> None:
        replicas, epoch = desk.replicas, LeaderEpoch(3 if is_late else 4)
        await desk.active()
        await desk.commit(1)
        await replicas.apply_leader_and_isr([word(PLACE, epoch=1, leader=OTHER)])
        worker = worker_of(replicas, PLACE)
        await replicas.apply_leader_and_isr([word(PLACE, epoch=2)])
        worker.hang(2)  # two leaderships read at a time
        await desk.seconds(0.001)
        await replicas.apply_leader_and_isr([word(PLACE, epoch=3, leader=OTHER)])
        await replicas.apply_leader_and_isr([word(PLACE, epoch=4)])
        late = word(PLACE, epoch=epoch, leader=OTHER)
        refused = ErrorCode.FENCED_LEADER_EPOCH if is_late else None
        assert (await replicas.apply_leader_and_isr([late])).get(PLACE) is not None
        stopped = await replicas.stop({PLACE: StopState(epoch, delete=False)})
        assert stopped.get(PLACE) is refused
        if not is_late:
            assert await desk.fetch() is ErrorCode.NOT_COORDINATOR
        worker.go_on()
        while is_late and desk.groups.list_groups((), ())[1]:
            assert await desk.fetch() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await desk.seconds(0.001)
        await desk.seconds(1)
        assert await desk.fetch() == ({"orders-0": 1} if is_late else ErrorCode.NOT_COORDINATOR)

    with Ground() as ground:
        live(ground, talk)
