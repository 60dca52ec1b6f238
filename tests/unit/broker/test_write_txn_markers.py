"""Markers: when they are answered, by which epochs they are refused, and what they leave."""

from errno import EIO

import pytest

from odradek.broker.handlers import write_txn_markers
from odradek.broker.handlers.write_txn_markers import NoProducer
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.records.batch import headers
from odradek.records.control import EndMarker, end_marker_in
from odradek.sim.doors.disk_faults import Fault
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.samples.transactions import PRODUCER
from tests.unit.broker.ground import GONE, ORDERS, Ground, pausing, word
from tests.unit.broker.transactions import Floor, Talk, live

FENCED = ErrorCode.TRANSACTION_COORDINATOR_FENCED
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH


def talk(said: Talk, **topic: str) -> None:
    """One life, with these settings of `orders`."""
    with Ground(orders=topic) as ground:
        live(ground, said)


def test_a_marker_counts_once_it_is_below_the_high_watermark() -> None:
    """Before, another leader might not have it: readers would see what is then undone."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction()
        ending = t.end()
        await t.turns()
        assert t.led.log.log_end_offset == 2
        assert ending.outcome() is None
        assert t.led.log.last_stable_offset == 0
        t.fetched()
        assert ending.outcome() == [ErrorCode.NONE]
        assert t.led.log.last_stable_offset == 2

    talk(said)


def test_the_marker_in_the_log_is_kafkas() -> None:
    """A control batch of one record, with the producer's numbers and no sequence."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction(epoch=3)
        assert await t.ended(epoch=3, coordinator=9, committed=False) == [ErrorCode.NONE]
        found = b"".join([it async for it in t.replicas.logs.read_in_pieces(t.led.log, 1 << 20)])
        (_, _), (position, header) = headers(found)
        assert header.is_control
        assert header.is_transactional
        assert (header.producer_id, header.producer_epoch) == (PRODUCER, 3)
        assert header.base_sequence == -1
        marker = end_marker_in(found[position : position + header.size], header)
        assert marker == EndMarker(committed=False, coordinator_epoch=9)

    talk(said)


@pytest.mark.parametrize("transactions", [0, 1])
def test_epochs_of_a_marker_of_before_version_2(transactions: int) -> None:
    """The producer's own epoch is enough, and a former coordinator has nothing to say."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction(epoch=5)
        how = {"transactions": transactions}
        assert await t.ended(epoch=4, **how) == [OLD_EPOCH]
        assert await t.ended(epoch=5, coordinator=3, **how) == [ErrorCode.NONE]
        await t.open_transaction(epoch=5, sequence=1)
        assert await t.ended(epoch=5, coordinator=2, **how) == [FENCED]
        assert t.led.log.last_stable_offset == 2
        assert await t.ended(epoch=6, coordinator=3, **how) == [ErrorCode.NONE]

    talk(said)


def test_from_version_2_on_the_end_of_the_last_transaction_does_not_end_the_next() -> None:
    """KAFKA-17754: a marker that was delayed has the epoch that the next transaction uses."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction(epoch=5)
        assert await t.ended(epoch=5, transactions=2) == [OLD_EPOCH]
        assert await t.ended(epoch=6, transactions=2) == [ErrorCode.NONE]
        await t.open_transaction(epoch=6)
        assert await t.ended(epoch=6, transactions=2) == [OLD_EPOCH]
        assert t.led.log.last_stable_offset == 2
        assert await t.ended(epoch=6, transactions=1) == [ErrorCode.NONE]  # so it was before

    talk(said)


