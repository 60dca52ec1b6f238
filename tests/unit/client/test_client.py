"""The client against a broker on the simulator: producing, reading, groups, administration."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from odradek.client.addresses import addresses
from odradek.client.admin import admin, transactions
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.connection import Connection
from odradek.client.coordinators import TRANSACTION, check_coordinator
from odradek.client.errors import Refused
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.member import Member, committed, ranges, starting_positions
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.client.records.producer import Producer, ProducerSettings, murmur2
from odradek.client.records.reader import Reader
from odradek.model.errors import ErrorCode, InvalidSetting
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis, Timestamp
from odradek.peers.errors import ConnectionGone
from odradek.records.compression import Codec
from odradek.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from odradek.wire.messages.heartbeat import HeartbeatResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from odradek.wire.messages.produce import ProduceRequest
from odradek.wire.schema import Request
from tests.samples.transactions import one_marker, one_record
from tests.unit.broker.stage import PORT, Stage

Talk = Callable[[Cluster], Coroutine[Any, Any, Any]]


def talk(stage: Stage, conversation: Talk, kind: type[Cluster] = Cluster) -> Any:
    """Runs a conversation on the clients' machine."""

    async def run() -> Any:
        machine = stage.clients
        world = ClientDeps(machine.network, machine.clock)
        cluster = kind(world, [("broker", PORT)])
        try:
            return await conversation(cluster)
        finally:
            cluster.close()

    return stage.world.ask("clients", run(), seconds=120)


async def a_moment(cluster: Cluster) -> None:
    """A tenth of a second."""
    clock = cluster.world.clock
    await clock.sleep_until(Millis(clock.monotonic() + 100))


async def read_all(cluster: Cluster, topic: str) -> list[tuple[int, int, bytes | None]]:
    """Every record: its partition, its offset, its value."""
    partitions = await admin.partitions_of(cluster, topic)
    ends = await offsets_at(cluster, partitions, LATEST)
    reader = Reader(cluster, await offsets_at(cluster, partitions, EARLIEST))
    found = []
    while any(reader.positions[it] < ends[it] for it in partitions):
        found += await reader.poll()
    return [(it.partition.partition, it.record.offset, it.record.value) for it in found]


def test_a_batch_that_leads_back_is_not_asked_for_for_ever() -> None:
    """Its number has rotted, which no checksum covers."""

    async def conversation(cluster: Cluster) -> Any:
        await read_all(cluster, "orders")

    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a")
        log = stage.running.services_of_this_life.replicas.led(TopicPartition("orders", 0)).log
        second = log.active_segment.size
        client.produce("orders", "b")
        log.active_segment.file.write([bytes(8)], second)
        with pytest.raises(Refused, match="orders-0 at 1"):
            talk(stage, conversation)


def test_a_broker_that_has_not_heard_of_a_leadership_is_not_read() -> None:
    """It would not know what that leader has written. The reader asks who leads, and goes on."""
    where = TopicPartition("orders", 0)

    async def conversation(cluster: Cluster) -> Any:
        told = await cluster.refresh(["orders"])
        for row in told.topics[0].partitions:
            row.leader_epoch += 1
        cluster.metadata = cluster.metadata.after(told)
        reader = Reader(cluster, {where: 0})
        return [(len(await reader.poll()), reader.leader_epochs[where]) for _ in range(2)]

    with Stage() as stage:
        stage.make("orders")
        stage.client().produce("orders", "a")
        assert talk(stage, conversation) == [(0, 1), (1, 0)]


class StillNamed(Cluster):
    """Of a cluster whose controller has just died: its brokers name it for a while."""

    answers = 0

    async def refresh(
        self, topics: Sequence[str] | None, *, make: bool = False
    ) -> MetadataResponse:
        """The third time, the next one."""
        told = await super().refresh(topics, make=make)
        self.answers += 1
        if self.answers < 3:
            told.controller_id = 99
            self.metadata = self.metadata.after(told)
        return told


