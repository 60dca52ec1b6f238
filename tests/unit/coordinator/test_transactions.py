"""One transactional id and its coordinator: what is decided, when it is told, and who is fenced."""

import pytest

from odradek.coordinator.transactions.settings import LOOK_AGAIN_MS, TransactionSettings
from odradek.coordinator.transactions.values import Identity
from odradek.model.errors import ErrorCode
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Millis, Timestamp
from tests.unit.coordinator.shard_talk import SECOND
from tests.unit.coordinator.transaction_talk import ID, A, B, C, TransactionTalk

NONE = ErrorCode.NONE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED
WRONG_STATE = ErrorCode.INVALID_TXN_STATE
UNKNOWN = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def opened(level: int = 0) -> tuple[TransactionTalk, Identity]:
    """A producer with a transaction that has two partitions."""
    t = TransactionTalk(level=level)
    me = t.producer()
    assert t.code(t.add(me, A, B)) is NONE
    return t, me


def test_the_record_decides_and_not_the_markers() -> None:
    """EndTxn is answered once its record is committed; the next transaction waits for markers."""
    t, me = opened()
    t.hold_markers()
    t.hold()
    end = t.finish(me)
    t.append()
    assert t.waits(end)
    assert not t.sent
    t.commit_appended()
    assert t.code(end) is NONE
    (sent,) = t.sent
    assert (sent.identity, sent.is_committed, sent.partitions) == (me, True, frozenset({A, B}))
    assert t.state() == "PrepareCommit"


def test_it_is_complete_once_every_leader_has_its_marker() -> None:
    """A leader that is away holds up the next transaction, and no reader elsewhere."""
    t, me = opened()
    t.hold_markers()
    t.finish(me, committed=False)
    t.mark(A)
    assert t.state() == "PrepareAbort"
    t.mark(B)
    assert t.state() == "CompleteAbort"


def test_a_client_waits_for_markers_and_a_broker_does_not() -> None:
    """Where Kafka says CONCURRENT_TRANSACTIONS, and the client sleeps before it asks again."""
    t, me = opened()
    t.hold_markers()
    t.finish(me)
    client, broker = t.add(me, C), t.add(me, C, is_of_broker=True)
    assert t.waits(client)
    assert t.code(broker) is CONCURRENT
    t.mark()
    assert t.code(client) is NONE
    assert t.state() == "Ongoing"


def test_no_client_waits_for_more_than_a_second() -> None:
    """A leader may be away for long."""
    t, me = opened()
    t.hold_markers()
    t.finish(me)
    added, begun = t.add(me, C), t.init()
    t.run(0.9)
    assert t.waits(added, begun)
    t.run(0.2)
    assert t.code(added) is CONCURRENT
    assert t.begun(begun) is CONCURRENT
    t.mark()
    assert t.state() == "CompleteCommit"


def test_those_that_wait_are_served_in_their_order() -> None:
    """The new process comes behind the last request of the old one, which is fenced from then."""
    t, me = opened()
    t.hold_markers()
    t.finish(me)
    added, begun, late = t.add(me, C), t.init(), t.add(me, A)
    t.mark()
    assert t.code(added) is NONE
    assert t.waits(begun, late)  # what was added is aborted first
    t.mark()
    assert t.begun(begun) == Identity(me.producer_id, ProducerEpoch(2))
    assert t.code(late) is FENCED


def test_partitions_that_are_added_at_a_time_do_not_wait_for_each_other() -> None:
    """Each record has what the one before it has."""
    t, me = opened()
    t.hold()
    first, second = t.add(me, C, is_of_broker=True), t.add(me, B, C, is_of_broker=True)
    t.flow()
    assert t.code(first) is t.code(second) is NONE
    assert t.verify(me, A, B, C) == [NONE] * 3


