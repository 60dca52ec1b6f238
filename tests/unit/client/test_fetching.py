"""Reading a range: which bytes are handed out, and where the next request begins."""

import pytest

from odradek.client.cluster_metadata import PartitionMetadata
from odradek.client.errors import LogTruncated, Refused
from odradek.client.records.fetching import FetchSettings, RangeFetch
from odradek.client.records.offsets import EpochEnd, Position
from odradek.model.errors import CorruptBatch, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.records.batch import place
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)

ORDERS = TopicPartition("orders", 0)


def batch(base_offset: int, count: int, leader_epoch: int = 3) -> bytes:
    """So many records from there on."""
    data = build_batch([Record(at, 1_000, None, b"%d" % at) for at in range(count)])
    place(data, 0, base_offset, leader_epoch)
    return bytes(data)


def answer(data: bytes, error: int = 0) -> FetchResponse:
    """Of a leader."""
    aborted = [AbortedTransaction(9, 2)]
    row = PartitionData(0, error, 50, 40, 1, aborted_transactions=aborted, records=memoryview(data))
    return FetchResponse(responses=[FetchableTopicResponse("orders", partitions=[row])])


def reading(start: int, end: int, **settings: bool) -> RangeFetch:
    """A range of one partition."""
    return RangeFetch(ORDERS, Position(Offset(start)), end, FetchSettings(**settings))  # type: ignore[arg-type]


def leadership(epoch: int) -> PartitionMetadata:
    """Of broker 1."""
    return PartitionMetadata(BrokerId(1), LeaderEpoch(epoch), (), (), (), ErrorCode.NONE)


def test_whole_batches_are_handed_out_without_a_copy() -> None:
    """The last one, cut off, is asked for again."""
    data = batch(0, 10) + batch(10, 5)
    came = answer(data + batch(15, 5)[:-1])
    fetch = reading(3, 100)
    fetched = fetch.take(came)
    assert fetched is not None
    assert fetched.data.obj is came.responses[0].partitions[0].records.obj  # type: ignore[union-attr]
    assert bytes(fetched.data) == data
    assert (fetched.start, fetched.next_offset, fetched.position) == (3, 15, (15, 3))
    assert (fetched.high_watermark, fetched.last_stable_offset, fetched.log_start_offset) == (
        50,
        40,
        1,
    )
    assert fetch.request(leadership(3)).topics[0].partitions[0].fetch_offset == 15


def test_batches_from_the_end_on_are_left_out() -> None:
    """The one that holds the last wanted record is whole, whatever else it holds."""
    fetch = reading(0, 12)
    fetched = fetch.take(answer(batch(0, 10) + batch(10, 5) + batch(15, 5)))
    assert fetched is not None
    assert fetched.next_offset == 15
    assert fetch.is_done()


@pytest.mark.parametrize("before", [b"", batch(0, 10)])
def test_a_range_that_ends_in_a_gap_is_done(before: bytes) -> None:
    """Compaction removed what was left of it: the next batch lies beyond the end."""
    fetch = reading(0, 20)
    fetched = fetch.take(answer(before + batch(30, 5)))
    assert (bytes(fetched.data) if fetched is not None else b"") == before
    assert fetch.is_done()


def test_nothing_yet_is_no_progress() -> None:
    """A leader waits for records, then says that there are none."""
    fetch = reading(5, 20)
    assert fetch.take(answer(b"")) is None
    assert fetch.position.offset == 5


def test_a_batch_that_leads_back_is_refused() -> None:
    """Its offset has rotted, which no checksum covers; it would be asked for for ever."""
    with pytest.raises(CorruptBatch, match="leads back"):
        reading(5, 20).take(answer(batch(0, 5)))


def test_a_flipped_bit_is_found_unless_the_caller_looks_himself() -> None:
    """Whoever decodes may check the sums there."""
    data = bytearray(batch(0, 5))
    data[-1] ^= 1
    with pytest.raises(CorruptBatch, match="-0 at offset 0: the checksum is "):
        reading(0, 5).take(answer(bytes(data)))
    assert reading(0, 5, check_crc=False).take(answer(bytes(data))) is not None


def test_aborted_ranges_are_told_to_who_reads_committed() -> None:
    """Others read what was aborted, too."""
    committed = reading(0, 5, committed=True)
    assert committed.request(leadership(0)).isolation_level == 1
    fetched = committed.take(answer(batch(0, 5)))
    plain = reading(0, 5).take(answer(batch(0, 5)))
    assert fetched is not None
    assert plain is not None
    assert (fetched.aborted, plain.aborted) == (((9, 2),), ())


def test_a_refusal_leaves_the_position() -> None:
    """It is asked for again, of another leader perhaps."""
    fetch = reading(5, 20)
    with pytest.raises(Refused) as refused:
        fetch.take(answer(b"", ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetch.position.offset == 5


def test_a_new_leader_is_asked_whether_it_has_what_was_read() -> None:
    """Once for each leadership, and only where an epoch of what was read is known (KIP-320)."""
    fetch = reading(0, 100)
    assert not fetch.must_validate(leadership(3))
    fetch.request(leadership(3))
    fetch.take(answer(batch(0, 10)))
    assert not fetch.must_validate(leadership(3))
    assert fetch.must_validate(leadership(4))
    fetch.check_epoch_end(EpochEnd(LeaderEpoch(3), Offset(10)))
    fetch.check_epoch_end(EpochEnd(LeaderEpoch(-1), Offset(-1)))  # it cannot tell
    with pytest.raises(LogTruncated) as lost:
        fetch.check_epoch_end(EpochEnd(LeaderEpoch(3), Offset(7)))
    assert (lost.value.offset, lost.value.diverges_at) == (10, 7)
    fetch.request(leadership(4))
    assert not fetch.must_validate(leadership(4))


def test_a_position_from_a_checkpoint_is_validated_first() -> None:
    """Its epoch is known: the log may have been truncated while nobody read."""
    start = Position(Offset(5), LeaderEpoch(2))
    assert RangeFetch(ORDERS, start, 9, FetchSettings()).must_validate(leadership(3))
