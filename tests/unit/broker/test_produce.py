"""What a producer is refused, and why."""

from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.handlers import produce, produce_one
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.broker.timers import Timers
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Micros, Millis
from odradek.ports import Clock
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.replication.progress import FollowerFetch
from odradek.wire.codec import decode, encoded
from odradek.wire.headers import read_response
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.unit.broker.ground import ME, ORDERS, Ground, batch_of, word
from tests.unit.broker.group_desk import Visitor
from tests.unit.broker.stage import Client, Stage


def with_groups(stage: Stage) -> Client:
    """A client of a broker that coordinates groups."""
    client = stage.client()
    asked = FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"])
    while client.ask(asked).coordinators[0].error_code:
        stage.run(0.1)
    return client


@pytest.mark.parametrize("acks", [-1, 1])
def test_no_client_writes_what_coordinators_remember(acks: int) -> None:
    """A forged record in `__consumer_offsets` would move the offsets of somebody's group."""
    with Stage() as stage:
        row = with_groups(stage).produce(GROUP_METADATA_TOPIC, "forged", acks=acks)
        assert row.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert row.base_offset == -1


OTHER = BrokerId(2)
Outcome = list[tuple[ErrorCode, int]]


class Producer:
    """Sends batches to a partition with two replicas; the test is the other broker."""

    def __init__(self, ground: Ground, replicas: ReplicaManager) -> None:
        self.replicas = replicas
        self.clock = ground.machine.clock
        self.timers = Timers(self.clock)
        doors = SimpleNamespace(clock=self.clock)
        self.services = cast(
            "Services",
            SimpleNamespace(replicas=replicas, doors=doors, timers=self.timers, access=None),
        )
        self.led: LeadingReplica

    async def elect(self, *isr: int) -> None:
        """We lead; so many are in sync."""
        said = word(ORDERS)
        leadership = said.leadership._replace(
            replicas=(ME, OTHER), isr=tuple(map(BrokerId, isr)) or (ME, OTHER)
        )
        assert not await self.replicas.apply_leader_and_isr([said._replace(leadership=leadership)])
        self.led = self.replicas.led(ORDERS)

    def send(self, batches: int, timeout_ms: int = 1_000) -> "Sent":
        """With acks=all. One batch takes the short way, two in one request take the long one."""
        data = [PartitionProduceData(0, batch_of("a")) for _ in range(batches)]
        request = ProduceRequest(
            None, -1, timeout_ms, [TopicProduceData("orders", partition_data=data)]
        )
        frame = bytearray(encoded(request, 9))
        sent = Sent(frame)
        if not produce_one.quick(self.services, sent.pending, frame, 0):
            assert batches > 1, "one batch takes the short way"
            produce.handle(self.services, sent.pending, decode(ProduceRequest, 9, frame)[0])
        return sent

    def fetched(self, offset: int) -> None:
        """The other broker has all below."""
        fetch = FollowerFetch(OTHER, Offset(offset), LeaderEpoch(0))
        self.led.carry_out(self.led.leader.on_follower_fetch(fetch, self.clock.monotonic()))


class Sent(Visitor):
    """A request, and what was answered to it."""

    def __init__(self, frame: bytearray) -> None:
        self.pending = PendingRequest(self, 0, 9, 1, "app", frame, Micros(0), Micros(0))

    def outcome(self) -> Outcome | None:
        """Code and base offset of each batch; None as long as there is no answer."""
        if self.pending.chunks is None:
            return None
        frame = b"".join(cast("list[bytes]", self.pending.chunks))[4:]
        (topic,) = read_response(ProduceResponse, 9, frame)[1].responses
        return [(ErrorCode(row.error_code), row.base_offset) for row in topic.partition_responses]


def live(talk: Callable[[Producer], Coroutine[Any, Any, None]], **topic: str) -> None:
    """One conversation of a producer with a leader."""
    with Ground(orders=topic) as ground:

        async def main(replicas: ReplicaManager) -> None:
            await talk(Producer(ground, replicas))

        ground.live(main)


