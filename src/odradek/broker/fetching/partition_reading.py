"""What one partition has for one reader: checked, bounded, and read as a range of its file.

A follower is answered by the leader alone, and its position is taken note of before it reads, so
that the answer names the high watermark that this very fetch has moved. Where the last epoch that a
reader has fetched is one that this log left earlier, the answer says where, and has no records
(KIP-595).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.fetching.fetch_sessions import NO_SESSION, Slot
from odradek.broker.fetching.reader import Follower, Reader
from odradek.broker.fetching.replica_selector import ReplicaSelector
from odradek.broker.fetching.sought_reads import Part, SoughtRead, Wanted, read_part
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID
from odradek.model.positions import NO_BROKER_EPOCH, NO_OFFSET, LeaderEpoch, Offset
from odradek.ports import Clock, WouldBlock
from odradek.replication.errors import NotLeaderOrFollower
from odradek.replication.leadership import NOTHING
from odradek.replication.progress import FollowerFetch
from odradek.replication.throttle import ReplicationThrottle
from odradek.storage.errors import CorruptFile, OffsetOutOfRange
from odradek.storage.logs.log import PartitionLog
from odradek.wire.messages.fetch import AbortedTransaction, EpochEndOffset, PartitionData

NO_RECORDS: Final = b""

ReadableReplica = LeadingReplica | FollowingReplica


class UnknownTopicId(BrokerError):
    """No topic with this id is known here."""

    code = ErrorCode.UNKNOWN_TOPIC_ID


class InconsistentTopicId(BrokerError):
    """The topic was deleted, and made again under its name: this log is of the other one."""

    code = ErrorCode.INCONSISTENT_TOPIC_ID


class NotReadable(BrokerError):
    """The client may not read this topic, whether it exists or not."""

    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@dataclass(slots=True, eq=False)
class Found:
    """What there is in one partition."""

    slot: Slot
    row: PartitionData
    replica: ReadableReplica | None = None  # None: the fetch of this partition is refused
    size: int = 0  # of the records, in bytes
    is_urgent: bool = False  # nothing to wait for: an error, a diverging epoch, another replica
    was_read: bool = True  # False: there was no room left in the answer
    segment_base: Offset = NO_OFFSET  # where the records lie
    is_early: bool = False  # a follower asks for what this broker is only about to lead
    sought: SoughtRead | None = None  # a job that is to look for it first


class Look:
    """How a fetch looks at a partition, and then at the next one."""

    __slots__ = (
        "bytes_left",
        "consumer",
        "follower",
        "is_arrival",
        "is_first",
        "may_read",
        "sought",
    )

    def __init__(self, reader: Reader, may_read: Callable[[str], bool] | None = None) -> None:
        self.follower = reader if isinstance(reader, Follower) else None
        self.consumer = None if isinstance(reader, Follower) else reader
        self.may_read = may_read  # whether the client may read a topic
        self.bytes_left = 0  # in the answer
        self.is_first = True  # nothing was found before: the first batch comes, whatever its size
        self.is_arrival = True  # the request has just come: a follower's position counts now
        self.sought: SoughtRead | None = None  # a job has looked for it


class PartitionReading:
    """Reads for all fetches."""

    def __init__(
        self,
        replicas: ReplicaManager,
        cluster: MetadataCache,
        clock: Clock,
        *,
        selector: ReplicaSelector,
        throttle: ReplicationThrottle,
    ) -> None:
        self._replicas = replicas
        self._cluster = cluster
        self._clock = clock
        self._selector = selector
        self._throttle = throttle

    def read(self, slot: Slot, look: Look) -> Found:
        """What a reader finds; an error is an answer of its own."""
        try:
            replica = self._replica(slot, look)
            return self._read(slot, replica, look)
        except BrokerError as error:
            is_early = look.follower is not None and self._is_early(slot)
            is_corrupt = isinstance(error, CorruptFile)  # of this log alone: the disk works
            code = ErrorCode.CORRUPT_MESSAGE if is_corrupt else error.code
            return Found(slot, failed(slot, code), is_urgent=True, is_early=is_early)

    def _is_early(self, slot: Slot) -> bool:
        """Whether the controller is still to tell of this leader epoch, or a disk holds it up."""
        return not slot.name or self._replicas.is_behind(slot.partition, slot.leader_epoch)

    def _replica(self, slot: Slot, look: Look) -> ReadableReplica:
        """The one that serves this reader; a BrokerError says why there is none."""
        if not slot.name:
            name = self._cluster.image.names.get(slot.topic_id, "")
            if not name:
                raise UnknownTopicId("no topic with this id is known here")
            slot.rename(name)
        if look.may_read is not None and not look.may_read(slot.name):
            raise NotReadable(NotReadable.code.sentence)
        partition, consumer = slot.partition, look.consumer
        replica: ReadableReplica | None = None
        if consumer is not None and consumer.reads_from_followers:
            replica = self._replicas.followed(partition)
        if replica is None:
            replica = self._replicas.led(partition)
        if slot.leader_epoch >= 0:
            replica.check_leader_epoch(LeaderEpoch(slot.leader_epoch))
        if replica.log.lent_to is not None:
            raise NotLeaderOrFollower(f"{partition} is being truncated")
        known = replica.log.topic_id
        if slot.topic_id != known and NO_TOPIC_ID not in {slot.topic_id, known}:
            raise InconsistentTopicId(f"{partition} is of another topic with this name")
        return replica

    def _read(self, slot: Slot, replica: ReadableReplica, look: Look) -> Found:
        log, consumer, follower = replica.log, look.consumer, look.follower
        row = PartitionData(slot.number, preferred_read_replica=NO_BROKER, records=NO_RECORDS)
        if (
            slot.last_fetched_epoch != log.epochs.latest  # as a rule it is the same
            or not log.log_start_offset <= slot.offset <= log.log_end_offset
        ) and (diverging := _diverging(slot, log)) is not None:
            row.diverging_epoch = diverging
            _name_offsets(row, log)
            return Found(slot, row, replica, is_urgent=True)
        if follower is not None:
            if look.is_arrival:
                self._note(slot, replica, follower)
            if (
                self._throttle.rate is not None
                and self.is_throttled(replica, follower)
                and self._throttle.free_at(self._clock.monotonic()) is not None
            ):
                _name_offsets(row, log)
                return Found(slot, row, replica, was_read=False)
            end = log.log_end_offset
            if slot.offset >= end:  # as a rule, where it comes from its last append
                if log.failures.failed:
                    log.failures.check(log.folder.disk.name)
                _name_offsets(row, log)
                is_news = slot.told_log_start != log.log_start_offset
                is_urgent = is_news and _is_start_awaited(slot, replica, look)
                return Found(slot, row, replica, is_urgent=is_urgent)
        else:
            assert consumer is not None, "a reader that is no follower"
            end = log.last_stable_offset if consumer.committed_only else log.high_watermark
        _name_offsets(row, log)
        if consumer is not None and isinstance(replica, LeadingReplica):
            preferred = self._selector.select(replica, slot.offset, consumer)
            if preferred is not None:
                row.preferred_read_replica = preferred
                return Found(slot, row, replica, is_urgent=True)
        bytes_max = min(slot.bytes_max, look.bytes_left)
        if bytes_max <= 0 and not look.is_first:
            is_end = slot.offset >= end
            return Found(slot, row, replica, was_read=is_end)
        is_committed = consumer is not None and consumer.committed_only
        wanted = Wanted(slot.offset, end, bytes_max, look.is_first, is_committed)
        found = self._part(log, wanted, look.sought)
        if found is None:
            sought = SoughtRead(log, wanted, is_asked_again=slot.is_asked_again)
            return Found(slot, row, replica, was_read=False, sought=sought)
        part, aborted = found
        if part.chunk is None:
            is_end = slot.offset >= end or look.is_first  # what was there may be compacted away
            return Found(slot, row, replica, was_read=is_end)
        row.records = [part.chunk]
        if is_committed:
            row.aborted_transactions = [
                AbortedTransaction(it.producer_id, it.first_offset) for it in aborted
            ]
        return Found(slot, row, replica, part.chunk.length, segment_base=part.segment_base)

    def _part(self, log: PartitionLog, wanted: Wanted, sought: SoughtRead | None) -> Part | None:
        """None: only the disk can tell."""
        try:
            found = None if sought is None else sought.part_for(log, wanted)
            return found or read_part(log, wanted)
        except WouldBlock:
            return None
        except CorruptFile as error:
            self._replicas.logs.tell_corrupt(log, error)
            raise

    def is_throttled(self, replica: ReadableReplica, reader: Follower) -> bool:
        """Whether what this follower copies is bounded: not while it is in sync."""
        return (
            self._throttle.applies_to(replica.partition)
            and isinstance(replica, LeadingReplica)
            and reader.broker not in replica.leader.isr.committed
        )

    def copied(self, one: Found, reader: Follower) -> None:
        """These records go to a follower."""
        if not one.size or one.replica is None:
            return
        if self.is_throttled(one.replica, reader):
            self._throttle.note(one.size, self._clock.monotonic())

    def _note(self, slot: Slot, replica: ReadableReplica, reader: Follower) -> None:
        """A follower fetches: the leader learns how far its log goes."""
        assert isinstance(replica, LeadingReplica), "followers read from leaders"
        broker = self._cluster.image.brokers.get(reader.broker)
        life = NO_BROKER_EPOCH if broker is None else broker.epoch
        is_this_life = reader.broker_epoch in {NO_BROKER_EPOCH, life} or life == NO_BROKER_EPOCH
        start = None if slot.log_start_offset < 0 else Offset(slot.log_start_offset)
        fetch = FollowerFetch(
            reader.broker,
            slot.offset,
            None if slot.leader_epoch < 0 else LeaderEpoch(slot.leader_epoch),
            broker is not None and is_this_life,
            life if reader.broker_epoch == NO_BROKER_EPOCH else reader.broker_epoch,
            start,
            slot.incarnation,
        )
        effects = replica.leader.on_follower_fetch(fetch, self._clock.monotonic())
        if effects is not NOTHING:
            replica.carry_out(effects)


def _diverging(slot: Slot, log: PartitionLog) -> EpochEndOffset | None:
    """Where this log left the last epoch of the reader, if the reader is beyond that."""
    start, end = log.log_start_offset, log.log_end_offset
    if slot.last_fetched_epoch < 0:
        if not start <= slot.offset <= end:
            raise OffsetOutOfRange(f"offset {slot.offset} is not from {start} to {end}")
        return None
    if slot.last_fetched_epoch == log.epochs.latest and start <= slot.offset <= end:
        return None
    epoch, epoch_end = log.epochs.end_offset_for(LeaderEpoch(slot.last_fetched_epoch), end)
    if epoch_end < 0:
        raise OffsetOutOfRange(f"epoch {slot.last_fetched_epoch} is not known")
    if slot.offset < start:
        raise OffsetOutOfRange(f"offset {slot.offset} is below {start}")
    if epoch < slot.last_fetched_epoch or epoch_end < slot.offset:
        return EpochEndOffset(epoch, epoch_end)
    return None


def _is_start_awaited(slot: Slot, replica: ReadableReplica, look: Look) -> bool:
    """Whether a deletion waits for a follower that was not told where the log begins.

    Without a session each fetch is the first. One that comes waits, or a follower that cannot
    delete for now would ask without a pause; one that waits is told.
    """
    if slot.session.id == NO_SESSION and look.is_arrival:
        return False
    return isinstance(replica, LeadingReplica) and replica.leader.is_deletion_awaited


def _name_offsets(row: PartitionData, log: PartitionLog) -> None:
    row.high_watermark = log.high_watermark
    row.last_stable_offset = log.last_stable_offset
    row.log_start_offset = log.log_start_offset
    row.aborted_transactions = None


def failed(slot: Slot, code: ErrorCode) -> PartitionData:
    """The row of a partition that is refused."""
    return PartitionData(
        slot.number,
        code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        preferred_read_replica=NO_BROKER,
        records=NO_RECORDS,
    )
