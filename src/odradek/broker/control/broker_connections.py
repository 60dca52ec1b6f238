"""What this broker asks of others, besides fetching: one connection to each, opened when needed.

Versions are those of `inter.broker.protocol.version`, never negotiated. A connection that ends is
opened anew by the next request; nothing is sent twice by itself, so the caller knows that a request
which failed was sent once at most.
"""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.model.ids import BrokerId
from odradek.peers.connection import Connection
from odradek.peers.errors import NotConnected
from odradek.ports import Address, Clock, Network
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.wire.messages.alter_partition import AlterPartitionRequest
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest
from odradek.wire.messages.create_topics import CreateTopicsRequest
from odradek.wire.messages.odradek_admin import OdradekAdminRequest
from odradek.wire.schema import Request, Response

VERSIONS: Final[Mapping[int, int]] = MappingProxyType(
    {
        AddPartitionsToTxnRequest.KEY: 5,
        AllocateProducerIdsRequest.KEY: 0,
        AlterPartitionRequest.KEY: 3,
        ControlledShutdownRequest.KEY: 3,
        CreateTopicsRequest.KEY: 7,
        OdradekAdminRequest.KEY: 0,
    }
)
"""As Kafka 3.9 speaks among brokers; the last is ours."""


class BrokerConnections:
    """Asks any broker by its inter-broker listener."""

    def __init__(
        self, cluster: MetadataCache, network: Network, clock: Clock, listener: str
    ) -> None:
        self._cluster = cluster
        self._network = network
        self._clock = clock
        self._listener = listener
        self._open: dict[BrokerId, Connection] = {}
        self._opening: dict[BrokerId, asyncio.Lock] = {}  # one that is away holds up no other

    async def ask(self, broker: BrokerId, request: Request, version: int | None = None) -> Response:
        """The answer; a ConnectionGone says that there is none."""
        connection = await self._connection(broker)
        known = VERSIONS[request.KEY] if version is None else version
        response: Response = await connection.ask(request, known)
        return response

    async def _connection(self, broker: BrokerId) -> Connection:
        """One to the present address of the broker."""
        async with self._opening.setdefault(broker, asyncio.Lock()):
            address = self._address(broker)
            known = self._open.get(broker)
            if known is not None and known.is_open and known.address == address:
                return known
            if known is not None:
                known.close()
            connection = Connection(self._clock, address, f"broker-{self._cluster.me}")
            self._open[broker] = await connection.open(self._network)
            return connection

    def _address(self, broker: BrokerId) -> Address:
        registered = self._cluster.image.brokers.get(broker)
        endpoint = None if registered is None else registered.endpoint(self._listener)
        if endpoint is None:
            raise NotConnected(f"broker {broker} has no {self._listener} listener now")
        return endpoint.host, endpoint.port

    def close(self) -> None:
        """Ends them all."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()
