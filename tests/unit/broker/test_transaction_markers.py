"""Markers on their way: to whom they go, how often, and when they are given up."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from odradek.broker.coordinators.transaction_markers import MarkersDeps, TransactionMarkers
from odradek.broker.timers import Timers
from odradek.coordinator.coordinator import Place
from odradek.coordinator.transactions.values import Ending, Identity
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, ProducerId, TopicPartition
from odradek.model.positions import LeaderEpoch, ProducerEpoch
from odradek.peers.errors import TimedOut
from odradek.sim.stage.machine import Machine
from odradek.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.wire.schema import Request, Response
from tests.unit.broker.conversation import converse
from tests.unit.broker.ground import ME
from tests.unit.broker.group_desk import Known

SECOND, THIRD = BrokerId(2), BrokerId(3)
PLACE: Final = Place(7, LeaderEpoch(4))
A, B, C = (TopicPartition("orders", number) for number in range(3))
NONE = ErrorCode.NONE


def ending(name: str = "mover", producer: int = 7, *partitions: TopicPartition) -> Ending:
    """Of a transaction that is committed."""
    identity = Identity(ProducerId(producer), ProducerEpoch(1))
    return Ending(name, identity, True, 0, frozenset(partitions or (A, B)))  # noqa: FBT003


class Floor:
    """The markers of one broker, and all leaders."""

    def __init__(self, machine: Machine, tasks: asyncio.TaskGroup) -> None:
        self.machine, self.known = machine, Known()
        self.asked: list[tuple[BrokerId, WriteTxnMarkersRequest]] = []
        self.versions: list[int] = []
        self.kafkas: set[BrokerId] = set()  # leaders that are Kafka 3.9
        self.level = 0
        self.codes: dict[TopicPartition, ErrorCode] = {}
        self.deaf: set[BrokerId] = set()
        self.hang: asyncio.Event | None = None
        self.hanging: set[TopicPartition] = set()  # only requests that name one of these hang
        self.is_slow: list[bool] = []
        self.in_tree: dict[str, frozenset[int]] = {"orders": frozenset(range(10))}
        self.looks: list[str] = []
        self.done: list[tuple[Place, str, list[TopicPartition]]] = []
        timers = Timers(machine.clock)
        ways = Way(self, is_slow=False), Way(self, is_slow=True)
        deps = MarkersDeps(
            self.known, *ways, timers, tasks, self.there, self._local, lambda: self.level
        )
        self.markers = TransactionMarkers(deps)
        self.markers.on_marked += [
            lambda place, it, partitions: self.done.append(
                (place, it.transactional_id, sorted(partitions))
            )
        ]
        self.lead(SECOND, SECOND, THIRD)

    async def _local(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        response = await self.ask(ME, request, 2)
        assert isinstance(response, WriteTxnMarkersResponse)
        return response

    def lead(self, *leaders: BrokerId | None) -> None:
        """The partitions of the topic, in order, are led by these."""
        self.known.lead("orders", *leaders)

    async def there(self, topic: str) -> frozenset[int] | None:
        """What ZooKeeper says, which may have no such topic."""
        self.looks.append(topic)
        return self.in_tree.get(topic, frozenset())

    async def ask(self, broker: BrokerId, request: Request, version: int) -> Response:
        """As leaders answer."""
        if isinstance(request, ApiVersionsRequest):
            newest = 1 if broker in self.kafkas else 2
            rows = [ApiVersion(WriteTxnMarkersRequest.KEY, 0, newest)]
            return ApiVersionsResponse(api_keys=rows)
        assert isinstance(request, WriteTxnMarkersRequest)
        self.asked.append((broker, request))
        self.versions.append(version)
        named = {
            TopicPartition(topic.name, number)
            for it in request.markers
            for topic in it.topics
            for number in topic.partition_indexes
        }
        if self.hang is not None and (not self.hanging or named & self.hanging):
            await self.hang.wait()
        if broker in self.deaf:
            raise TimedOut("no answer")
        return WriteTxnMarkersResponse(
            [
                WritableTxnMarkerResult(
                    it.producer_id,
                    [
                        WritableTxnMarkerTopicResult(
                            topic.name,
                            [
                                WritableTxnMarkerPartitionResult(
                                    number, self.codes.get(TopicPartition(topic.name, number), NONE)
                                )
                                for number in topic.partition_indexes
                            ],
                        )
                        for topic in it.topics
                    ],
                )
                for it in request.markers
            ]
        )

    async def seconds(self, seconds: float) -> None:
        """Time passes."""
        clock = self.machine.clock
        await clock.sleep_until(clock.monotonic() + int(seconds * 1000))  # type: ignore[arg-type]


class Way:
    """Connections to the leaders."""

    def __init__(self, floor: Floor, *, is_slow: bool) -> None:
        self.floor, self.is_slow = floor, is_slow

    async def ask(self, broker: BrokerId, request: Request, version: int) -> Response:
        """On these."""
        self.floor.is_slow.append(self.is_slow)
        return await self.floor.ask(broker, request, version)


def talk(said: Callable[[Floor], Coroutine[Any, Any, None]]) -> None:
    """One conversation."""
    converse(lambda machine, tasks: said(Floor(machine, tasks)), seconds=60)


def test_what_is_decided_at_a_time_is_one_request_to_each_leader() -> None:
    """Whosever transactions they are; the coordinator's epoch goes along."""

    async def said(t: Floor) -> None:
        t.markers.send(PLACE, ending("one", 7, A, B, C))
        t.markers.send(PLACE, ending("two", 8, A))
        await t.seconds(0.001)
        assert [broker for broker, _ in t.asked] == [SECOND, THIRD]
        first = t.asked[0][1].markers
        assert [(it.producer_id, it.coordinator_epoch) for it in first] == [(7, 4), (8, 4)]
        assert [list(it.topics[0].partition_indexes) for it in first] == [[0, 1], [0]]
        assert sorted(t.done) == [
            (PLACE, "one", [A, B]),
            (PLACE, "one", [C]),
            (PLACE, "two", [A]),
        ]

    talk(said)


