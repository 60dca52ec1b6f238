"""Reading one range of one partition as whole record batches: the position, and what moves it.

The core of a blocking fetch. Record bytes stay views of the frame in which they came: no record is
decoded here, only each batch's header is looked at, for its size and where the next one begins.
What a batch holds besides wanted records (offsets before `start` or from `end` on, control records,
records of aborted transactions) is left to the decoder; `FetchedBytes` says what is needed.

Invariants: start <= position; position grows with every answer that holds a batch.
"""

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.client.cluster_metadata import PartitionMetadata
from odradek.client.errors import LogTruncated, Refused, check
from odradek.client.records.offsets import EpochEnd, Position
from odradek.model.errors import CorruptBatch, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, ProducerId, TopicId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch, Offset
from odradek.model.units import MIB, Bytes, Millis
from odradek.records.batch import LENGTH_END, MAGIC, check_crc, read_header
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

BYTES_MAX: Final = Bytes(8 * MIB)
WAIT_MS: Final = Millis(500)
HEAD: Final = struct.Struct(">qiib")  # base offset, length, leader epoch, magic
DELTA: Final = struct.Struct(">i")
DELTA_AT: Final = 23


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How a range is read."""

    bytes_max: Bytes = BYTES_MAX  # of one answer; a larger batch comes all the same
    wait_ms: Millis = WAIT_MS  # how long a leader may wait for a first byte
    committed: bool = False  # read_committed: nothing beyond the last stable offset
    check_crc: bool = True
    topic_id: TopicId = NO_TOPIC_ID  # the topic that is meant; NO_TOPIC_ID: whichever has the name


class AbortedRange(NamedTuple):
    """An aborted transaction: the producer's records from there up to its next abort marker."""

    producer_id: ProducerId
    first_offset: Offset


class FetchedBytes(NamedTuple):
    """Whole record batches of one partition, one behind the other, as a view of the answer."""

    partition: TopicPartition
    start: Offset  # records before it are not wanted: a batch may begin earlier
    next_offset: Offset  # where the batches end
    data: memoryview
    leader_epoch: LeaderEpoch  # of the last batch
    aborted: tuple[AbortedRange, ...]  # empty unless `committed`
    high_watermark: Offset
    last_stable_offset: Offset
    log_start_offset: Offset

    @property
    def position(self) -> Position:
        """From where to read on after these."""
        return Position(self.next_offset, self.leader_epoch)


class RangeFetch:
    """From `start` up to, not including, `end`."""

    def __init__(
        self, partition: TopicPartition, start: Position, end: int, settings: FetchSettings
    ) -> None:
        self.partition = partition
        self.position = start
        self.end = end
        self.settings = settings
        self.topic_id = settings.topic_id
        self._validated_in = NO_LEADER_EPOCH  # the leadership in which the position was checked

    def is_done(self) -> bool:
        """Whether all that was wanted has come."""
        return self.position.offset >= self.end

    def must_validate(self, known: PartitionMetadata) -> bool:
        """Whether the leader is to be asked first if its log holds what was read (KIP-320)."""
        return self.position.leader_epoch >= 0 and known.leader_epoch != self._validated_in

    def check_epoch_end(self, end: EpochEnd) -> None:
        """LogTruncated if the leader's log differs from what was read."""
        if 0 <= end.end_offset < self.position.offset:
            raise LogTruncated(self.partition, self.position.offset, end.end_offset)

    def request(self, known: PartitionMetadata) -> FetchRequest:
        """What to ask the leader for next, once the position is validated where it must be."""
        self._validated_in = known.leader_epoch
        settings = self.settings
        row = FetchPartition(
            self.partition.partition,
            known.leader_epoch,
            self.position.offset,
            partition_max_bytes=settings.bytes_max,
        )
        return FetchRequest(
            max_wait_ms=settings.wait_ms,
            min_bytes=1,
            max_bytes=settings.bytes_max,
            isolation_level=int(settings.committed),
            topics=[FetchTopic(self.partition.topic, self.topic_id, [row])],
        )

    def take(self, answer: FetchResponse) -> FetchedBytes | None:
        """What came, with the position moved behind it; None: nothing yet. Raises refusals."""
        check(answer.error_code, about=str(self.partition))
        if not answer.responses or not answer.responses[0].partitions:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, about=str(self.partition))
        row = answer.responses[0].partitions[0]
        check(row.error_code, about=str(self.partition))
        data = row.records
        if data is None or not len(data):
            return None
        assert isinstance(data, memoryview), "a decoder gives views"
        start = self.position.offset
        size, self.position = self._walk(data)
        if not size:
            return None
        aborted = (row.aborted_transactions or ()) if self.settings.committed else ()
        return FetchedBytes(
            self.partition,
            start,
            self.position.offset,
            data[:size],
            self.position.leader_epoch,
            tuple(
                AbortedRange(ProducerId(it.producer_id), Offset(it.first_offset)) for it in aborted
            ),
            *_offsets(row),
        )

    def _walk(self, data: memoryview) -> tuple[int, Position]:
        """How many bytes are whole batches that begin before the end, and the position behind."""
        at, (next_offset, epoch) = 0, self.position
        while len(data) - at >= HEAD.size and next_offset < self.end:
            base, length, batch_epoch, magic = HEAD.unpack_from(data, at)
            size = length + LENGTH_END
            if size <= HEAD.size:
                raise CorruptBatch(f"{self.partition}: a batch of {size} bytes")
            if base >= self.end:  # compaction removed what was left of the range
                next_offset = Offset(self.end)
                break
            if at + size > len(data):
                break
            behind = base + 1  # an old message, or a set of them under the offset of its last
            if magic == MAGIC:
                if self.settings.check_crc:
                    self._check(data, at, base)
                behind += DELTA.unpack_from(data, at + DELTA_AT)[0]
                epoch = LeaderEpoch(batch_epoch)
            if behind <= next_offset:  # or it would be asked for again, for ever
                raise CorruptBatch(f"{self.partition}: a batch at offset {next_offset} leads back")
            next_offset = Offset(behind)
            at += size
        return at, Position(next_offset, epoch)

    def _check(self, data: memoryview, at: int, base: int) -> None:
        try:
            check_crc(data, read_header(data, at), at)
        except CorruptBatch as error:
            raise CorruptBatch(f"{self.partition} at offset {base}: {error}") from None


def _offsets(row: PartitionData) -> tuple[Offset, Offset, Offset]:
    return Offset(row.high_watermark), Offset(row.last_stable_offset), Offset(row.log_start_offset)