def test_a_marker_that_is_there_is_answered_and_not_written_again() -> None:
    """KAFKA-19999: refused, it would be sent for ever. It counts no sooner than the first."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction(epoch=5)
        first, second = t.end(epoch=6, transactions=2), t.end(epoch=6, transactions=2)
        await t.turns()
        third = t.end(epoch=6, transactions=2)
        await t.turns()
        assert [it.outcome() for it in (first, second, third)] == [None] * 3
        t.fetched()
        assert [it.outcome() for it in (first, second, third)] == [[ErrorCode.NONE]] * 3
        assert t.led.log.log_end_offset == 2
        assert await t.ended(epoch=6, transactions=2, coordinator=-1) == [FENCED]

    talk(said)


def test_each_partition_has_its_own_outcome() -> None:
    """Not known, led elsewhere, and here; a producer that is named twice has one row (as Kafka)."""
    there = TopicPartition("there", 0)

    async def said(t: Floor) -> None:
        await t.elect()
        await t.replicas.apply_leader_and_isr([word(there, leader=None)])
        codes = await t.ended(ORDERS, TopicPartition("nowhere", 3), there)
        assert codes == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ]
        topics = [[WritableTxnMarkerTopic("nowhere", [it])] for it in range(2)]
        ending = t.ask(
            WriteTxnMarkersRequest([WritableTxnMarker(PRODUCER, topics=it) for it in topics])
        )
        assert ending.outcome() == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2

    talk(said)


def test_too_few_replicas_in_sync_take_no_marker() -> None:
    """The coordinator asks again; nothing is in the log meanwhile."""

    async def said(t: Floor) -> None:
        await t.elect(1)
        assert t.end().outcome() == [ErrorCode.NOT_ENOUGH_REPLICAS]
        assert t.led.log.next_offset == 0

    talk(said, **{"min.insync.replicas": "2"})


def test_a_leadership_that_ends_before_a_marker_is_committed() -> None:
    """The next leader may lack it: the coordinator sends it there, and here it says nothing."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction()
        ending = t.end()
        await t.turns()
        await t.replicas.apply_leader_and_isr([word(epoch=1, leader=None)])
        assert ending.outcome() == [ErrorCode.NOT_LEADER_OR_FOLLOWER]

    talk(said)


def test_a_partition_that_is_deleted_before_a_marker_is_committed() -> None:
    """Its marker ends with it; one that comes later finds nothing."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction()
        ending = t.end()
        await t.turns()
        await t.replicas.stop({ORDERS: GONE})
        assert ending.outcome() == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert t.end().outcome() == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    talk(said)


def test_a_disk_that_fails_under_a_marker() -> None:
    """It is not answered as written, and later ones hear of the disk."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction()
        for name in ("disk-a", "disk-b"):
            fault = Fault(EIO, frozenset({"write"}), "orders-0/*")
            t.desk.machine.disk(name).faults.rows.append(fault)
        ending = t.end()
        await t.turns()
        assert ending.outcome() == [ErrorCode.KAFKA_STORAGE_ERROR]
        t.replicas.look_at_failures()
        assert t.end().outcome() == [ErrorCode.KAFKA_STORAGE_ERROR]

    talk(said)


def test_a_coordinator_is_told_when_it_takes_too_long() -> None:
    """As after Kafka's time for a request; the marker may be committed later, and once."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction(epoch=1)
        ending = t.end(epoch=2, transactions=2)
        await t.turns(0.8)
        assert ending.outcome() is None
        await t.turns(0.3)
        assert ending.outcome() == [ErrorCode.REQUEST_TIMED_OUT]
        again = t.end(epoch=2, transactions=2)
        await t.turns()
        t.fetched()
        assert again.outcome() == [ErrorCode.NONE]
        assert t.led.log.log_end_offset == 2

    with Ground({"request.timeout.ms": "1000"}, orders={}) as ground:
        live(ground, said)


def test_a_coordinator_that_hung_up_is_not_waited_for() -> None:
    """Neither for a disk nor for other replicas; what was begun is done."""

    async def said(t: Floor) -> None:
        await t.elect()
        await t.open_transaction()
        pausing(t.desk.machine, "write")
        ending = t.end()
        gone = ending.pending.on_gone
        assert gone is not None
        gone()
        await t.turns(2)
        t.fetched()
        await t.turns()
        assert t.led.log.last_stable_offset == 2
        assert ending.outcome() is None

    talk(said)


def test_a_marker_of_no_producer_is_refused_whole() -> None:
    """In the log it would be corrupt."""

    async def said(t: Floor) -> None:
        await t.elect()
        with pytest.raises(NoProducer):
            t.end(producer=-1)
        with pytest.raises(NoProducer):
            t.end(epoch=-1)
        assert t.led.log.next_offset == 0
        request = WriteTxnMarkersRequest(
            [WritableTxnMarker(1, topics=[WritableTxnMarkerTopic("orders", [0, 1])])]
        )
        found = write_txn_markers.refuse(request, 2, ErrorCode.INVALID_REQUEST, "")
        rows = found.markers[0].topics[0].partitions
        assert [it.error_code for it in rows] == [ErrorCode.INVALID_REQUEST] * 2

    talk(said)


def test_no_markers_are_answered_at_once() -> None:
    """There is nothing to wait for."""

    async def said(t: Floor) -> None:
        assert t.ask(WriteTxnMarkersRequest([])).outcome() == []

    talk(said)
