"""Entries into batches, and batches into a shard."""

from collections.abc import Sequence

import pytest

from odradek.coordinator.batches import load_batches, load_in_turns, to_batches
from odradek.coordinator.decision import Entry
from odradek.coordinator.groups.codec import decode, encode
from odradek.coordinator.groups.machine import GroupMachine
from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.groups.values import CommittedOffset, OffsetKey
from odradek.coordinator.shard import Shard
from odradek.model.errors import CorruptBatch
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Bytes, Millis, Timestamp
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.control import EndMarker, build_end_marker
from odradek.records.record import Record
from odradek.sim.doors.chance import SeededRandom

NOW = Timestamp(1_700_000_000_000)


def entries(count: int) -> Sequence[Entry]:
    """Commits of so many partitions."""
    value = CommittedOffset(Offset(5), None, "a note", NOW)
    return [
        Entry(OffsetKey("g", TopicPartition("orders", number)), value) for number in range(count)
    ]


def loaded(buffer: bytes) -> tuple[GroupMachine, list[str]]:
    """A machine that has read these batches, and what it complained of."""
    machine = GroupMachine(GroupSettings(), SeededRandom(1, "x"))
    return machine, load_batches(Shard(machine, Millis(1)), buffer, decode)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_many_records_become_batches_that_a_log_accepts(codec: Codec) -> None:
    """Their offsets go on from batch to batch, and all of them come back."""
    batches = list(to_batches(entries(200), encode, NOW, codec=codec, bytes_max=Bytes(1000)))
    heads = [read_header(batch) for batch in batches]
    assert len(batches) > 10
    assert all(head.size <= 1000 for head in heads)
    assert [head.base_offset for head in heads[1:]] == [head.next_offset for head in heads[:-1]]
    machine, complaints = loaded(b"".join(batches))
    assert not complaints
    assert len(machine.groups.ledger.offsets["g"]) == 200


def test_a_record_that_is_too_large_is_left_for_the_log_to_refuse() -> None:
    """It is a batch of its own; nothing is dropped in silence."""
    (batch,) = to_batches(entries(1), encode, NOW, bytes_max=Bytes(70))
    assert read_header(batch).record_count == 1


def test_no_records_are_no_batch() -> None:
    """A log is not asked to append nothing."""
    assert not list(to_batches((), encode, NOW, bytes_max=Bytes(1000)))


def test_a_record_that_makes_no_sense_does_not_hide_the_others() -> None:
    """It is complained of, with its offset."""
    key, value = encode(entries(1)[0])
    batch = build_batch([Record(7, 0, b"?", b"?"), Record(8, 0, key, value)], base_offset=7)
    machine, complaints = loaded(bytes(batch))
    assert len(complaints) == 1
    assert complaints[0].startswith("offset 7: ")
    assert machine.groups.ledger.knows("g")


def test_a_batch_that_is_not_what_it_says_is_not_believed() -> None:
    """Its checksum is asked before anything in it."""
    (batch,) = to_batches(entries(1), encode, NOW, bytes_max=Bytes(1000))
    batch[-1] ^= 1
    with pytest.raises(CorruptBatch):
        loaded(bytes(batch))


def test_a_turn_believes_few_records() -> None:
    """Others have theirs in between: what is sent to a broker waits for some turns, of each."""
    batches = [*to_batches(entries(1_000), encode, NOW, bytes_max=Bytes(70))]
    machine = GroupMachine(GroupSettings(), SeededRandom(1, "x"))
    offsets = machine.groups.ledger.offsets
    turns = load_in_turns(Shard(machine, Millis(1)), b"".join(batches), decode, 8_000)
    known = [len(offsets["g"]) for _ in turns]
    assert all(0 < more - before <= 80 for before, more in zip([0, *known], known, strict=False))
    assert len(offsets["g"]) == 1_000


@pytest.mark.parametrize("decision", ["commit", "abort"])
def test_a_transaction_is_believed_when_it_is_decided(decision: str) -> None:
    """Offsets that Kafka's brokers wrote within one are read as they meant them."""
    key, value = encode(entries(1)[0])
    written = build_batch(
        [Record(0, 0, key, value)], producer_id=3, producer_epoch=0, transactional=True
    )
    machine, _ = loaded(bytes(written))
    assert machine.groups.ledger.undecided_of("g")
    marker = build_end_marker(
        EndMarker(committed=decision == "commit", coordinator_epoch=0),
        producer_id=3,
        producer_epoch=0,
        timestamp=0,
        base_offset=1,
    )
    machine, _ = loaded(bytes(written + marker))
    assert machine.groups.ledger.knows("g") == (decision == "commit")
    assert ProducerId(3) not in machine.groups.ledger.pending