def test_a_controller_is_waited_for() -> None:
    """What is asked of it is asked once: it may have been done."""

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 1, 1))
        assert isinstance(cluster, StillNamed)
        return cluster.answers

    with Stage() as stage:
        assert talk(stage, conversation, StillNamed) == 3


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_produced_is_read(codec: Codec) -> None:
    """With every codec, over all partitions of a topic that is made on the way."""

    async def conversation(cluster: Cluster) -> Any:
        producer = Producer(cluster, ProducerSettings(codec=codec))
        for number in range(50):
            where = await producer.partition_for("orders", None)
            producer.add(where, b"%d" % number)
        await producer.flush()
        return await read_all(cluster, "orders")

    with Stage(num_partitions="3") as stage:
        found = talk(stage, conversation)
    assert sorted(int(value) for _, _, value in found) == list(range(50))


def test_a_key_has_one_partition_for_all_clients() -> None:
    """The hash is Java's, to the bit."""
    assert [murmur2(it) for it in (b"21", b"foobar", b"a-little-bit-long-string")] == [
        (-973932308) & 0xFFFFFFFF,
        (-790332482) & 0xFFFFFFFF,
        (-985981536) & 0xFFFFFFFF,
    ]


def test_what_was_acknowledged_is_there_once_although_the_broker_died() -> None:
    """A batch that is sent again is found to be the same one."""

    async def produce(cluster: Cluster, value: bytes) -> None:
        producer = Producer(cluster)
        producer.add(await producer.partition_for("orders", b"k"), value, b"k")
        await producer.flush()

    with Stage(num_partitions="1") as stage:
        talk(stage, lambda cluster: produce(cluster, b"before"))
        stage.kill()
        stage.start()
        talk(stage, lambda cluster: produce(cluster, b"after"))
        found = talk(stage, lambda cluster: read_all(cluster, "orders"))
    assert [value for _, _, value in found] == [b"before", b"after"]


def test_a_topic_that_is_not_there_is_refused_with_its_reason() -> None:
    """In words, and under Kafka's code."""

    async def conversation(cluster: Cluster) -> None:
        await cluster.topic("nothing")

    with Stage() as stage, pytest.raises(Refused, match="nothing") as refused:
        talk(stage, conversation)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_two_members_share_a_topic_and_one_takes_over() -> None:
    """When the other leaves; what it had committed is where the first goes on."""

    async def conversation(cluster: Cluster) -> Any:
        await admin.create_topic(cluster, admin.NewTopic("orders", 4))
        first = Member(cluster, "shop", ["orders"])
        other = Cluster(cluster.world, [("broker", PORT)])  # a connection answers in order
        second = Member(other, "shop", ["orders"])
        alone = await first.join()
        async with asyncio.TaskGroup() as tasks:
            joining = tasks.create_task(second.join())
            while await first.still_belongs():
                await a_moment(cluster)
            again = await first.join()
        shared = joining.result()
        await second.commit(dict.fromkeys(shared, 0))
        await second.leave()
        while await first.still_belongs():
            await a_moment(cluster)
        last = await first.join()
        where = await starting_positions(cluster, "shop", last)
        await first.leave()
        other.close()
        return alone, again, shared, last, where

    with Stage() as stage:
        alone, again, shared, last, where = talk(stage, conversation)
    everything = [TopicPartition("orders", number) for number in range(4)]
    assert sorted(alone) == sorted(last) == everything
    assert sorted([*again, *shared]) == everything
    assert len(again) == len(shared) == 2
    assert where == dict.fromkeys(everything, 0)


def test_partitions_are_shared_out_as_evenly_as_can_be() -> None:
    """The first members have one more, and who does not want a topic gets none of it."""
    shares = ranges({"a": {"x"}, "b": {"x", "y"}}, {"x": 3, "y": 1})
    assert shares == {"a": {"x": [0, 1]}, "b": {"x": [2], "y": [0]}}


