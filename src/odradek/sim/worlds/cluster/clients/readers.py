"""Consumers that ask as few others do: in small pieces, from followers in their rack, by time.

They send their own Fetch, so that each answer can be judged: `fetch.answered` has what was asked
for, `max_bytes`, and the sizes of what came of each partition with that of its first batch;
`follower.read` the broker that was read from, `time.found` a partition, the time that was asked for
and the record that was there. What is read is `client.found` and `client.polled`, as of a member.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, NamedTuple

from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.connection_limits import FETCH_BY_NAME
from odradek.client.errors import check
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch
from odradek.records.batch import check_crc, headers
from odradek.records.record import Record, read_records
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker.administrator import Note, Rest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

RACKS: Final = ("rack-0", "rack-1")
WAIT_MILLIS: Final = 100
FETCHES_MAX: Final = 12  # in a row
BYTES_BITS: Final = 13  # bounds are drawn up to this power of two
KEPT_MAX: Final = 50  # times of records to ask for
FOREIGN: Final = -1  # no other replica is named


class Taken(NamedTuple):
    """What a Fetch brought of one partition."""

    row: PartitionData
    data: bytes
    records: list[Record]

    @property
    def first_bytes(self) -> int:
        """The size of the first batch, which comes whatever the bounds are."""
        return next((header.size for _, header in headers(self.data, cut_tail=True)), 0)


async def fetched(
    cluster: Cluster, broker: BrokerId, request: FetchRequest
) -> Iterator[tuple[TopicPartition, Taken]]:
    """Asks one broker, once."""
    answer = await (await cluster.broker(broker)).ask(request, at_most=FETCH_BY_NAME)
    check(answer.error_code)
    return (
        (TopicPartition(topic.topic, row.partition_index), _taken(row))
        for topic in answer.responses
        for row in topic.partitions
    )


def _taken(row: PartitionData) -> Taken:
    data = bytes(row.records) if isinstance(row.records, memoryview) else b""
    records: list[Record] = []
    for position, header in headers(data, cut_tail=True):
        check_crc(data, header, position)
        records += read_records(data, header, position)
    return Taken(row, data, records)


class OddReaders:
    """All of them, over the same topics."""

    def __init__(self, note: Note, chance: SeededRandom, rest: Rest, topics: Sequence[str]) -> None:
        """The first topic is one of which no record is ever lost."""
        self._note, self._chance, self._rest, self._topics = note, chance, rest, topics
        self._durable = topics[0]
        self._times: list[tuple[TopicPartition, int]] = []

    def _topic(self) -> str:
        return self._topics[self._chance.below(len(self._topics))]

    async def read_in_pieces(self, cluster: Cluster) -> None:
        """Several partitions of one leader at once, with bounds that they have in common."""
        while True:
            partitions = await admin.partitions_of(cluster, self._topic())
            leader = await cluster.leader_id(partitions[0])
            theirs = [it for it in partitions if await cluster.leader_id(it) == leader]
            starts = await offsets_at(cluster, theirs, EARLIEST)
            rows = [
                FetchPartition(it.partition, fetch_offset=starts[it], partition_max_bytes=1 << 20)
                for it in theirs
            ]
            bytes_max = 1 << self._chance.below(BYTES_BITS)
            request = FetchRequest(
                max_wait_ms=WAIT_MILLIS,
                min_bytes=1,
                max_bytes=bytes_max,
                topics=[FetchTopic(theirs[0].topic, partitions=rows)],
            )
            sizes = []
            for partition, taken in await fetched(cluster, leader, request):
                check(taken.row.error_code, about=str(partition))
                sizes.append((len(taken.data), taken.first_bytes))
                if partition.topic == self._durable:
                    self._times += [(partition, it.timestamp) for it in taken.records]
            del self._times[:-KEPT_MAX]
            self._note("pieces", "fetch.answered", bytes_max, tuple(sizes))
            if self._times:
                await self._look_up(cluster)
            await self._rest()

    async def _look_up(self, cluster: Cluster) -> None:
        """The first record of a time that some record has."""
        partition, time = self._times[self._chance.below(len(self._times))]
        offset = (await offsets_at(cluster, [partition], time))[partition]
        if offset < 0:
            return
        leader = await cluster.leader_id(partition)
        for _, taken in await fetched(cluster, leader, _one(partition, offset)):
            check(taken.row.error_code, about=str(partition))
            there = [it for it in taken.records if it.offset >= offset]
            if there:
                found = (there[0].offset, there[0].timestamp)
                self._note("pieces", "time.found", str(partition), time, offset, *found)

    async def read_nearby(self, cluster: Cluster) -> None:
        """From the leader, or from the replica that it names."""
        rack = RACKS[self._chance.below(len(RACKS))]
        while True:
            partitions = await admin.partitions_of(cluster, self._topic())
            partition = partitions[self._chance.below(len(partitions))]
            position = (await offsets_at(cluster, [partition], EARLIEST))[partition]
            self._note(rack, "client.found", *partition, position)
            leader = await cluster.leader_id(partition)
            broker = leader
            for _ in range(FETCHES_MAX):
                known = cluster.metadata.partition(partition)
                leader_epoch = known.leader_epoch if known is not None else NO_LEADER_EPOCH
                request = _one(partition, position, rack, leader_epoch)
                ((_, taken),) = await fetched(cluster, broker, request)
                check(taken.row.error_code, about=str(partition))
                if taken.row.preferred_read_replica != FOREIGN:
                    broker = BrokerId(taken.row.preferred_read_replica)
                    continue
                records = [it for it in taken.records if it.offset >= position]
                if not records:
                    break
                position = records[-1].offset + 1
                rows = tuple((it.offset, (it.value or b"").decode()) for it in records)
                if broker != leader:
                    leader_epoch = NO_LEADER_EPOCH  # it may have to cut off what it has
                    self._note(rack, "follower.read", int(broker))
                self._note(rack, "client.polled", *partition, rows, leader_epoch)
            await self._rest()


def _one(
    partition: TopicPartition,
    offset: int,
    rack: str = "",
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH,
) -> FetchRequest:
    row = FetchPartition(
        partition.partition,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
    )
    return FetchRequest(
        max_wait_ms=WAIT_MILLIS,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(partition.topic, partitions=[row])],
        rack_id=rack,
    )


class AnswersKeepTheirBounds(Invariant):
    """A Fetch brings `max_bytes` at most, but for a first batch that is larger."""

    watches: ClassVar = frozenset({"fetch.answered"})

    def on(self, event: Event) -> None:
        """Of all partitions together."""
        bytes_max, sizes = event.details
        total = sum(size for size, _ in sizes)
        first = next((first for size, first in sizes if size), 0)
        assert total <= max(bytes_max, first), f"{total} of {bytes_max} bytes: {sizes}"


class TimesAreFound(Invariant):
    """Where a time is looked up, a record of that time or a later one is."""

    watches: ClassVar = frozenset({"time.found"})

    def on(self, event: Event) -> None:
        """The record at that very offset."""
        partition, time, offset, at, found = event.details
        assert at == offset, f"{partition}: {offset} was named for {time}, and the next is {at}"
        assert found >= time, f"{partition}: at {offset} is one of {found}, not of {time}"