def test_a_new_process_aborts_what_the_old_one_left_open() -> None:
    """Under an epoch that nobody was given, so no record of the old one can come behind it."""
    t, me = opened()
    found = t.producer()
    assert found == Identity(me.producer_id, ProducerEpoch(me.producer_epoch + 2))
    (sent,) = t.markers
    assert (sent.identity, sent.is_committed) == (me.fenced(), False)
    assert t.code(t.add(me, A)) is FENCED
    assert t.code(t.finish(me)) is FENCED
    assert t.verify(me, A) == [FENCED]
    assert t.begun(t.init(expected=me)) is FENCED


def test_a_producer_goes_on_after_an_error() -> None:
    """KIP-360: it says who it was; a repeated request is answered as the first."""
    t = TransactionTalk()
    me = t.producer()
    found = t.begun(t.init(expected=me))
    assert found == me.fenced()
    assert t.begun(t.init(expected=me)) == found
    t.producer()
    assert t.begun(t.init(expected=me)) is FENCED


def test_a_used_up_epoch_makes_way_for_another_id() -> None:
    """The last epoch is given to nobody: it fences."""
    t = TransactionTalk()
    me = t.near_the_last_epoch()
    found: Identity | ErrorCode = me
    while isinstance(found, Identity) and not found.is_used_up:
        me, found = found, t.begun(t.init(expected=found))
    assert isinstance(found, Identity)
    t.add(found, A)
    fresh = t.producer()
    assert fresh == Identity(fresh.producer_id, ProducerEpoch(0))
    assert fresh.producer_id != found.producer_id
    assert t.markers[-1].identity == found.fenced()


def test_the_epoch_that_only_fences_is_taken_from_no_producer() -> None:
    """Nothing is begun under it, or ended; the next process gets another id."""
    t = TransactionTalk()
    found = t.near_the_last_epoch()
    while not found.is_used_up:
        found = t.producer(expected=found)
    t.add(found, A)
    t.run(61)
    assert t.state() == "CompleteAbort"
    last = found.fenced()
    assert t.code(t.add(last, A)) is ErrorCode.PRODUCER_FENCED
    for version in (0, 2):
        ended = t.finish(last, committed=False, version=version)
        assert t.code(ended) is ErrorCode.PRODUCER_FENCED
    assert t.verify(last, A) != [ErrorCode.NONE]
    t.run(61)
    assert t.producer().producer_id != found.producer_id


def test_an_end_is_answered_by_the_state_that_it_finds() -> None:
    """A repeated one like the first; one against the outcome is refused, and one of nothing."""
    t, me = opened()
    assert t.code(t.finish(me)) is NONE
    assert t.code(t.finish(me)) is NONE
    assert t.code(t.finish(me, committed=False)) is WRONG_STATE
    other = t.producer()
    assert t.code(t.finish(other)) is WRONG_STATE


def test_version_1_takes_a_late_end_for_that_of_the_next_transaction() -> None:
    """KAFKA-17754: no coordinator can tell them apart."""
    t, me = opened()
    t.finish(me)
    t.add(me, C)
    assert t.code(t.finish(me)) is NONE  # the first one again, delayed
    assert t.state() == "CompleteCommit"


def test_version_2_refuses_a_late_end() -> None:
    """Every transaction has an epoch of its own."""
    t, me = opened(level=2)
    end = t.finish(me, version=2)
    following = t.next_identity(end)
    assert following == me.fenced()
    assert t.markers[-1].identity == following
    assert t.next_identity(t.finish(me, version=2)) == following
    t.add(following, C, is_of_broker=True)
    assert t.code(t.finish(me, version=2)) is FENCED
    assert t.state() == "Ongoing"


def test_version_2_rotates_an_id_at_the_end_of_a_transaction() -> None:
    """And a repeated end is told of the new one."""
    t = TransactionTalk(level=2)
    me = t.near_the_last_epoch()
    while not me.is_used_up:
        me = t.next_identity(t.finish(me, committed=False, version=2))
    t.add(me, A, is_of_broker=True)
    end = t.finish(me, version=2)
    following = t.next_identity(end)
    assert following.producer_epoch == 0
    assert following.producer_id != me.producer_id
    assert t.next_identity(t.finish(me, version=2)) == following
    t.fail_over()
    assert t.next_identity(t.finish(me, version=2)) == following
    assert t.code(t.add(following, B)) is NONE


