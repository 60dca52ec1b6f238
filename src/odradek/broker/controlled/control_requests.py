"""What a controller asks of this broker, whether it comes by the network or from this process.

LeaderAndIsr, UpdateMetadata and StopReplica are carried out in the order in which they came, as
far as memory goes; the disks follow, and the answers wait for them. A request of an earlier
controller, or for an earlier life of this broker, is answered with an error and changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.controlled import leader_and_isr, stop_replica, update_metadata
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.slices import in_turns
from odradek.controller.messages import FULL
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.positions import BrokerEpoch, ControllerEpoch
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.wire.schema import Request, Response

ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
Refuse = Callable[[Any, int, ErrorCode, str], Response]
REFUSALS: Final[Mapping[type[Request], Refuse]] = MappingProxyType(
    {
        LeaderAndIsrRequest: leader_and_isr.refuse,
        UpdateMetadataRequest: update_metadata.refuse,
        StopReplicaRequest: stop_replica.refuse,
    }
)
ReadSettings = Callable[[list[str]], Awaitable[None]]


class ControlRequests:
    """Serves them."""

    def __init__(
        self, cluster: MetadataCache, replicas: ReplicaManager, read_settings: ReadSettings
    ) -> None:
        """`read_settings` reads those of topics that are not known yet, before logs are made."""
        self._cluster = cluster
        self.replicas = replicas
        self._read_settings = read_settings
        self._one_at_a_time = asyncio.Lock()

    async def serve(self, request: Request) -> Response:
        """The answer; a BrokerError refuses the request as a whole."""
        assert isinstance(request, ControlRequest), request
        epochs = ControllerEpoch(request.controller_epoch), BrokerEpoch(request.broker_epoch)
        answer: Awaitable[Response]
        async with self._one_at_a_time:
            self._cluster.check(*epochs)
            match request:
                case LeaderAndIsrRequest():
                    await self._read_settings([topic.topic_name for topic in request.topic_states])
                    self._cluster.check(*epochs)
                    answer = await in_turns(leader_and_isr.apply(self.replicas, request))
                case UpdateMetadataRequest():
                    response = await in_turns(update_metadata.apply(self._cluster, request))
                    if request.type != FULL:
                        return response
                    removed = update_metadata.removed_meanwhile(
                        request, self.replicas, self._cluster.me
                    )
                    answer = _after(self.replicas.stop(removed), response)
                case StopReplicaRequest():
                    answer = stop_replica.apply(self.replicas, request)
        return await answer

    async def serve_own(self, request: Request) -> Response:
        """A request of the controller in this process: an error is an answer there, too."""
        try:
            return await self.serve(request)
        except BrokerError as error:
            return REFUSALS[type(request)](request, 0, error.code, str(error))


async def _after(done: Awaitable[object], response: Response) -> Response:
    await done
    return response
