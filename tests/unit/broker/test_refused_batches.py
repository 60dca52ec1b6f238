"""What a connection remembers of batches that were refused, and what it does not."""

import gc
import weakref

import pytest

from odradek.broker.network.refused_batches import PARTITIONS_MAX, RefusedBatches
from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.records.batch import BatchHeader, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.replication.errors import NotEnoughReplicas
from odradek.storage.logs.producers import SEQUENCE_MAX

ORDERS = TopicPartition("orders", 0)


def batch(sequence: int, *, producer: int = 7, count: int = 1) -> memoryview:
    """Of one producer; without one, it has no sequence."""
    records = [Record(number, 1_000, None, b"x") for number in range(count)]
    if producer < 0:
        return memoryview(build_batch(records))
    return memoryview(
        build_batch(records, producer_id=producer, producer_epoch=0, base_sequence=sequence)
    )


def header(sequence: int) -> BatchHeader:
    """Of a batch that comes later."""
    return read_header(batch(sequence))


def refused(refusals: RefusedBatches, sequence: int) -> BrokerError:
    """Why a batch is refused that continues another one."""
    with pytest.raises(BrokerError) as caught:
        refusals.check(ORDERS, header(sequence))
    return caught.value


def test_what_continues_a_refused_batch_hears_the_same() -> None:
    """The code, and the sentence."""
    refusals = RefusedBatches()
    refusals.note(ORDERS, batch(4, count=3), NotEnoughReplicas("1 of 2"))
    error = refused(refusals, 7)
    assert (error.code, str(error)) == (ErrorCode.NOT_ENOUGH_REPLICAS, "1 of 2")
    refusals.check(TopicPartition("orders", 1), header(7))
    refusals.check(ORDERS, header(4))
    refusals.check(ORDERS, header(7))


def test_numbers_go_on_with_0() -> None:
    """After the greatest sequence number, as clients count."""
    refusals = RefusedBatches()
    refusals.note(ORDERS, batch(SEQUENCE_MAX), NotEnoughReplicas("1 of 2"))
    assert refused(refusals, 0).code is ErrorCode.NOT_ENOUGH_REPLICAS


def test_what_has_no_place_in_a_line_is_not_remembered() -> None:
    """A refusal for good, a producer without numbers, and what is no batch."""
    refusals = RefusedBatches()
    refusals.note(ORDERS, batch(0), CorruptBatch("a checksum"))
    refusals.note(ORDERS, batch(0, producer=-1), NotEnoughReplicas("1 of 2"))
    refusals.note(ORDERS, memoryview(b"atej"), NotEnoughReplicas("1 of 2"))
    refusals.note(ORDERS, None, NotEnoughReplicas("1 of 2"))
    assert not refusals


def test_a_connection_remembers_so_many_partitions_and_no_more() -> None:
    """Of the others batches are judged by their logs; a line that is known goes on."""
    refusals = RefusedBatches()
    for number in range(PARTITIONS_MAX + 1):
        refusals.note(TopicPartition("orders", number), batch(0), NotEnoughReplicas("1 of 2"))
    assert len(refusals) == PARTITIONS_MAX
    refusals.note(ORDERS, batch(1), NotEnoughReplicas("1 of 2"))
    assert refused(refusals, 2).code is ErrorCode.NOT_ENOUGH_REPLICAS


class Traced(NotEnoughReplicas):
    """An error that a test may wait for the end of."""


def test_nothing_of_the_request_is_held() -> None:
    """An error has its trace, and that the frames of those who handled the request."""
    refusals = RefusedBatches()
    error = Traced("1 of 2")
    ended = weakref.ref(error)
    refusals.note(ORDERS, batch(0), error)
    del error
    gc.collect()
    assert ended() is None
    assert refusals
