"""Fetches of one broker's partitions, without a network: requests go in, answers come out.

The partition `orders-0` has replicas on brokers 1, 2 and 3; this broker, 1, leads or follows it.
"""

from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.fetching.fetch_sessions import FetchSessions
from odradek.broker.fetching.pending_fetch import FetchDeps
from odradek.broker.fetching.pending_fetches import Fetches
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.network.refused_batches import RefusedBatches
from odradek.broker.network.session import Session
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.timers import Timers
from odradek.metadata.image import Changes
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, PartitionEpoch
from odradek.model.units import MIB, Bytes, Micros
from odradek.ports import Address, Clock, FileRange
from odradek.replication.leadership import Leadership
from odradek.replication.throttle import ReplicationThrottle
from odradek.security.principal import ANONYMOUS
from odradek.sim.doors.chance import SeededRandom
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from odradek.wire.schema import Response
from tests.unit.broker.ground import ME, ORDERS, TOPIC_ID, Appender, Ground, batch_of

B2, B3 = BrokerId(2), BrokerId(3)
LIFE = 40
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def brokers(*numbers: int) -> list[Broker]:
    """Registered, each in a rack of its own."""
    return [
        Broker(BrokerId(it), (), rack=f"rack-{it}", epoch=BrokerEpoch(LIFE + it)) for it in numbers
    ]


class Peer:
    """A connection that is open."""

    listener = "PLAINTEXT"
    software = ("", "")
    peer: Address = ("peer", 1)
    local: Address = ("broker", 9092)
    is_over = False
    principal = ANONYMOUS
    session: Session | None = None
    at_end: Callable[[], None] | None = None

    @cached_property
    def refused(self) -> RefusedBatches:
        """None yet."""
        return RefusedBatches()

    def close(self) -> None:
        """Does not happen."""
        raise AssertionError

    def waits(self, pending: PendingRequest) -> None:
        """Nothing to do."""

    def answered(self, pending: PendingRequest) -> None:
        """Nothing to do."""

    def hang_up(self, reason: str) -> None:
        """Does not happen."""
        raise AssertionError(reason)

    def hold(self) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""

    def note_bug(self, api: str, error: Exception) -> None:
        """Does not happen."""
        raise AssertionError(api) from error


class Asked(PendingRequest):
    """One fetch, and its answer."""

    def __init__(self, version: int) -> None:
        super().__init__(
            Peer(), FetchRequest.KEY, version, 1, "test", bytearray(), Micros(0), Micros(0)
        )
        self.response: FetchResponse | None = None

    def answer(self, response: Response) -> None:
        """Keeps it."""
        assert isinstance(response, FetchResponse)
        assert self.response is None
        self.response = response

    @property
    def answered(self) -> FetchResponse:
        """The answer, which must have come."""
        assert self.response is not None, "the fetch waits"
        return self.response

    @property
    def row(self) -> PartitionData:
        """The only partition of the answer."""
        ((row,),) = [topic.partitions for topic in self.answered.responses]
        return row


class Reading:
    """What a test talks to."""

    def __init__(self, replicas: ReplicaManager, clock: Clock, selector: str | None = None) -> None:
        self.replicas = replicas
        self.clock = clock
        self.cluster = MetadataCache()
        self.cluster.me = ME
        self.timers = Timers(clock)
        self.throttled: set[TopicPartition] = set()
        self.gone: list[BrokerId] = []  # followers whose connections have ended
        self.throttle = ReplicationThrottle(self.throttled.__contains__)
        deps = FetchDeps(
            replicas,
            self.cluster,
            self.timers,
            clock,
            Bytes(50 * MIB),
            self.on_corrupt,
            self.throttle,
            selector,
            None,
            self.gone.append,
        )
        self.fetches = Fetches(deps, FetchSessions(SeededRandom(1, "sessions"), 10))
        roles = replicas.roles
        roles.on_epoch += [self.fetches.on_role]
        roles.on_following += [self.fetches.on_role]
        self.cluster.watchers += [self.fetches.on_metadata]
        self.know(1, 2, 3)

    def on_corrupt(self, log: PartitionLog, corrupt: CorruptAt) -> None:
        """Nobody mends it here: the batch is not served."""
        log.corrupt = corrupt

    def know(self, *numbers: int) -> None:
        """These brokers are registered now."""
        changes = Changes(self.cluster.image).brokers(brokers(*numbers))
        self.cluster.update(changes.topic("orders", TOPIC_ID, {}).image())

    @property
    def led(self) -> LeadingReplica:
        """The partition."""
        return self.replicas.led(ORDERS)

    async def lead(
        self,
        *partitions: TopicPartition,
        epoch: int = 3,
        leader: int = 1,
        isr: tuple[BrokerId, ...] = (ME, B2, B3),
    ) -> None:
        """LeaderAndIsr."""
        three = (ME, B2, B3)
        leadership = Leadership(LeaderEpoch(epoch), PartitionEpoch(epoch), three, isr)
        states = [
            LeaderAndIsrState(it, TOPIC_ID, BrokerId(leader), leadership, is_new=True)
            for it in partitions or (ORDERS,)
        ]
        await self.replicas.apply_leader_and_isr(states)

    async def append(self, *values: str, partition: TopicPartition = ORDERS) -> None:
        """One batch, written when this returns."""
        appender = Appender(self.replicas.led(partition))
        appender.append(batch_of(*values))
        while not appender.told:
            await self.turn()

    async def turn(self) -> None:
        """A moment passes."""
        await self.clock.sleep_until(self.clock.monotonic() + 1)  # type: ignore[arg-type]

    def ask(self, request: FetchRequest, version: int = 17) -> Asked:
        """A request arrives."""
        asked = Asked(version)
        self.fetches.begin(asked, request)
        return asked

    def follow(self, broker: int, offset: int, *, last_epoch: int = 3, **how: int) -> Asked:
        """A follower fetches, without a session."""
        wanted = FetchPartition(
            0,
            how.get("epoch", 3),
            offset,
            last_epoch if offset else -1,
            how.get("start", 0),
            how.get("bytes_max", 1 << 20),
        )
        request = FetchRequest(
            replica_state=ReplicaState(broker, how.get("life", LIFE + broker)),
            max_wait_ms=how.get("wait", 0),
            min_bytes=1,
            topics=[FetchTopic("", TOPIC_ID, [wanted])],
        )
        return self.ask(request)

    def consume(self, offset: int, *, rack: str = "", **how: int) -> Asked:
        """A consumer fetches, without a session."""
        wanted = FetchPartition(0, -1, offset, how.get("last_epoch", -1), -1, 1 << 20)
        request = FetchRequest(
            max_wait_ms=how.get("wait", 0),
            min_bytes=1,
            topics=[FetchTopic("", TOPIC_ID, [wanted])],
            rack_id=rack,
        )
        return self.ask(request)


Talk = Callable[[Reading], Coroutine[Any, Any, None]]


def live(talk: Talk, selector: str | None = None) -> None:
    """One life of the broker."""
    with Ground() as ground:

        async def main(replicas: ReplicaManager) -> None:
            reading = Reading(replicas, ground.machine.clock, selector)
            await talk(reading)

        ground.live(main)


def size(row: PartitionData) -> int:
    """Of the records."""
    return sum(chunk.length for chunk in row.records or () if isinstance(chunk, FileRange))
