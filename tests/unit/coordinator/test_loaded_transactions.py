"""What the ids of a partition cost while they are loaded, when clients wait for them, and after."""

import gc
import sys
import tracemalloc
from itertools import count
from types import FrameType
from typing import Any, Final

import pytest

from odradek.coordinator.batches import load_batches, to_batches
from odradek.coordinator.decision import Entry, Moment
from odradek.coordinator.shard import Shard
from odradek.coordinator.transactions.codec import decode, encode
from odradek.coordinator.transactions.machine import TransactionMachine
from odradek.coordinator.transactions.settings import TransactionSettings
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.transactions import Outside
from odradek.coordinator.transactions.values import Identity, Transaction, TransactionKey
from odradek.model.ids import ProducerId
from odradek.model.positions import Offset, ProducerEpoch
from odradek.model.units import Bytes, Millis, Timestamp

IDS: Final = 1_000
NOW: Final = Timestamp(1_700_000_000_000)
COUNTED: Final = {(3, 11), (3, 13)}
CALLS_MAX: Final = 29
"""Of Python functions and of built-in ones, for an id in a batch of its own, with these Pythons."""
KEPT_MAX: Final = 1_000
"""Bytes, for an id that a client has: what its producer and its transaction are."""


def log() -> bytes:
    """One record for each id, as a coordinator writes them."""
    batches: list[bytearray] = []
    for number in range(IDS):
        identity = Identity(ProducerId(number), ProducerEpoch(3))
        value = Transaction(identity, Millis(60_000), State.COMPLETE_COMMIT, NOW)
        entry = Entry(TransactionKey(f"orders-copier-{number}"), value)
        batches += to_batches([entry], lambda it: encode(it, 0), NOW, bytes_max=Bytes(1_000))
    return b"".join(batches)


def load(data: bytes) -> Shard:
    """All of it, by a coordinator that is active then."""
    ids = count()
    machine = TransactionMachine(TransactionSettings(), Outside(lambda: ProducerId(next(ids)), int))
    shard = Shard(machine, Millis(1))
    assert not load_batches(shard, data, decode)
    shard.loaded(Offset(IDS))
    shard.committed(Offset(IDS), Moment(Millis(0), NOW))
    assert len(machine.all.known) == IDS
    return shard


@pytest.mark.skipif(sys.version_info[:2] not in COUNTED, reason="not counted with this Python")
def test_an_id_is_loaded_with_few_calls() -> None:
    """Twenty thousand in 0.4 s are 20 us for each; counted, so that no noise hides more."""
    data, calls = log(), 0
    load(data)  # what is compiled when it is first asked for

    def called(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        del frame, argument
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        load(data)
    finally:
        sys.setprofile(before)
    assert calls / IDS <= CALLS_MAX


def test_an_id_is_kept_in_less_than_a_kilobyte() -> None:
    """A coordinator has those of all producers that wrote in the last week."""
    data = log()
    load(data)
    gc.collect()
    tracemalloc.start()
    try:
        shard = load(data)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert shard.active
    assert kept / IDS <= KEPT_MAX
