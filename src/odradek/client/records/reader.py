"""Reading partitions from given offsets on: one fetch to each leader at a time.

Control batches are passed over, and so are records before the offset that was asked for, which a
compressed batch may begin with. With `read_committed` records of aborted transactions are left out.
A fetch names the leader epoch that the metadata has: a broker that has not heard of that leadership
yet, or knows a later one, refuses (KIP-320).

A batch that fails its checksum is asked for again, by a session: then a broker of ours checks its
file, and lets another lead that has it.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.connection_limits import FETCH_BY_NAME
from odradek.client.errors import CorruptRecords, NoLeader, Refused, check
from odradek.client.records.aborted import AbortedTransactions
from odradek.client.records.producer import STALE
from odradek.model.errors import BrokerError, CorruptBatch, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch
from odradek.model.units import MIB, Bytes, Millis
from odradek.peers.errors import ConnectionGone
from odradek.records.batch import check_crc, headers
from odradek.records.record import Record, read_records
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

BYTES_MAX: Final = Bytes(8 * MIB)
PARTITION_BYTES_MAX: Final = Bytes(MIB)
ASK_ANEW: Final = STALE | {ErrorCode.UNKNOWN_LEADER_EPOCH}
NEW_SESSION: Final = 0
NO_MORE_SESSION: Final = -1
"""Epochs of fetch sessions (KIP-227)."""
CORRUPT_TRIES: Final = 10
CORRUPT_PAUSE: Final = Millis(500)
"""Another leader is elected meanwhile, if there is one."""
LOOK: Final = Millis(500)
"""So often it is asked who leads what has no leader, while others are read."""


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
        self._corrupt: Counter[TopicPartition] = Counter()  # how often, at its present position
        self._silent: dict[TopicPartition, Millis] = {}  # since when a leader has not answered
        self._look_again = Millis(0)

    def silent(self, for_ms: Millis) -> list[TopicPartition]:
        """Partitions of which no leader has answered for so long."""
        now = self._cluster.world.clock.monotonic()
        return [it for it, since in self._silent.items() if now - since >= for_ms]

    async def poll(self, wait_ms: int = 500) -> list[Found]:
        """What has come, from all leaders; nothing, after so long.

        A partition without a leader is waited for only where no other has one.
        """
        by_leader = await self._leaders()
        if self.positions and not by_leader:
            by_leader = await self._cluster.patiently(self._some_leaders)
        polls = [self._poll(leader, them, wait_ms) for leader, them in by_leader.items()]
        return [found for some in await asyncio.gather(*polls) for found in some]

    async def _leaders(self) -> dict[BrokerId, list[TopicPartition]]:
        """As far as they are known; the others are asked for, now and then."""
        now = self._cluster.world.clock.monotonic()
        found, without = self._known_leaders()
        if found and without and now >= self._look_again:
            self._look_again = Millis(now + LOOK)
            with suppress(BrokerError):
                await self._ask_for_leaders(without)
            found, without = self._known_leaders()
        for it in without:
            self._note_silence(it)
        return found

    async def _some_leaders(self) -> dict[BrokerId, list[TopicPartition]]:
        await self._ask_for_leaders(self.positions)
        found, without = self._known_leaders()
        if not found:
            self._cluster.metadata.leader(without[0])  # raises NoLeader
        return found

    async def _ask_for_leaders(self, partitions: Iterable[TopicPartition]) -> None:
        await self._cluster.refresh(sorted({it.topic for it in partitions}))

    def _known_leaders(self) -> tuple[dict[BrokerId, list[TopicPartition]], list[TopicPartition]]:
        found: dict[BrokerId, list[TopicPartition]] = {}
        without: list[TopicPartition] = []
        for it in self.positions:
            try:
                found.setdefault(self._cluster.metadata.leader(it), []).append(it)
            except NoLeader:
                without.append(it)
        return found, without

    async def _poll(
        self, leader: BrokerId, partitions: list[TopicPartition], wait_ms: int
    ) -> list[Found]:
        for it in partitions:  # what came with the last try has been handed out by now
            if self._corrupt[it] > CORRUPT_TRIES:
                raise CorruptRecords(it, self.positions[it], leader)
        try:
            answer = await self._ask(leader, self._request(partitions, wait_ms))
        except ConnectionGone:
            for it in partitions:
                self._note_silence(it)
                self._cluster.forget(it.topic)
            return []
        rows = _rows(answer)
        some = [found for it, row in rows.items() for found in self._take(it, row)]
        for it in rows:
            if it in self._corrupt:
                await self._try_again(leader, it)
        return some

    def _note_silence(self, partition: TopicPartition) -> None:
        self._silent.setdefault(partition, self._cluster.world.clock.monotonic())

    def _request(self, partitions: list[TopicPartition], wait_ms: int) -> FetchRequest:
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
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=BYTES_MAX,
            isolation_level=int(self._committed),
            topics=[FetchTopic(name, partitions=rows) for name, rows in topics.items()],
        )

    async def _ask(self, leader: BrokerId, request: FetchRequest) -> FetchResponse:
        connection = await self._cluster.broker(leader)
        answer: FetchResponse = await connection.ask(request, at_most=FETCH_BY_NAME)
        check(answer.error_code)
        return answer

    async def _try_again(self, leader: BrokerId, partition: TopicPartition) -> None:
        """After a while; the leader checks what a session asks for twice."""
        self._cluster.forget(partition.topic)
        with suppress(BrokerError):
            first = self._request([partition], 0)
            first.session_epoch = NEW_SESSION
            session = (await self._ask(leader, first)).session_id
            if session:
                for epoch in (NEW_SESSION + 1, NO_MORE_SESSION):
                    more = FetchRequest(max_wait_ms=0, session_id=session, session_epoch=epoch)
                    await self._ask(leader, more)
        clock = self._cluster.world.clock
        await clock.sleep_until(Millis(clock.monotonic() + CORRUPT_PAUSE))

    def _take(self, partition: TopicPartition, row: PartitionData) -> Iterator[Found]:
        if row.error_code:
            if row.error_code == ErrorCode.CORRUPT_MESSAGE:
                self._corrupt[partition] += 1
                return
            if row.error_code not in ASK_ANEW:
                raise Refused(row.error_code, about=str(partition))
            self._note_silence(partition)
            self._cluster.forget(partition.topic)
            return
        self._silent.pop(partition, None)
        self.ends[partition] = row.last_stable_offset if self._committed else row.high_watermark
        began = self.positions[partition]
        data = bytes(row.records) if isinstance(row.records, memoryview) else b""
        if not data:
            self._corrupt.pop(partition, None)
        listed = (row.aborted_transactions or ()) if self._committed else ()
        aborted = AbortedTransactions((it.producer_id, it.first_offset) for it in listed)
        for position, header in headers(data, cut_tail=True):
            try:
                check_crc(data, header, position)
            except CorruptBatch:
                self._corrupt[partition] += 1
                return
            self._corrupt.pop(partition, None)
            if header.is_control:
                batch = memoryview(data)[position : position + header.size]
                aborted.on_control(batch, header)
            elif not aborted.hold(header):
                for record in read_records(data, header, position):
                    if record.offset >= self.positions[partition]:
                        yield Found(partition, record)
            self.positions[partition] = max(self.positions[partition], header.next_offset)
        if data and self.positions[partition] == began:  # or it would be asked for again, for ever
            raise Refused(ErrorCode.CORRUPT_MESSAGE, about=f"{partition} at {began}")


def _rows(answer: FetchResponse) -> dict[TopicPartition, PartitionData]:
    return {
        TopicPartition(topic.topic, row.partition_index): row
        for topic in answer.responses
        for row in topic.partitions
    }
