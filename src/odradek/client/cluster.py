"""The cluster as a client sees it: connections by broker, leaders by partition, and patience.

What is known of leaders is believed until somebody answers that it is otherwise; then it is asked
for anew, and the request is sent again, as long as the client's patience lasts and the error is one
that trying again can mend.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from odradek.client.cluster_metadata import BrokerEndpoint, ClusterMetadata
from odradek.client.connection import Connection
from odradek.client.coordinators import (
    COORDINATOR_VERSION,
    GROUP,
    check_coordinator,
    find_coordinator,
    read_coordinator,
)
from odradek.client.errors import NoLeader, check
from odradek.client.retries import PATIENCE, Retries
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Millis
from odradek.peers.errors import ConnectionGone
from odradek.ports import Address, Clock, Network
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.wire.schema import Request

T = TypeVar("T")


class ClientDeps(NamedTuple):
    """What a client needs of the world."""

    network: Network
    clock: Clock


class Cluster:
    """A client's connections and what it has learned; close it in the end."""

    def __init__(
        self, world: ClientDeps, bootstrap: Sequence[Address], client_id: str = "odradek"
    ) -> None:
        self.world = world
        self.metadata = ClusterMetadata()
        self._bootstrap = tuple(bootstrap)
        self._client_id = client_id
        self._coordinators: dict[tuple[str, int], Address] = {}  # by name and kind
        self._connections: dict[Address, Connection] = {}
        self._dialling: dict[Address, asyncio.Lock] = {}

    @property
    def brokers(self) -> Mapping[BrokerId, BrokerEndpoint]:
        """All that are known, by their ids."""
        return self.metadata.brokers

    def close(self) -> None:
        """Closes every connection."""
        for connection in self._connections.values():
            connection.close()

    # Whom to ask

    async def connection(self, address: Address) -> Connection:
        """To this broker; made once, and again when it is gone."""
        async with self._dialling.setdefault(address, asyncio.Lock()):
            found = self._connections.get(address)
            if found is None or not found.is_open:
                found = await Connection.open(*self.world, address, self._client_id)
                self._connections[address] = found
            return found

    async def any(self) -> Connection:
        """The first broker that answers, in the order in which they are known."""
        gone = ConnectionGone("no broker is known")
        known = (it.address for it in self.brokers.values())
        try:
            for address in dict.fromkeys((*known, *self._bootstrap)):
                try:
                    return await self.connection(address)
                except ConnectionGone as error:
                    gone = error
            raise gone
        finally:
            del gone  # it holds this frame, which would hold it, and all that lies between

    async def broker(self, broker: BrokerId) -> Connection:
        """One broker."""
        if broker not in self.brokers:
            await self.refresh([])
        endpoint = self.brokers.get(broker)
        if endpoint is None:
            raise ConnectionGone(f"broker {broker} is not there")
        return await self.connection(endpoint.address)

    async def controller(self) -> Connection:
        """Who decides on topics; while another is elected it is waited for."""

        async def attempt() -> Connection:
            await self.refresh([])
            return await self.broker(self.metadata.controller)

        return await self.patiently(attempt)

    async def leader(self, partition: TopicPartition) -> Connection:
        """Who leads a partition, as far as is known."""
        return await self.broker(await self.leader_id(partition))

    async def leader_id(self, partition: TopicPartition) -> BrokerId:
        """Its number; asked for where it is not known."""
        try:
            return self.metadata.leader(partition)
        except NoLeader:
            await self.refresh([partition.topic])
            return self.metadata.leader(partition)

    async def coordinator(self, name: str, kind: int = GROUP) -> Connection:
        """Who coordinates a group, or a transactional id, as far as is known."""
        address = self._coordinators.get((name, kind))
        if address is None:
            connection = await self.any()
            answer = await connection.ask(find_coordinator(name, kind), COORDINATOR_VERSION)
            address = self._coordinators[name, kind] = read_coordinator(answer)
        return await self.connection(address)

    # Metadata

    async def refresh(
        self, topics: Sequence[str] | None, *, make: bool = False
    ) -> MetadataResponse:
        """Asks who is there, and about these topics; None: about all."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        connection = await self.any()
        answer: MetadataResponse = await connection.ask(
            MetadataRequest(topics=wanted, allow_auto_topic_creation=make)
        )
        self.metadata = self.metadata.after(answer)
        return answer

    async def decided(self) -> MetadataResponse:
        """All, as the controller's broker knows it: it hears first of what the controller does.

        Another broker may not know a topic yet that was answered to be there.
        """

        async def attempt() -> MetadataResponse:
            connection = await self.controller()
            asked = self.metadata.controller
            answer: MetadataResponse = await connection.ask(
                MetadataRequest(topics=None, allow_auto_topic_creation=False)
            )
            self.metadata = self.metadata.after(answer)
            if answer.controller_id != asked:
                check(ErrorCode.NOT_CONTROLLER, about=f"broker {asked}")
            return answer

        return await self.patiently(attempt)

    async def learn(self, topics: Iterable[str]) -> None:
        """Asks for those of these topics that are not known."""
        unknown = sorted({it for it in topics if it not in self.metadata.topics})
        if unknown:
            await self.refresh(unknown)

    async def topic(self, name: str, *, make: bool = False) -> MetadataResponseTopic:
        """One topic; raises what the cluster says of it otherwise."""
        answer = await self.refresh([name], make=make)
        (topic,) = answer.topics
        check(topic.error_code, about=f"topic {name!r}")
        return topic

    def forget(self, topic: str) -> None:
        """What is known of it was wrong."""
        self.metadata = self.metadata.without_topic(topic)

    # Patience

    async def patiently(
        self, attempt: Callable[[], Awaitable[T]], patience: Millis = PATIENCE
    ) -> T:
        """Tries again while that can help, and somebody has the patience."""
        clock = self.world.clock
        retries = Retries(clock.monotonic(), patience)
        while True:
            try:
                return await attempt()
            except BrokerError as error:
                now = clock.monotonic()
                pause = retries.pause_after(error, now)
                if isinstance(error, ConnectionGone):  # what that broker led, another may lead
                    self.metadata = self.metadata.of_topics(frozenset())
            await clock.sleep_until(Millis(now + pause))

    async def ask_coordinator(
        self,
        name: str,
        request: Request,
        kind: int = GROUP,
        *,
        version: int | None = None,
        checked: Callable[[Any], None] = check_coordinator,
    ) -> Any:
        """Asks the coordinator of a group, or of a transactional id, wherever it moves.

        `checked` raises what the answer refuses; what can be mended by asking again is asked again.
        """

        async def attempt() -> Any:
            try:
                answer = await (await self.coordinator(name, kind)).ask(request, version)
                checked(answer)
            except BrokerError:
                self._coordinators.pop((name, kind), None)
                raise
            return answer

        return await self.patiently(attempt)