def test_an_operator_sees_and_changes_what_there_is() -> None:
    """Topics, settings, groups, log dirs and records, from making to forgetting."""

    async def conversation(cluster: Cluster) -> None:
        await admin.create_topic(
            cluster, admin.NewTopic("orders", 2, settings={"retention.ms": "5"})
        )
        await admin.grow_topic(cluster, "orders", 3)
        assert len(await admin.partitions_of(cluster, "orders")) == 3
        await admin.alter_settings(
            cluster, admin.TOPIC, "orders", to={"segment.bytes": "1000"}, delete=["retention.ms"]
        )
        settings = {
            row.name: row.value
            for row in await admin.describe_settings(cluster, admin.TOPIC, "orders")
        }
        assert (settings["segment.bytes"], settings["retention.ms"]) == ("1000", "604800000")
        partition = TopicPartition("orders", 0)
        producer = Producer(cluster)
        producer.add(partition, b"a")
        producer.add(partition, b"b")
        await producer.flush()
        assert await admin.delete_records(cluster, {partition: 1}) == {"orders-0": 1}
        await admin.reset_offsets(cluster, "shop", {partition: 1})
        assert await committed(cluster, "shop") == {partition: 1}
        assert [group.group_id for group in await admin.list_groups(cluster)] == ["shop"]
        await admin.delete_offsets(cluster, "shop", [partition])
        assert await committed(cluster, "shop") == {}
        dirs = await admin.log_dirs(cluster)
        assert len(dirs[next(iter(dirs))]) == 2
        assert await admin.delete_topics(cluster, ["orders"]) == {"orders": ErrorCode.NONE}

    with Stage() as stage:
        talk(stage, conversation)


def test_addresses_are_read_as_people_write_them() -> None:
    """With and without ports, and an IPv6 address in its brackets."""
    assert addresses("a, b:1,[::1]:2") == (("a", 9092), ("b", 1), ("::1", 2))
    for text in (" ,", "a:70000", "a:b", "a:", ":1", "::1", "[::1", "[::1]x"):
        with pytest.raises(InvalidSetting):
            addresses(text)


def test_a_broker_that_lost_its_power_is_not_waited_for_for_ever() -> None:
    """It cannot say that it is gone, and nothing is sent that could be refused: patience ends."""

    async def conversation(cluster: Cluster) -> None:
        connection = await cluster.any()
        asking = asyncio.ensure_future(connection.ask(MetadataRequest(topics=None)))
        await asyncio.sleep(0)  # it is sent, and on its way
        stage.cut_power()
        await asking

    with Stage() as stage, pytest.raises(ConnectionGone):
        talk(stage, conversation)


def test_a_coordinator_is_asked_for_once_and_anew_when_it_does_not_serve() -> None:
    """Whatever the answer in which it says so: of the whole, of a group, of a partition."""
    check_coordinator(HeartbeatResponse())
    check_coordinator(OffsetCommitResponse(topics=[]))
    partition = OffsetCommitResponsePartition(0, ErrorCode.NOT_COORDINATOR)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    for answer in (
        HeartbeatResponse(error_code=loading),
        OffsetCommitResponse(topics=[OffsetCommitResponseTopic("orders", partitions=[partition])]),
        OffsetFetchResponse(groups=[OffsetFetchResponseGroup("shop", [], loading)]),
        DeleteGroupsResponse(results=[DeletableGroupResult("shop", loading)]),
    ):
        with pytest.raises(Refused):
            check_coordinator(answer)


def test_the_offsets_of_many_partitions_are_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """To each leader; a partition that is not there does not hide the others."""
    asked: list[str] = []
    ask = Connection.ask

    async def count(self: Connection, request: Request, version: int | None = None) -> Any:
        asked.append(type(request).__name__)
        return await ask(self, request, version)

    async def conversation(cluster: Cluster) -> None:
        await admin.create_topic(cluster, admin.NewTopic("orders", 5))
        asked.clear()
        partitions = await admin.partitions_of(cluster, "orders")
        assert set((await offsets_at(cluster, partitions, EARLIEST)).values()) == {0}

    monkeypatch.setattr(Connection, "ask", count)
    with Stage() as stage:
        talk(stage, conversation)
    assert asked == ["MetadataRequest", "ListOffsetsRequest"]


