"""Idempotent producing: order and numbers, whatever is refused on the way."""

from odradek.client.errors import Refused
from odradek.client.records.sequencing import Outgoing, Produced, ProducerIdentity, Sequencing
from odradek.model.errors import ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.records.batch import check_crc, read_header
from odradek.records.build import build_batch
from odradek.records.record import Record

ORDERS = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
WHO = ProducerIdentity(ProducerId(7), ProducerEpoch(2))


def filled(
    count: int, who: ProducerIdentity = WHO, partition: TopicPartition = ORDERS
) -> Sequencing:
    """So many batches of three records."""
    sequencing = Sequencing(who)
    for _ in range(count):
        batch = build_batch([Record(at, 1_000, None, b"x") for at in range(3)])
        sequencing.add(ORDERS, batch)
    return sequencing


def take_all(sequencing: Sequencing) -> list[Outgoing]:
    """What may go out now, a request at a time."""
    taken = []
    while ready := sequencing.partitions():
        taken += sequencing.take(ready, 1)
    return taken


def sequences(batches: list[Outgoing]) -> list[int]:
    """Their first numbers."""
    return [read_header(it.data).base_sequence for it in batches]


def test_batches_get_their_numbers_and_checksums() -> None:
    """In the order in which they were added, records counted."""
    batches = take_all(filled(3))
    assert sequences(batches) == [0, 3, 6]
    for batch in batches:
        header = read_header(batch.data)
        check_crc(batch.data, header)
        assert (header.producer_id, header.producer_epoch) == WHO


def test_five_are_in_flight_and_no_more() -> None:
    """A broker remembers five; without numbers the order allows one only."""
    sequencing = filled(7)
    batches = take_all(sequencing)
    assert len(batches) == 5
    assert isinstance(sequencing.answered(batches[0], 0, 100), Produced)
    assert sequences(take_all(sequencing)) == [15]
    assert len(take_all(filled(7, ProducerIdentity()))) == 1


def test_after_a_failure_all_begins_again_in_order_once_the_answers_are_in() -> None:
    """What was refused only because it came behind a refused one is sent again with it."""
    sequencing = filled(4)
    batches = take_all(sequencing)
    assert isinstance(sequencing.answered(batches[0], 0, 100), Produced)
    assert sequencing.answered(batches[1], ErrorCode.NOT_LEADER_OR_FOLLOWER) is None
    assert take_all(sequencing) == []
    assert sequencing.answered(batches[2], ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER) is None
    assert sequencing.answered(batches[3], ErrorCode.NETWORK_EXCEPTION) is None
    assert sequences(take_all(sequencing)) == [3, 6, 9]


def test_a_batch_that_was_stored_already_is_acknowledged() -> None:
    """Its first answer was lost; where it lies the broker may not know any more."""
    sequencing = filled(1)
    (batch,) = take_all(sequencing)
    assert sequencing.answered(batch, ErrorCode.NETWORK_EXCEPTION) is None
    (batch,) = take_all(sequencing)
    produced = sequencing.answered(batch, ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 12)
    assert produced == (ORDERS, -1, 3)
    assert sequencing.unacknowledged_bytes == 0


def test_a_gap_that_nothing_explains_is_refused_for_good() -> None:
    """Records are missing: sending the same again would not bring them."""
    sequencing = filled(1)
    (batch,) = take_all(sequencing)
    outcome = sequencing.answered(batch, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text="gap")
    assert isinstance(outcome, Refused)
    assert "orders-0: gap" in str(outcome)


def test_a_partition_in_trouble_delays_only_itself() -> None:
    """The batches of the others go on as if nothing had happened."""
    sequencing = filled(2)
    sequencing.add(OTHER, build_batch([Record(0, 1_000, None, b"x")]))
    both = sequencing.take([ORDERS, OTHER], 1 << 20)
    assert [it.partition for it in both] == [ORDERS, OTHER]
    (second,) = sequencing.take(sequencing.partitions(), 1 << 20)
    assert sequencing.answered(both[0], ErrorCode.NOT_LEADER_OR_FOLLOWER) is None
    assert isinstance(sequencing.answered(both[1], 0, 5), Produced)
    assert take_all(sequencing) == []
    assert sequencing.answered(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER) is None
    assert sequences(take_all(sequencing)) == [0, 3]


def test_a_request_holds_one_batch_at_least() -> None:
    """Also when that is larger than a request should be."""
    sequencing = filled(1)
    assert len(sequencing.take([ORDERS], 1)) == 1


def test_numbers_begin_anew_with_zero() -> None:
    """After 2^31 - 1, as Kafka counts."""
    sequencing = filled(0)
    sequencing.add(ORDERS, build_batch([Record(0, 1_000, None, b"x")]))
    sequencing._queues[ORDERS].sequence = (1 << 31) - 2
    for _ in range(2):
        batch = build_batch([Record(at, 1_000, None, b"x") for at in range(3)])
        sequencing.add(ORDERS, batch)
    assert sequences(take_all(sequencing)) == [0, (1 << 31) - 2, 1]