def test_what_comes_meanwhile_leaves_with_the_next_request() -> None:
    """One is on its way to a leader at a time."""

    async def said(t: Floor) -> None:
        t.hang = asyncio.Event()
        t.markers.send(PLACE, ending("one", 7, A))
        await t.seconds(0.001)
        t.markers.send(PLACE, ending("two", 8, A))
        t.markers.send(PLACE, ending("three", 9, B))
        await t.seconds(1)
        assert len(t.asked) == 1
        t.hang.set()
        await t.seconds(0.001)
        assert [it.producer_id for it in t.asked[1][1].markers] == [8, 9]

    talk(said)


def test_a_partition_that_hangs_holds_up_no_others() -> None:
    """One disk of a leader hangs: what waits for it, repeated or new, holds no other marker."""

    async def said(t: Floor) -> None:
        t.codes[A] = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        t.markers.send(PLACE, ending("slow", 7, A))
        await t.seconds(0.001)
        t.hang, t.hanging = asyncio.Event(), {A}
        await t.seconds(1)
        t.markers.send(PLACE, ending("slow too", 6, A))
        await t.seconds(0.01)
        t.markers.send(PLACE, ending("quick", 8, B))
        t.markers.send(PLACE, ending("quick too", 9, B))
        await t.seconds(0.01)
        assert [name for _, name, _ in t.done] == ["quick", "quick too"]
        assert t.is_slow == [False, True, False]
        del t.codes[A]
        t.hang.set()
        await t.seconds(2)
        assert sorted(name for _, name, _ in t.done[2:]) == ["slow", "slow too"]
        t.markers.send(PLACE, ending("again quick", 10, A))
        await t.seconds(0.01)
        assert t.is_slow[-2:] == [True, False]

    talk(said)


def test_a_marker_is_sent_until_its_leader_has_it() -> None:
    """Wherever the partition has moved, and whatever was answered."""

    async def said(t: Floor) -> None:
        t.codes[A] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        t.deaf.add(THIRD)
        t.markers.send(PLACE, ending("mover", 7, A, B, C))
        await t.seconds(10)
        assert t.done == [(PLACE, "mover", [B])]
        assert {broker for broker, _ in t.asked} == {SECOND, THIRD}
        t.asked.clear()
        del t.codes[A]
        t.deaf.clear()
        t.lead(THIRD, SECOND, SECOND)
        await t.seconds(2)
        assert sorted(t.done[1:]) == [(PLACE, "mover", [A]), (PLACE, "mover", [C])]
        t.asked.clear()
        await t.seconds(5)
        assert not t.asked

    talk(said)


def test_only_what_is_gone_from_zookeeper_is_passed_over() -> None:
    """A broker that has just started knows of no topic, and that proves nothing."""

    async def said(t: Floor) -> None:
        t.known.remove("orders")
        t.markers.send(PLACE, ending())
        await t.seconds(5)
        assert not t.done
        assert t.markers.without_leader == 2
        del t.in_tree["orders"]
        await t.seconds(2)
        assert t.done == [(PLACE, "mover", [A, B])]
        assert not t.markers.without_leader

    talk(said)


