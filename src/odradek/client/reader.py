"""Reading partitions from given offsets on: one fetch to each leader at a time.

Control batches are passed over, and so are records before the offset that was asked for, which a
compressed batch may begin with. With `read_committed` records of aborted transactions are left out.
A fetch names the leader epoch that the metadata has: a broker that has not heard of that leadership
yet, or knows a later one, refuses (KIP-320).
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.connection_limits import FETCH_BY_NAME
from odradek.client.errors import Refused, check
from odradek.client.producer import STALE
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch
from odradek.model.units import MIB, Bytes
from odradek.peers.errors import ConnectionGone
from odradek.records.batch import BatchHeader, check_crc, headers
from odradek.records.control import read_end_marker
from odradek.records.record import Record, read_records
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)

BYTES_MAX: Final = Bytes(8 * MIB)
PARTITION_BYTES_MAX: Final = Bytes(MIB)
ASK_ANEW: Final = STALE | {ErrorCode.UNKNOWN_LEADER_EPOCH}


class Found(NamedTuple):
    """A record and where it was."""

    partition: TopicPartition
    record: Record


class Reader:
    """Positions of partitions, which `poll` moves on."""

    def __init__(
        self, cluster: Cluster, positions: Mapping[TopicPartition, int], *, committed: bool = False
    ) -> None:
        self.positions = dict(positions)
        self.ends: dict[TopicPartition, int] = {}  # as the last answer told them
        self.leader_epochs: dict[TopicPartition, LeaderEpoch] = {}  # that the last fetch named
        self._cluster = cluster
        self._committed = committed

    async def poll(self, wait_ms: int = 500) -> list[Found]:
        """What has come, from all leaders; nothing, after so long."""
        by_leader: dict[BrokerId, list[TopicPartition]] = {}
        for partition in self.positions:
            leader = await self._cluster.patiently(partial(self._cluster.leader_id, partition))
            by_leader.setdefault(leader, []).append(partition)
        polls = [self._poll(leader, them, wait_ms) for leader, them in by_leader.items()]
        return [found for some in await asyncio.gather(*polls) for found in some]

    async def _poll(
        self, leader: BrokerId, partitions: list[TopicPartition], wait_ms: int
    ) -> list[Found]:
        topics: dict[str, list[FetchPartition]] = {}
        for it in partitions:
            known = self._cluster.metadata.partition(it)
            epoch = NO_LEADER_EPOCH if known is None else known.leader_epoch
            self.leader_epochs[it] = epoch
            row = FetchPartition(
                it.partition,
                current_leader_epoch=epoch,
                fetch_offset=self.positions[it],
                partition_max_bytes=PARTITION_BYTES_MAX,
            )
            topics.setdefault(it.topic, []).append(row)
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=BYTES_MAX,
            isolation_level=int(self._committed),
            topics=[FetchTopic(name, partitions=rows) for name, rows in topics.items()],
        )
        try:
            answer = await (await self._cluster.broker(leader)).ask(request, at_most=FETCH_BY_NAME)
            check(answer.error_code)
        except ConnectionGone:
            for it in partitions:
                self._cluster.forget(it.topic)
            return []
        return [
            found
            for topic in answer.responses
            for row in topic.partitions
            for found in self._take(TopicPartition(topic.topic, row.partition_index), row)
        ]

    def _take(self, partition: TopicPartition, row: PartitionData) -> Iterator[Found]:
        if row.error_code:
            if row.error_code not in ASK_ANEW:
                raise Refused(row.error_code, about=str(partition))
            self._cluster.forget(partition.topic)
            return
        self.ends[partition] = row.last_stable_offset if self._committed else row.high_watermark
        began = self.positions[partition]
        data = bytes(row.records) if isinstance(row.records, memoryview) else b""
        aborted = _Aborted(row.aborted_transactions or ()) if self._committed else _Aborted(())
        for position, header in headers(data, cut_tail=True):
            check_crc(data, header, position)
            records = read_records(data, header, position)
            if header.is_control:
                for record in records:
                    marker = read_end_marker(record)
                    if marker is not None and not marker.committed:
                        aborted.end(header.producer_id)
            elif not aborted.holds(header):
                for record in records:
                    if record.offset >= self.positions[partition]:
                        yield Found(partition, record)
            self.positions[partition] = max(self.positions[partition], header.next_offset)
        if data and self.positions[partition] == began:  # or it would be asked for again, for ever
            raise Refused(ErrorCode.CORRUPT_MESSAGE, about=f"{partition} at {began}")


class _Aborted:
    """Whose transactions were aborted, from which offset on, until their markers."""

    def __init__(self, rows: Iterable[AbortedTransaction]) -> None:
        self._starts: dict[int, list[int]] = {}
        for row in sorted(rows, key=lambda it: it.first_offset):
            self._starts.setdefault(row.producer_id, []).append(row.first_offset)

    def holds(self, header: BatchHeader) -> bool:
        """Whether a batch belongs to one of them."""
        starts = self._starts.get(header.producer_id) if header.is_transactional else None
        return starts is not None and bool(starts) and starts[0] <= header.base_offset

    def end(self, producer_id: int) -> None:
        """The oldest of this producer is over."""
        starts = self._starts.get(producer_id)
        if starts:
            starts.pop(0)
