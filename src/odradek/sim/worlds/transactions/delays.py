"""Requests of producers that are on their way for long, and arrive in a later transaction.

A client whose request is not answered sends it again on another connection, and goes on; the first
one may still arrive. Here a copy of a request is kept back, most often until its transaction has
ended, and sent then. Of a batch that is kept back the client may have given up: it aborts.

In version 1 of transactions a broker cannot tell an EndTxn or a TxnOffsetCommit of the transaction
before from one of this (KAFKA-17754), so those are late in version 2 alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.connection import Connection
from odradek.client.coordinators import GROUP
from odradek.client.records.transactional_producer import V1, Versions
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.ports import Address
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.stage.machine import Machine
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import ProduceRequest
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from odradek.wire.schema import Request

LATE_IN_V1: tuple[type[Request], ...] = (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
LATE_IN_V2: Final = (*LATE_IN_V1, EndTxnRequest, TxnOffsetCommitRequest)
LATE_ONE_IN: Final = 8
GIVEN_UP_ONE_IN: Final = 2
"""Of late batches: how many the client does not send again."""
FOLLOWS_THE_END_ONE_IN: Final = 4
"""So many requests to one that is late by a time of its own; others follow the end."""
LATE_SECONDS_MAX: Final = 10
DOUBLINGS: Final = 8  # of 20 ms: how long after the end, each magnitude as likely as any other

Send = Callable[[Cluster], Awaitable[object]]


class GivenUp(BrokerError):
    """The client does not wait for this batch any more."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class DelayingCluster(Cluster):
    """The cluster, by connections on which requests may take long."""

    def __init__(
        self, machine: Machine, bootstrap: Sequence[Address], name: str, chance: SeededRandom
    ) -> None:
        super().__init__(ClientDeps(machine.network, machine.clock), bootstrap, name)
        self._machine = machine
        self._addresses = bootstrap
        self._chance = chance
        self._late: tuple[type[Request], ...] = ()
        self._end = asyncio.Event()
        self._on_the_way: list[asyncio.Task[None]] = []

    def delay(self, versions: Versions) -> None:
        """What may be late, from now on."""
        self._late = LATE_IN_V1 if versions == V1 else LATE_IN_V2

    async def leader(self, partition: TopicPartition) -> Connection:
        """Batches may be late."""
        connection = await super().leader(partition)
        return cast("Connection", _Delaying(self, connection, partition))

    async def ask_coordinator(  # noqa: D102 - as there
        self, name: str, request: Request, kind: int = GROUP, **options: Any
    ) -> Any:
        if self.is_late(request):
            version = options.get("version")

            async def send(cluster: Cluster) -> None:
                await (await cluster.coordinator(name, kind)).ask(request, version)

            self.send_later(send)
        answer = await super().ask_coordinator(name, request, kind, **options)
        if isinstance(request, EndTxnRequest):
            self._end.set()
            self._end = asyncio.Event()
        return answer

    def is_late(self, request: Request) -> bool:
        """Whether this one is."""
        return isinstance(request, self._late) and self._chance.one_in(LATE_ONE_IN)

    def gives_up(self) -> bool:
        """Whether the client does."""
        return self._chance.one_in(GIVEN_UP_ONE_IN)

    def send_later(self, send: Send) -> None:
        """It is on its way, also if this process is gone by then."""
        self._on_the_way.append(self._machine.spawn(self._deliver(send, self._end)))

    async def _deliver(self, send: Send, end: asyncio.Event) -> None:
        cluster = Cluster(self.world, self._addresses, "late")
        try:
            async with asyncio.timeout(LATE_SECONDS_MAX):
                if not self._chance.one_in(FOLLOWS_THE_END_ONE_IN):
                    await end.wait()
                clock = self.world.clock
                pause = self._chance.below(20 << self._chance.below(DOUBLINGS))
                await clock.sleep_until(Millis(clock.monotonic() + pause))
                await send(cluster)
        except (BrokerError, TimeoutError):
            return  # no client is told
        finally:
            cluster.close()


class _Delaying:
    """A connection to the leader of a partition."""

    def __init__(
        self, cluster: DelayingCluster, connection: Connection, partition: TopicPartition
    ) -> None:
        self._cluster = cluster
        self._connection = connection
        self._partition = partition

    async def ask(self, request: Request, version: int | None = None) -> Any:
        """Now, or later as well, or only later."""
        if self._cluster.is_late(request):

            async def send(cluster: Cluster) -> None:
                await (await cluster.leader(self._partition)).ask(request, version)

            self._cluster.send_later(send)
            if self._cluster.gives_up():
                raise GivenUp("no answer has come")
        return await self._connection.ask(request, version)
