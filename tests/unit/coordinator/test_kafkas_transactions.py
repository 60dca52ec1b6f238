"""What has gone wrong in Kafka's coordinator of transactions, by the numbers of its tickets."""

from odradek.coordinator.transactions.settings import LOOK_AGAIN_MS
from odradek.coordinator.transactions.values import Identity
from odradek.model.errors import ErrorCode
from tests.unit.coordinator.transaction_talk import A, B, C, TransactionTalk

NONE = ErrorCode.NONE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED
WRONG_STATE = ErrorCode.INVALID_TXN_STATE


def in_version_2() -> tuple[TransactionTalk, Identity]:
    """A producer with a transaction that has a partition; leaders are slow from now on."""
    t = TransactionTalk(level=2)
    me = t.producer()
    assert t.code(t.add(me, A, is_of_broker=True)) is NONE
    t.hold_markers()
    return t, me


def at_the_last_epoch() -> tuple[TransactionTalk, Identity]:
    """Likewise, and there is no higher epoch to give."""
    t = TransactionTalk(level=2)
    me = t.near_the_last_epoch()
    while not me.is_used_up:
        me = t.next_identity(t.finish(me, committed=False, version=2))
    assert t.code(t.add(me, A, is_of_broker=True)) is NONE
    t.hold_markers()
    return t, me


def test_kafka_9777_the_last_marker_completes_whatever_else_is_under_way() -> None:
    """Leaders answer while requests wait, and in any order: none of them is overlooked."""
    t = TransactionTalk()
    me = t.producer()
    t.add(me, A, B, C)
    t.hold_markers()
    t.finish(me)
    waits = t.add(me, A)
    for partition in (C, A, B):
        assert t.state() == "PrepareCommit"
        t.mark(partition)
    assert t.code(waits) is NONE
    assert t.state() == "Ongoing"


def test_kafka_18401_a_commit_of_nothing() -> None:
    """Version 2: there is no transaction to commit, and the producer is as it was."""
    t = TransactionTalk(level=2)
    me = t.producer()
    assert t.code(t.finish(me, version=2)) is WRONG_STATE
    assert t.code(t.add(me, A, is_of_broker=True)) is NONE
    following = t.next_identity(t.finish(me, version=2))
    assert t.code(t.finish(following, version=2)) is WRONG_STATE


def test_kafka_18464_an_abort_of_nothing_behind_a_commit() -> None:
    """It is not fenced by the commit whose markers are still under way: it waits for them."""
    t, me = in_version_2()
    following = t.next_identity(t.finish(me, version=2))
    ended = t.finish(following, committed=False, version=2)
    assert t.waits(ended)
    t.mark()
    assert t.next_identity(ended) == following.fenced()
    assert t.state() == "CompleteAbort"


def test_kafka_18464_with_another_producer_id() -> None:
    """Likewise, where the commit has rotated it."""
    t, me = at_the_last_epoch()
    following = t.next_identity(t.finish(me, version=2))
    ended = t.finish(following, committed=False, version=2)
    assert t.waits(ended)
    t.mark()
    assert t.next_identity(ended) == following.fenced()


def test_kafka_18575_a_leader_that_asks_while_markers_are_under_way() -> None:
    """Its batch is of the next transaction: it asks again, and is neither refused nor let in."""
    t, me = in_version_2()
    following = t.next_identity(t.finish(me, version=2))
    assert t.code(t.add(following, B, is_of_broker=True)) is CONCURRENT
    t.mark()
    assert t.code(t.add(following, B, is_of_broker=True)) is NONE


def test_kafka_18660_the_next_transaction_has_another_producer_id() -> None:
    """The producer begins it before the markers are there, and does not fence itself."""
    t, me = at_the_last_epoch()
    following = t.next_identity(t.finish(me, version=2))
    assert following.producer_id != me.producer_id
    assert t.code(t.add(following, B, is_of_broker=True)) is CONCURRENT
    t.mark()
    assert t.code(t.add(following, B, is_of_broker=True)) is NONE


def test_kafka_18660_it_goes_on_after_an_error() -> None:
    """Likewise: it says who it will be, and waits."""
    t, me = at_the_last_epoch()
    following = t.next_identity(t.finish(me, version=2))
    begun = t.init(expected=following)
    assert t.waits(begun)
    t.mark()
    assert t.begun(begun) == following.fenced()


def test_kafka_19367_a_new_process_while_a_transaction_has_the_last_epoch() -> None:
    """The abort raises it once, to the one that is never given; then there is another id."""
    t, me = at_the_last_epoch()
    begun = t.init()
    assert t.sent[-1].identity == me.fenced()
    t.mark()
    fresh = t.begun(begun)
    assert isinstance(fresh, Identity)
    assert fresh.producer_epoch == 0
    assert fresh.producer_id != me.producer_id


def test_kafka_20090_an_abort_behind_the_time_out_at_the_last_epoch() -> None:
    """It is no repeat of what the coordinator has decided: the producer is fenced."""
    t, me = at_the_last_epoch()
    t.run(61)
    assert t.state() == "PrepareAbort"
    assert t.code(t.finish(me, committed=False, version=2)) is FENCED
    t.mark()
    assert t.state() == "CompleteAbort"
    fresh = t.producer()
    assert t.code(t.add(fresh, A, is_of_broker=True)) is NONE


def test_kafka_20785_a_commit_behind_the_time_out() -> None:
    """Nothing is wrong with the producer's requests: somebody else has ended its transaction."""
    t, me = in_version_2()
    t.run(61)
    for _ in range(2):
        assert t.code(t.finish(me, version=2)) is FENCED
        t.mark()
        t.run(LOOK_AGAIN_MS / 1_000)
    assert t.state() == "CompleteAbort"