def test_one_look_tells_for_all_partitions_of_a_topic() -> None:
    """A deleted topic costs a look a second at most, however many markers are due to it."""

    async def said(t: Floor) -> None:
        t.known.remove("orders")
        for producer in range(50):
            t.markers.send(PLACE, ending("mover", producer, A, B, C))
            await t.seconds(0.01)
        await t.seconds(5)
        assert not t.done
        assert len(t.looks) < 15
        before = len(t.looks)
        await t.seconds(5)
        assert len(t.looks) - before in (5, 6)
        del t.in_tree["orders"]
        await t.seconds(2)
        assert len(t.done) == 50
        assert not t.markers.without_leader
        await t.seconds(3)
        assert len(t.looks) - before < 9

    talk(said)


def test_a_partition_that_a_topic_made_anew_does_not_have_is_passed_over() -> None:
    """The name is there again, with fewer partitions."""

    async def said(t: Floor) -> None:
        seventh = TopicPartition("orders", 7)
        t.markers.send(PLACE, ending("mover", 7, A, seventh))
        await t.seconds(5)
        assert t.done == [(PLACE, "mover", [A])]
        t.in_tree["orders"] = frozenset(range(3))
        await t.seconds(2)
        assert t.done[1:] == [(PLACE, "mover", [seventh])]
        assert not t.markers.without_leader

    talk(said)


def test_a_partition_without_a_leader_is_waited_for() -> None:
    """Its topic is there, and so it is not passed over."""

    async def said(t: Floor) -> None:
        t.lead(None, SECOND)
        t.markers.send(PLACE, ending())
        await t.seconds(3)
        assert t.done == [(PLACE, "mover", [B])]
        assert t.markers.without_leader == 1
        t.lead(SECOND, SECOND)
        await t.seconds(2)
        assert t.done[1:] == [(PLACE, "mover", [A])]

    talk(said)


def test_who_does_not_decide_any_more_sends_nothing_more() -> None:
    """Another broker has read what was decided, and sends it; an answer comes too late."""

    async def said(t: Floor) -> None:
        t.codes[A] = ErrorCode.NOT_ENOUGH_REPLICAS
        t.hang = asyncio.Event()
        t.markers.send(PLACE, ending())
        t.markers.send(Place(8, LeaderEpoch(0)), ending("other", 9, B))
        await t.seconds(0.001)
        t.markers.stop(PLACE.partition)
        t.hang.set()
        await t.seconds(5)
        assert len(t.asked) == 1
        assert t.done == [(Place(8, LeaderEpoch(0)), "other", [B])]

    talk(said)


def test_of_one_producer_one_transaction_is_ended_at_a_time() -> None:
    """Answers name the producer alone."""

    async def said(t: Floor) -> None:
        t.markers.send(PLACE, ending("mover", 7, A))
        t.markers.send(PLACE, ending("mover", 7, B))
        await t.seconds(0.01)
        assert [len(request.markers) for _, request in t.asked] == [1, 1]
        assert len(t.done) == 2

    talk(said)


def test_a_kafka_knows_no_version_of_transactions() -> None:
    """Above level 0 there is none in the cluster.

    On the way from 2 to 0, too, where a marker that comes late may meet the next transaction.
    """

    async def said(t: Floor) -> None:
        t.markers.send(PLACE, ending("mover", 7, A))
        await t.seconds(0.01)
        for level in (2, 1):
            t.level = level
            t.markers.send(PLACE, ending("mover", 9 - level, A))
            await t.seconds(0.01)
        assert t.versions == [1, 2, 2]

    talk(said)


def test_this_broker_is_told_without_a_connection() -> None:
    """Where it leads the partition itself."""

    async def said(t: Floor) -> None:
        t.lead(ME, SECOND)
        t.markers.send(PLACE, ending())
        await t.seconds(0.01)
        assert sorted(t.done) == [(PLACE, "mover", [A]), (PLACE, "mover", [B])]

    talk(said)


def test_at_level_0_an_end_in_version_2_is_told_apart_where_its_leader_can() -> None:
    """Producers hear of a level before or after their coordinator; each leader is asked what it is.

    Without the version an end that comes late, in the next transaction, ends that.
    """

    async def said(t: Floor) -> None:
        t.kafkas.add(THIRD)
        t.markers.send(PLACE, ending("first", 7, A, C)._replace(version=2))
        await t.seconds(0.01)
        assert dict(zip((broker for broker, _ in t.asked), t.versions, strict=True)) == {
            SECOND: 2,
            THIRD: 1,
        }
        assert t.asked[0][1].markers[0].transaction_version == 2
        assert [name for _, name, _ in t.done] == ["first", "first"]

    talk(said)
