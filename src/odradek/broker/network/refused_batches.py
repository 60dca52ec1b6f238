"""Batches of a producer that come behind a refused one: they are refused like it.

A client has up to five batches of a partition on their way. Where the first is refused because its
broker does not lead yet, too few replicas are in sync, or the disk is full, and the third comes
when that is over, the log finds a gap. Told of it, librdkafka begins an epoch for all its
partitions and sends again under it what it had no answer for, also what a leader that died has
taken: a record stands twice. A log that knows nothing of the producer would even take the third,
and the first could never follow. So what continues a refused batch on the same connection is
refused with the same words, until one comes that does not: mostly the first again.

Nothing of this is asked of a connection on which nothing was refused.
"""

from typing import Final, NamedTuple

from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.records.batch import BatchHeader, read_header
from odradek.storage.logs.producers import SEQUENCE_MAX

PASSING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
PARTITIONS_MAX: Final = 128
"""Of a connection: those of a stranger cost some kilobytes, those of a client are rarely more."""


class BehindRefusedBatch(BrokerError):
    """The batch before this one was refused for a while, and has to come first."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code  # type: ignore[misc]  # of that one


class RefusedBatch(NamedTuple):
    """The last one in the line of a producer, in one partition.

    The error itself is not kept: with its trace it would hold the request that it is about.
    """

    producer_id: int
    producer_epoch: int
    next_sequence: int
    code: ErrorCode
    text: str


class RefusedBatches(dict[TopicPartition, RefusedBatch]):
    """Of one connection."""

    __slots__ = ()

    def note(self, partition: TopicPartition, records: object, error: BrokerError) -> None:
        """A batch was refused, before or after it was looked at."""
        if error.code not in PASSING or not isinstance(records, memoryview):
            return
        try:
            header = read_header(records)
        except CorruptBatch:
            return
        self._note(partition, header, error)

    def note_unwritten(
        self, partition: TopicPartition, header: BatchHeader, error: BrokerError
    ) -> None:
        """A batch was taken, and could not be written: the disk is full.

        Others may have come behind it, and were refused before: the line ends with the last.
        """
        last = self.get(partition)
        if last is not None and (header.producer_id, header.producer_epoch) == last[:2]:
            ahead = (last.next_sequence - header.last_sequence - 1) & SEQUENCE_MAX
            if 0 < ahead <= SEQUENCE_MAX // 2:
                return
        if error.code in PASSING:
            self._note(partition, header, error)

    def _note(self, partition: TopicPartition, header: BatchHeader, error: BrokerError) -> None:
        if header.base_sequence < 0 or (partition not in self and len(self) >= PARTITIONS_MAX):
            return
        following = (header.last_sequence + 1) & SEQUENCE_MAX
        self[partition] = RefusedBatch(
            header.producer_id, header.producer_epoch, following, error.code, str(error)
        )

    def check(self, partition: TopicPartition, header: BatchHeader) -> None:
        """Refuses a batch that continues a refused one; any other begins anew."""
        last = self.get(partition)
        if last is None:
            return
        if (header.producer_id, header.producer_epoch, header.base_sequence) == last[:3]:
            raise BehindRefusedBatch(last.code, last.text)
        del self[partition]