def test_time_is_up_under_a_higher_epoch() -> None:
    """The producer that took too long is fenced, and its records are aborted."""
    t, me = opened()
    t.run(59)
    assert t.state() == "Ongoing"
    t.run(2)
    assert t.state() == "CompleteAbort"
    assert t.markers[-1].identity == me.fenced()
    assert t.code(t.finish(me)) is FENCED


def test_a_time_out_that_could_not_be_written_is_tried_again() -> None:
    """As often as `transaction.abort.timed.out.transaction.cleanup.interval.ms` says."""
    t, _ = opened()
    t.hold()
    t.run(60)
    t.fail_append(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert t.state() == "Ongoing"
    t.run(9)
    assert not t.queue
    t.held = False
    t.run(2)
    assert t.state() == "CompleteAbort"


def test_time_is_up_whatever_the_next_coordinators_clock_shows() -> None:
    """It is days behind that of the one before: the transaction has no more time than it asked."""
    t, me = opened()
    t.now = t.now._replace(wall=Timestamp(t.now.wall - 10 * 86_400_000))
    t.fail_over()
    t.run(30)
    t.add(me, C)
    t.run(29)
    assert t.state() == "Ongoing"
    t.run(2)
    assert t.state() == "CompleteAbort"


def test_a_clock_that_is_set_back_gives_no_more_time() -> None:
    """Time-outs that run go on to run; the next transaction has a time of its own."""
    t, me = opened()
    t.now = t.now._replace(wall=Timestamp(t.now.wall - 3_600_000))
    t.run(30)
    t.add(me, C)
    t.run(20)
    assert t.code(t.finish(me)) is NONE
    t.add(me, A)
    t.run(59)
    assert t.state() == "Ongoing"
    t.run(2)
    assert t.state() == "CompleteAbort"
    t.add(me := t.producer(), A)
    t.now = t.now._replace(wall=Timestamp(t.now.wall - 3_600_000))
    t.run(61)
    assert t.state() == "CompleteAbort"


def test_the_next_coordinator_sends_all_markers_of_what_was_decided() -> None:
    """It does not know who has one already."""
    t, me = opened()
    t.hold_markers()
    t.finish(me)
    t.mark(A)
    t.fail_over()
    (sent,) = t.sent
    assert (sent.identity, sent.is_committed, sent.partitions) == (me, True, frozenset({A, B}))
    waiting = t.add(me, A)
    t.mark()
    assert t.code(waiting) is NONE
    t.run(61)
    t.mark()
    assert t.state() == "CompleteAbort"  # its time runs from its start


@pytest.mark.parametrize("losing", [True, False])
def test_a_decision_that_was_not_committed_is_lost_or_holds(losing: bool) -> None:  # noqa: FBT001
    """The producer was not told, and asks again: both are right."""
    t, me = opened()
    t.hold()
    end = t.finish(me)
    t.append()
    t.fail_over(losing=losing)
    assert t.code(end) is ErrorCode.NOT_COORDINATOR
    assert t.state() == ("Ongoing" if losing else "CompleteCommit")
    assert t.code(t.finish(me)) is NONE
    assert len(t.markers) == 1


def test_a_record_that_comes_late_to_be_committed_is_carried_out() -> None:
    """Its client was told to ask again."""
    t, me = opened()
    t.hold()
    end = t.finish(me)
    t.append()
    t.run(6)
    assert t.code(end) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    t.flow()
    t.run(LOOK_AGAIN_MS / SECOND)
    assert t.state() == "CompleteCommit"


def test_a_record_that_all_have_their_markers_is_tried_again() -> None:
    """Nothing but it says that the next transaction may begin."""
    t, me = opened()
    t.hold_markers()
    t.finish(me)
    t.hold()
    t.mark()
    t.fail_append(ErrorCode.NOT_ENOUGH_REPLICAS)
    waiting = t.add(me, C)
    t.held = False
    t.run(LOOK_AGAIN_MS / SECOND)
    assert t.code(waiting) is NONE


def test_a_process_hears_that_the_old_one_could_not_be_fenced() -> None:
    """It does not try for ever; one that comes behind it does its own."""
    t, _ = opened()
    t.hold()
    begun = t.init()
    t.fail_append(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert t.begun(begun) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not t.queue
    t.flow()
    assert isinstance(t.begun(t.init()), Identity)


def test_an_idle_id_is_forgotten() -> None:
    """One with an open transaction never is."""
    settings = TransactionSettings(id_expiration=Millis(10 * SECOND), sweep_interval=Millis(SECOND))
    t = TransactionTalk(settings)
    me = t.producer()
    t.add(me, A)
    t.run(30)
    assert t.state() == "Ongoing"
    t.finish(me)
    t.run(12)
    assert t.code(t.add(me, A)) is UNKNOWN
    assert t.producer().producer_id != me.producer_id
    t.fail_over()
    assert t.state() == "Empty"


@pytest.mark.parametrize("losing", [True, False])
def test_a_process_that_comes_while_its_id_expires(*, losing: bool) -> None:
    """It waits for the record that forgets the id; where that is lost, nothing was forgotten."""
    settings = TransactionSettings(id_expiration=Millis(10 * SECOND), sweep_interval=Millis(SECOND))
    t = TransactionTalk(settings)
    me = t.producer()
    t.hold()
    t.run(12)
    begun, added = t.init(), t.add(me, A)
    assert t.waits(begun, added)
    if losing:
        t.fail_over(losing=True)
        assert t.code(begun) is t.code(added) is ErrorCode.NOT_COORDINATOR
        assert t.begun(t.init(expected=me)) == me.fenced()
    else:
        t.flow()
        found = t.begun(begun)
        assert isinstance(found, Identity)
        assert (found.producer_id != me.producer_id, found.producer_epoch) == (True, 0)
        assert t.code(added) is UNKNOWN
    t.fail_over()
    assert t.state() == "Empty"


def test_two_processes_that_begin_at_a_time() -> None:
    """Each has an epoch of its own, and the one that came last is heard."""
    t = TransactionTalk()
    t.producer()
    t.hold()
    one, other = t.init(), t.init()
    t.flow()
    first, last = t.begun(one), t.begun(other)
    assert isinstance(first, Identity)
    assert isinstance(last, Identity)
    assert last == first.fenced()
    assert t.code(t.add(first, A)) is FENCED
    assert t.code(t.add(last, A)) is NONE


def test_senseless_requests_are_refused() -> None:
    """With the codes of Kafka."""
    t, me = opened()
    other = Identity(t.producer(transactional_id="other").producer_id, me.producer_epoch)
    assert t.code(t.init(transactional_id="")) is ErrorCode.INVALID_REQUEST
    assert t.code(t.init(timeout=Millis(0))) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert t.code(t.init(timeout=Millis(1 << 30))) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert t.code(t.add(other, A)) is UNKNOWN
    assert t.code(t.finish(other)) is UNKNOWN
    assert t.verify(me, A, C) == [NONE, ErrorCode.TRANSACTION_ABORTABLE]
    assert ID in t.machine.all.known


def test_a_leader_hears_nothing_of_a_transaction_that_ends() -> None:
    """It asks again: the batch may belong to the next one."""
    t, me = opened()
    t.hold_markers()
    t.finish(me)
    assert t.verify(me, A) == [CONCURRENT]
    t.mark()
    assert t.verify(me, A) == [ErrorCode.TRANSACTION_ABORTABLE]
