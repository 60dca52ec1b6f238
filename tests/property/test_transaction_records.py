"""Records of `__transaction_state`: by hand they say the same as by the compiled codec."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinator.batches import load_batches, to_batches
from odradek.coordinator.decision import Entry
from odradek.coordinator.shard import Shard
from odradek.coordinator.transactions.codec import decode, decode_any, encode, read_at_rest
from odradek.coordinator.transactions.machine import TransactionMachine
from odradek.coordinator.transactions.settings import TransactionSettings
from odradek.coordinator.transactions.states import WRITTEN, State
from odradek.coordinator.transactions.transactions import Outside
from odradek.coordinator.transactions.values import EPOCH_MAX, Identity, Transaction, TransactionKey
from odradek.model.errors import InvalidRecord
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Bytes, Millis, Timestamp

NOW = Timestamp(1_700_000_000_000)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
IDS = st.text(max_size=3)
PRODUCERS = st.integers(-1, 1 << 40)
PARTITIONS = st.frozensets(
    st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 3)), max_size=2
)
TRANSACTIONS = st.builds(
    Transaction,
    st.builds(Identity, PRODUCERS, st.integers(-1, EPOCH_MAX)),
    st.integers(0, 60_000),
    st.sampled_from(State),
    INT64,
    PARTITIONS,
    INT64,
    st.just(-1) | PRODUCERS,
    st.just(-1) | PRODUCERS,
    st.sampled_from([0, 2]),
)
ENTRIES = st.tuples(IDS, st.none() | TRANSACTIONS, st.sampled_from([0, 1]))


def said(read: Any, *record: Any) -> Any:
    """What it makes of a record, or why it makes nothing of it."""
    try:
        return read(*record)
    except InvalidRecord as error:
        return str(error)


@given(
    entry=ENTRIES,
    spoilt=st.none() | st.tuples(st.booleans(), st.integers(0), st.integers(1, 255)),
    more=st.binary(max_size=2),
    cut=st.integers(0, 3),
)
def test_a_record_says_the_same_by_hand(
    entry: tuple[str, Transaction | None, int],
    spoilt: tuple[bool, int, int] | None,
    more: bytes,
    cut: int,
) -> None:
    """Also one that says what cannot be, that a newer broker wrote, that is cut or too long."""
    subject, transaction, version = entry
    key, value = encode(Entry(TransactionKey(subject), transaction), version)
    if spoilt is not None and value is not None:
        is_key, at, bits = spoilt
        part = bytearray(key if is_key else value)
        part[at % len(part)] ^= bits
        key, value = (bytes(part), value) if is_key else (key, bytes(part))
    value = None if value is None else value[: len(value) - cut] + more
    assert said(decode, key, value) == said(decode_any, key, value, None)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("state", sorted(WRITTEN))
def test_an_id_without_partitions_is_read_by_hand(state: State, version: int) -> None:
    """Nearly all are; they would be slower otherwise, and nothing else would say so."""
    for version_of in (0, 2) if version else (0,):
        at_rest = Transaction(
            Identity(ProducerId(7), ProducerEpoch(3)),
            Millis(60_000),
            state,
            NOW,
            version=version_of,
        )
        key, value = encode(Entry(TransactionKey("x"), at_rest), version)
        assert value is not None
        assert read_at_rest(key, value) == Entry(TransactionKey("x"), at_rest)


@given(entries=st.lists(ENTRIES, max_size=12), together=st.booleans())
def test_a_log_is_what_its_records_say_one_by_one(
    entries: list[tuple[str, Transaction | None, int]],
    together: bool,  # noqa: FBT001 - drawn
) -> None:
    """In batches of one or of many; what makes no sense changes nothing, and is named."""
    known: dict[str, Transaction] = {}
    batches, complaints = bytearray(), 0
    for subject, transaction, version in entries:
        entry = Entry(TransactionKey(subject), transaction)
        found = said(decode_any, *encode(entry, version), None)
        if isinstance(found, str):
            complaints += 1
        elif found.value is None:
            known.pop(subject, None)
        else:
            known[subject] = found.value
        for batch in to_batches([entry], lambda it: encode(it, version), NOW, bytes_max=Bytes(1)):  # noqa: B023
            batches += batch
    if together:
        rows = [Entry(TransactionKey(subject), value) for subject, value, _ in entries]
        versions = iter([version for _, _, version in entries])
        whole = to_batches(
            rows, lambda it: encode(it, next(versions)), NOW, bytes_max=Bytes(1 << 20)
        )
        batches = bytearray(b"".join(whole))
    machine = TransactionMachine(TransactionSettings(), Outside(lambda: None, int))
    assert len(load_batches(Shard(machine, Millis(1)), bytes(batches), decode)) == complaints
    assert machine.all.known == known
