"""Requests of producers that come before their coordinator has read its log."""

from odradek.coordinator.batches import load_batches
from odradek.coordinator.shard import LOADING_MS_MAX
from odradek.coordinator.transactions.codec import decode
from odradek.model.errors import ErrorCode
from odradek.model.units import SECOND
from tests.unit.coordinator.transaction_talk import A, TransactionTalk


def loading(t: TransactionTalk) -> None:
    """The coordinator dies; another one reads its log."""
    t.take(t.shard.resign())
    t.shard = t.new_shard()
    load_batches(t.shard, bytes(t.log), decode)


def is_loaded(t: TransactionTalk) -> None:
    """It knows all."""
    t.shard.loaded(t.end)
    t.settle(t.shard.committed(t.end, t.now))


def test_they_wait_and_are_served_in_their_order() -> None:
    """An election takes some tens of milliseconds, and the pauses of clients grow to a second."""
    t = TransactionTalk()
    me = t.producer()
    loading(t)
    added, ended = t.add(me, A), t.finish(me)
    assert t.waits(added, ended)
    is_loaded(t)
    assert [t.code(added), t.code(ended)] == [ErrorCode.NONE] * 2
    assert t.state() == "CompleteCommit"


def test_they_wait_no_longer_than_a_second() -> None:
    """What else is asked on their connections waits for them."""
    t = TransactionTalk()
    me = t.producer()
    loading(t)
    added = t.add(me, A)
    t.run((LOADING_MS_MAX - 1) / SECOND)
    assert t.waits(added)
    t.run(1 / SECOND)
    assert t.code(added) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_who_was_fenced_meanwhile_is_refused_when_the_log_is_known() -> None:
    """The answer is that of the moment at which it is given."""
    t = TransactionTalk()
    before = t.producer()
    loading(t)
    new, added = t.init(), t.add(before, A)
    is_loaded(t)
    assert t.code(new) is ErrorCode.NONE
    assert t.code(added) is ErrorCode.PRODUCER_FENCED


def test_where_another_leads_next_they_are_sent_there() -> None:
    """Nobody waits for a log that is read no more."""
    t = TransactionTalk()
    me = t.producer()
    loading(t)
    added = t.add(me, A)
    t.take(t.shard.resign())
    assert t.code(added) is ErrorCode.NOT_COORDINATOR
    assert t.shard.next_deadline() is None


def test_a_log_that_cannot_be_read_is_named_at_the_end_of_the_wait() -> None:
    """And at once to those who come behind."""
    t = TransactionTalk()
    me = t.producer()
    loading(t)
    added = t.add(me, A)
    t.shard.begin_again(t.new_shard().machine, unreadable="a corrupt batch")
    t.run(LOADING_MS_MAX / SECOND)
    assert t.code(added) is ErrorCode.KAFKA_STORAGE_ERROR
    assert t.code(t.add(me, A)) is ErrorCode.KAFKA_STORAGE_ERROR


def test_what_a_broker_asks_does_not_wait() -> None:
    """It asks for many producers, and waits with each of them by itself."""
    t = TransactionTalk()
    me = t.producer()
    loading(t)
    assert t.code(t.add(me, A, is_of_broker=True)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert t.verify(me, A) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
