"""This broker's registration: made, kept, and altered while it lives.

The registration is watched. If it is deleted while this broker lives (the controller took its
process for dead), the broker registers again, with a new broker epoch; once it shuts down it never
does. A registration that a former life of this broker has left is replaced at once: it was made on
this host with the addresses that are bound by this process now, so no other process can hold them.
Any other registration of this number may be left from a former life at another address: if a broker
answers there the start is given up at once, else after the time that a session may last.
"""

from contextlib import suppress
from typing import Final

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.positions import BrokerEpoch
from odradek.model.units import SECOND, Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import ConnectionGone
from odradek.ports import Address, Clock, Network
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.zookeeper.client.errors import (
    BadVersion,
    NodeExists,
    NoNode,
    OperationError,
)
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute_replies import Data

REGISTRATION_LOOK: Final = Millis(SECOND // 2)
LIVES_PATIENCE: Final = Millis(2 * SECOND)

log = structlog.get_logger()


class CannotCoordinate(BrokerError):
    """ZooKeeper cannot be reached, or another broker lives under our number."""

    code = ErrorCode.BROKER_NOT_AVAILABLE


class Registration:
    """Of one broker, in whichever session it has."""

    def __init__(
        self,
        client: ZooKeeperClient,
        doors: tuple[Network, Clock],
        cluster: MetadataCache,
        patience: Millis,
    ) -> None:
        self._client = client
        self._network, self._clock = doors
        self._cluster = cluster
        self._patience = patience  # as long as a session may last

    async def keep(self, broker: Broker) -> None:
        """It may be gone, or say what is so no more. It is watched from now on."""
        path = BrokerZnode.path(broker.id)
        found = await self._client.exists(path, watch=True)
        if found is None or found.ephemeral_owner != self._client.session_id:
            log.warning("broker.registration_gone", broker=broker.id)
            await self.register(broker)
            await self._client.exists(path, watch=True)
            return
        if found.czxid != self._cluster.broker_epoch:  # it was made, but no answer came
            self._begin_life(found.czxid)
        with suppress(NoNode, BadVersion, MalformedZnode):  # the watch tells, or somebody mends it
            data = await self._client.get(path)
            is_preferred = BrokerZnode.decode(broker.id, data.data).is_preferred
            if is_preferred != broker.is_preferred:
                said = BrokerZnode.encode(broker, self._clock.wall())
                await self._client.set(path, said, data.stat.version)
                await self._client.exists(path, watch=True)

    async def register(self, broker: Broker) -> None:
        """From now on it is there for all to see."""
        path = BrokerZnode.path(broker.id)
        data = BrokerZnode.encode(broker, self._clock.wall())
        give_up = Millis(self._clock.monotonic() + self._patience + 2 * SECOND)
        while True:
            try:
                created = await self._client.create(path, data, mode=CreateMode.EPHEMERAL)
            except NodeExists:
                pass
            else:
                self._begin_life(created.stat.czxid)
                return
            if self._clock.monotonic() >= give_up:
                raise _is_taken(broker)
            try:
                found = await self._client.get(path)
            except NoNode:
                continue
            if found.stat.ephemeral_owner == self._client.session_id:
                self._begin_life(found.stat.czxid)
                return
            if not await self._takes_away_former_life(broker, found):
                if await self._lives(broker, found):
                    raise _is_taken(broker)
                await self._clock.sleep_until(Millis(self._clock.monotonic() + REGISTRATION_LOOK))

    async def _takes_away_former_life(self, broker: Broker, found: Data) -> bool:
        """Only a former life of this broker can have bound on this host what is bound now."""
        try:
            before = BrokerZnode.decode(broker.id, found.data)
        except MalformedZnode:
            return False
        if before.mark is None or broker.mark is None or not before.mark.is_of(broker.mark):
            return False
        if before.endpoints != broker.endpoints:
            return False
        log.info("broker.replaces_its_former_life", broker=broker.id)
        try:
            await self._client.delete(BrokerZnode.path(broker.id), found.stat.version)
        except OperationError as error:
            log.info("broker.not_replaced", error=str(error))
            return False
        return True

    async def _lives(self, broker: Broker, found: Data) -> bool:
        """Whether a process answers where the other registration says, if that is not here."""
        try:
            other = BrokerZnode.decode(broker.id, found.data)
        except MalformedZnode:
            return False
        here = {(it.host, it.port) for it in broker.endpoints}
        for address in dict.fromkeys((it.host, it.port) for it in other.endpoints):
            if address not in here and await self._answers(address):
                return True
        return False

    async def _answers(self, address: Address) -> bool:
        connection = Connection(self._clock, address, f"broker-{self._cluster.me}")
        try:
            await connection.open(self._network, LIVES_PATIENCE)
            await connection.ask(ApiVersionsRequest(), 0, timeout_ms=LIVES_PATIENCE)
        except ConnectionGone:
            return False
        finally:
            connection.close()
        return True

    def _begin_life(self, czxid: int) -> None:
        self._cluster.broker_epoch = BrokerEpoch(czxid)
        log.info("broker.registered", broker=self._cluster.me, broker_epoch=czxid)


def _is_taken(broker: Broker) -> CannotCoordinate:
    return CannotCoordinate(f"another broker is registered as {broker.id}, and lives elsewhere")
