"""Records of `__transaction_state`: the bytes, and what makes no sense."""

import pytest

from odradek.coordinator.decision import Entry
from odradek.coordinator.transactions.codec import decode, encode
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.values import EPOCH_MAX, Identity, Transaction, TransactionKey
from odradek.model.errors import InvalidRecord
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Millis, Timestamp

KEY = TransactionKey("x")
ONGOING = Transaction(
    Identity(ProducerId(7), ProducerEpoch(3)),
    Millis(60_000),
    State.ONGOING,
    Timestamp(2_000),
    frozenset({TopicPartition("t", 1), TopicPartition("t", 0)}),
    Timestamp(1_000),
    previous_producer_id=ProducerId(5),
    version=2,
)


def test_version_0_is_what_every_kafka_reads() -> None:
    """Key type 0; id, epoch, timeout, status, partitions, last update, start."""
    written = ONGOING._replace(version=0)
    key, value = encode(Entry(KEY, written), 0)
    assert key == bytes.fromhex("0000 0001 78")
    assert value == bytes.fromhex(
        "0000 0000000000000007 0003 0000ea60 01 00000001 0001 74 00000002 00000000 00000001"
        "00000000000007d0 00000000000003e8"
    )
    known = written._replace(previous_producer_id=ProducerId(-1))
    assert decode(key, value) == Entry(KEY, known)


def test_what_speaks_version_2_at_level_0_loses_nothing() -> None:
    """The level has fallen under an open transaction, or its producer has not heard of that."""
    prepared = ONGOING._replace(
        state=State.PREPARE_COMMIT, next_producer_id=ProducerId(8), version=2
    )
    for value in (ONGOING, prepared, prepared._replace(version=0)):
        key, written = encode(Entry(KEY, value), 0)
        assert decode(key, written) == Entry(KEY, value)


def test_version_1_has_room_for_version_2_of_transactions() -> None:
    """And is read as it was written; no epoch but the newest is written."""
    key, value = encode(Entry(KEY, ONGOING._replace(last_epoch=ProducerEpoch(2))), 1)
    found = decode(key, value)
    assert found == Entry(KEY, ONGOING)
    assert found is not None
    assert found.value.last_epoch == -1


def test_no_value_deletes() -> None:
    """An id that has expired."""
    key, value = encode(Entry(KEY, None), 0)
    assert value is None
    assert decode(key, None) == Entry(KEY, None)


def test_an_id_without_a_transaction_has_no_partitions() -> None:
    """Null rather than none, as Kafka writes it."""
    empty = Transaction(ONGOING.identity, ONGOING.timeout, State.EMPTY, Timestamp(2_000))
    _, value = encode(Entry(KEY, empty), 0)
    assert value is not None
    assert bytes.fromhex("00 ffffffff 00000000000007d0 ffffffffffffffff") in value
    assert decode(bytes.fromhex("0000 0001 78"), value) == Entry(KEY, empty)


@pytest.mark.parametrize(
    ("at", "what"),
    [(16, "06"), (16, "07"), (16, "ff"), (2, "ff"), (10, "ff")],
    ids=["dead", "fence", "no state", "producer", "epoch"],
)
def test_what_cannot_be_is_named(at: int, what: str) -> None:
    """And passed over: the id is as it was before."""
    key, value = encode(Entry(KEY, ONGOING), 0)
    assert value is not None
    wrong = value[:at] + bytes.fromhex(what) + value[at + 1 :]
    with pytest.raises(InvalidRecord):
        decode(key, wrong)


def test_an_open_transaction_has_an_epoch_that_a_producer_may_have() -> None:
    """The greatest one only fences: there is none above it by which this one could be aborted."""
    identity = ONGOING.identity._replace(producer_epoch=EPOCH_MAX)
    key, value = encode(Entry(KEY, ONGOING._replace(identity=identity)), 0)
    with pytest.raises(InvalidRecord, match="which no producer is given"):
        decode(key, value)


def test_what_a_newer_kafka_writes_is_passed_over() -> None:
    """A type or a version that is not known."""
    key, value = encode(Entry(KEY, ONGOING), 0)
    assert value is not None
    assert decode(b"\0\7" + key[2:], value) is None
    assert decode(key, b"\0\7" + value[2:]) is None
    with pytest.raises(InvalidRecord, match="without a key"):
        decode(None, value)
    with pytest.raises(InvalidRecord, match="of a transaction"):
        decode(key, value, ProducerId(1))