async def turns(clock: Clock, millis: int) -> None:
    """Time passes."""
    await clock.sleep_until(Millis(clock.monotonic() + millis))


@pytest.mark.parametrize("batches", [1, 2])
def test_acks_all_waits_for_every_member_of_the_in_sync_set(batches: int) -> None:
    """Written here is not committed: the answer comes when the other broker has it, too."""

    async def talk(producer: Producer) -> None:
        await producer.elect()
        sent = producer.send(batches)
        await turns(producer.clock, 10)
        assert sent.outcome() is None
        producer.fetched(batches)
        assert sent.outcome() == [(ErrorCode.NONE, offset) for offset in range(batches)]
        await turns(producer.clock, 5_000)  # the time-out has nothing to say any more

    live(talk)


@pytest.mark.parametrize("batches", [1, 2])
def test_a_producer_s_patience_ends(batches: int) -> None:
    """It is told so, and may not conclude that the records are lost."""

    async def talk(producer: Producer) -> None:
        await producer.elect()
        sent = producer.send(batches, timeout_ms=500)
        await turns(producer.clock, 400)
        assert sent.outcome() is None
        await turns(producer.clock, 200)
        assert sent.outcome() == [(ErrorCode.REQUEST_TIMED_OUT, -1)] * batches
        producer.fetched(batches)  # too late, and nobody is answered twice

    live(talk)


@pytest.mark.parametrize("batches", [1, 2])
def test_too_few_in_sync_replicas_refuse_before_anything_is_written(batches: int) -> None:
    """The producer knows that nothing of it is in the log."""

    async def talk(producer: Producer) -> None:
        await producer.elect(1)
        sent = producer.send(batches)
        assert sent.outcome() == [(ErrorCode.NOT_ENOUGH_REPLICAS, -1)] * batches
        assert producer.led.log.next_offset == 0

    live(talk, **{"min.insync.replicas": "2"})


@pytest.mark.parametrize("batches", [1, 2])
def test_a_leadership_that_ends_answers_those_who_wait(batches: int) -> None:
    """Whether their records stay is for the next leader to say."""

    async def talk(producer: Producer) -> None:
        await producer.elect()
        sent = producer.send(batches)
        await turns(producer.clock, 10)
        assert not await producer.replicas.apply_leader_and_isr([word(epoch=1, leader=None)])
        assert sent.outcome() == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)] * batches

    live(talk)


@pytest.mark.parametrize("batches", [1, 2])
def test_a_producer_that_goes_away_is_not_waited_for(batches: int) -> None:
    """Neither the time-out nor the commit answers a connection that is closed."""

    async def talk(producer: Producer) -> None:
        await producer.elect()
        sent = producer.send(batches, timeout_ms=100)
        await turns(producer.clock, 10)
        gone = sent.pending.on_gone
        assert gone is not None
        gone()
        await turns(producer.clock, 200)
        producer.fetched(batches)
        assert sent.outcome() is None

    live(talk)


@pytest.mark.parametrize("version", [7, 8, None])
def test_a_producer_learns_which_of_its_records_are_refused(version: int | None) -> None:
    """It fails those alone; versions before 8 have no place for them (KIP-467)."""
    records = [Record(0, 1_000, b"k", b""), Record(1, 1_000, None, b""), Record(2, 1, None, b"")]
    with Stage() as stage:
        stage.make("orders", cleanup_policy="compact")
        row = stage.client().produce_batch("orders", build_batch(records), version=version)
    assert row.error_code == ErrorCode.INVALID_RECORD
    refused = [] if version == 7 else [1, 2]
    assert [it.batch_index for it in row.record_errors] == refused
    assert all("no key" in str(it.batch_index_error_message) for it in row.record_errors)
