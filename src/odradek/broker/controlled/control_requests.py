"""What a controller asks of this broker, whether it comes by the network or from this process.

LeaderAndIsr, UpdateMetadata and StopReplica are carried out in the order in which they came, as
far as memory goes; the disks follow, and the answers wait for them. A request of an earlier
controller, or for an earlier life of this broker, is answered with an error and changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from odradek.broker.control.metadata_cache import MetadataCache, StaleBrokerEpoch
from odradek.broker.controlled import leader_and_isr, stop_replica, update_metadata
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import StopState
from odradek.broker.slices import in_turns
from odradek.controller.decisions.tree_changes import ALL_PATHS
from odradek.metadata.image import Changes
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
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


class Tree(Protocol):
    """What is to be known of ZooKeeper's tree before a request is carried out."""

    async def read_settings(self, topics: Mapping[str, TopicId]) -> None:
        """Of topics that are not known yet: before their logs are made."""
        ...

    async def gone(self, topics: list[str]) -> frozenset[str]:
        """Those that it does not have."""
        ...

    async def may_be_registered(self, broker_epoch: BrokerEpoch) -> bool:
        """Whether this broker may have registered with this epoch, and not have heard of it yet."""
        ...


class ControlRequests:
    """Serves them."""

    def __init__(self, cluster: MetadataCache, replicas: ReplicaManager, tree: Tree) -> None:
        self._cluster = cluster
        self.replicas = replicas
        self._tree = tree
        self._one_at_a_time = asyncio.Lock()
        self._unnamed: dict[str, None] = {}  # topics that the controller did not name
        self._unreadable: frozenset[str] = frozenset()  # of logs here; the tree has these

    async def serve(self, request: Request) -> Response:
        """The answer; a BrokerError refuses the request as a whole."""
        assert isinstance(request, ControlRequest), request
        epochs = ControllerEpoch(request.controller_epoch), BrokerEpoch(request.broker_epoch)
        answer: Awaitable[Response]
        async with self._one_at_a_time:
            await self._check_is_meant(epochs[1])
            self._cluster.check(*epochs)
            match request:
                case LeaderAndIsrRequest():
                    topics = {
                        topic.topic_name: TopicId(bytes(topic.topic_id))
                        for topic in request.topic_states
                    }
                    await self._tree.read_settings(topics)
                    self._cluster.check(*epochs)
                    answer = await in_turns(leader_and_isr.apply(self.replicas, request))
                    self._cluster.note_led(epochs[1])
                case UpdateMetadataRequest():
                    gone = await self._gone(request)
                    self._cluster.check(*epochs)
                    if await in_turns(update_metadata.apply(self._cluster, request, gone)):
                        left_over = self._left_over(request, gone)
                    else:
                        left_over = self._left_over_of_unreadable(request)
                    if not left_over:
                        return UpdateMetadataResponse()
                    answer = _after(self.replicas.stop(left_over), UpdateMetadataResponse())
                case StopReplicaRequest():
                    answer = stop_replica.apply(self.replicas, request)
        return await answer

    async def _check_is_meant(self, broker_epoch: BrokerEpoch) -> None:
        """Another broker may be registered with an address that leads here: it is meant then.

        The requests do not name it, and its roles are not to be taken for those of this one.
        """
        is_later = broker_epoch > self._cluster.broker_epoch
        if is_later and not await self._tree.may_be_registered(broker_epoch):
            mine = self._cluster.broker_epoch
            raise StaleBrokerEpoch(f"broker epoch {broker_epoch} is another's; this one has {mine}")

    async def _gone(self, request: UpdateMetadataRequest) -> Container[str]:
        """Topics that the whole metadata does not name, and the tree does not have.

        One that the tree has may be one that the controller cannot read: it stays as it is known.
        """
        epochs = ControllerEpoch(request.controller_epoch), BrokerEpoch(request.broker_epoch)
        if not self._cluster.begins_anew(request.type, *epochs):
            return ()
        self._unnamed = dict.fromkeys(update_metadata.unnamed(self._cluster.image, request))
        strays = update_metadata.strays(request, self.replicas, self._cluster.me).unnamed
        names = sorted({*self._unnamed, *(it.topic for it in strays)})
        return await self._tree.gone(names) if names else ()

    async def look_at_unnamed(self, changed: frozenset[str]) -> None:
        """ZooKeeper may have been away when it was to be asked for them: it is there again."""
        async with self._one_at_a_time:
            left = [it for it in self._unnamed if it in self._cluster.image.topics]
            if ALL_PATHS not in changed or not left:
                return
            changes = Changes(self._cluster.image)
            for name in await self._tree.gone(left):
                changes.remove_topic(name)
            self._cluster.update(changes.image())

    def _left_over(
        self, request: UpdateMetadataRequest, gone: Container[str]
    ) -> Mapping[TopicPartition, StopState]:
        """Replicas that the whole metadata does not give to this broker."""
        me = self._cluster.me
        removed = update_metadata.removed_meanwhile(request, self.replicas, me)
        strays = update_metadata.strays(request, self.replicas, me)
        unknown = [*strays.earlier, *(it for it in strays.unnamed if it.topic in gone)]
        self._unreadable = frozenset(it.topic for it in strays.unnamed if it.topic not in gone)
        return removed | update_metadata.set_aside(unknown)

    def _left_over_of_unreadable(
        self, request: UpdateMetadataRequest
    ) -> Mapping[TopicPartition, StopState]:
        """Likewise of topics that the controller could not read when it sent the whole."""
        if not self._unreadable.intersection(it.topic_name for it in request.topic_states):
            return {}
        removed = update_metadata.removed_meanwhile(request, self.replicas, self._cluster.me)
        return {it: how for it, how in removed.items() if it.topic in self._unreadable}

    async def serve_own(self, request: Request) -> Response:
        """A request of the controller in this process: an error is an answer there, too."""
        try:
            return await self.serve(request)
        except BrokerError as error:
            return REFUSALS[type(request)](request, 0, error.code, str(error))


async def _after(done: Awaitable[object], response: Response) -> Response:
    await done
    return response