def test_a_marker_that_ends_nothing_makes_nothing_seen() -> None:
    """An abort that comes twice stands before the next aborted transaction of its producer."""
    orders = TopicPartition("orders", 0)

    async def conversation(cluster: Cluster) -> list[bytes | None]:
        leader = await cluster.leader(orders)
        abort = one_marker(epoch=0, committed=False, transactions=0)
        for sequence in range(2):
            await leader.ask(ProduceRequest("copier", -1, 5_000, one_record(sequence)), 11)
            await leader.ask(abort, 1)
            await leader.ask(abort, 1)
        reader = Reader(cluster, {orders: 0}, committed=True)
        found = []
        while reader.positions[orders] < 6:
            found += await reader.poll()
        return [it.record.value for it in found]

    with Stage(transaction_partition_verification_enable="false") as stage:
        stage.make("orders")
        assert talk(stage, conversation) == []


def test_only_the_transaction_that_was_looked_at_is_aborted() -> None:
    """Its producer may have begun another one since, in the same epoch."""
    orders = TopicPartition("orders", 0)

    async def conversation(cluster: Cluster) -> None:
        leader = await cluster.leader(orders)
        await leader.ask(ProduceRequest("copier", -1, 5_000, one_record(0)), 11)
        (first,) = await transactions.open_in(cluster, orders)
        await leader.ask(one_marker(epoch=0, committed=True, transactions=0), 1)
        await leader.ask(ProduceRequest("copier", -1, 5_000, one_record(1)), 11)
        with pytest.raises(transactions.NothingOpen, match="from offset 0"):
            await transactions.abort(cluster, first)
        (second,) = await transactions.open_in(cluster, orders)
        await transactions.abort(cluster, second)
        assert not await transactions.open_in(cluster, orders)

    with Stage(transaction_partition_verification_enable="false") as stage:
        stage.make("orders")
        talk(stage, conversation)


def test_what_is_in_no_list_of_a_coordinator_is_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An id may change its coordinator while they are asked; all suspects are one question."""
    orders = TopicPartition("orders", 0)
    asked: list[str] = []
    ask = Connection.ask

    async def moving(self: Connection, request: Request, version: int | None = None) -> Any:
        asked.append(type(request).__name__)
        answer = await ask(self, request, version)
        if (
            isinstance(request, ListTransactionsRequest)
            and asked.count("ListTransactionsRequest") == 1
        ):
            answer.transaction_states = []
        return answer

    async def conversation(cluster: Cluster) -> list[int]:
        began = await cluster.ask_coordinator(
            "mover", InitProducerIdRequest("mover", 60_000), TRANSACTION
        )
        leader = await cluster.leader(orders)
        batch = one_record(0, producer=began.producer_id)
        await leader.ask(ProduceRequest("mover", -1, 5_000, batch), 12)
        for stranger in (8_001, 8_002):
            batch = one_record(0, producer=stranger)
            await leader.ask(ProduceRequest("stray", -1, 5_000, batch), 11)
        assert len(await transactions.open_in(cluster, orders)) == 3
        monkeypatch.setattr(Connection, "ask", moving)
        late = Timestamp(1 << 50)
        looked = await transactions.hanging(cluster, [orders], late)
        return [it.producer_id for it in looked.found]

    with Stage(
        transaction_partition_verification_enable="false",
        transaction_state_log_replication_factor="1",
        transaction_state_log_min_isr="1",
    ) as stage:
        stage.make("orders")
        assert talk(stage, conversation) == [8_001, 8_002]
    assert asked.count("ListTransactionsRequest") == 2
    assert asked.count("DescribeTransactionsRequest") == 1
