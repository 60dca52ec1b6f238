"""This broker's turns as controller: the shell around `controller.Controller`.

It competes for /controller, reads the whole tree, and from then on deals with one event after the
other: looks at what has changed, asks the mind what follows, writes that, and tells brokers. When
anything is in doubt (the connection was lost, another has raised the epoch) it resigns at once;
what was written stands, and the next controller reads it.

Messages to this broker are handed to the very functions that serve them from the network. Other
brokers are not talked to yet: a message to one is noted and dropped.
"""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from odradek.broker.control.broker_session import ALL_PATHS
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.rows import broker as rows
from odradek.config.rows import topic as topic_rows
from odradek.controller.candidacy import (
    Bid,
    ControllerLease,
    Lost,
    decide_bid,
    decide_outcome,
    epoch_creation,
)
from odradek.controller.controller import Controller, Effects
from odradek.controller.guarded_writes import GuardedWrites, StateWrite
from odradek.controller.messages import message
from odradek.controller.tree_reading import TreeReading
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker, PartitionState, TopicAssignment
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import (
    PartitionStateZnode,
    PartitionZnode,
    TopicsZnode,
    TopicZnode,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.stop_replica import StopReplicaResponse
from odradek.wire.schema import Request, Response
from odradek.zookeeper.client.errors import ConnectionLost, MultiFailed, NoNode, OperationError
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperError
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Check, Delete, GetData, Multi

Deliver = Callable[[Request], Awaitable[Response]]

log = structlog.get_logger()


class ControllerLoop:
    """Whether this broker is the controller, and what it does as such."""

    def __init__(
        self, client: ZooKeeperClient, doors: Doors, settings: Settings, cluster: MetadataCache
    ) -> None:
        self.controller: Controller | None = None  # while this broker is
        self.deliver: Deliver | None = None  # to this broker itself
        self._client = client
        self._doors = doors
        self._settings = settings
        self._cluster = cluster
        self._me = cluster.me

    def resign(self) -> None:
        """Stops acting, at once."""
        if self.controller is not None:
            log.info("controller.resigned", epoch=self.controller.mandate.epoch)
            self.controller = None

    async def look(self, changed: frozenset[str]) -> None:
        """The tree has changed here; everything, if it says so."""
        try:
            if ALL_PATHS in changed or ControllerZnode.PATH in changed:
                await self._elect(anew=ALL_PATHS in changed)
            if self.controller is not None:
                await self._act_on(self.controller, changed)
        except OperationError:
            self.resign()
            raise

    # Becoming

    async def _elect(self, *, anew: bool) -> None:
        """Competes, unless somebody is; with `anew` even if it is ourselves: all is read again."""
        if self.controller is not None and not anew:
            owner = await self._client.exists(ControllerZnode.PATH, watch=True)
            if owner is not None and owner.ephemeral_owner == self._client.session_id:
                return
        self.resign()
        while True:
            controller, epoch = await self._both()
            if controller is not None and self._is_our_past(controller):
                await self._clear(controller)
                continue
            bid = decide_bid(self._me, controller, epoch, self._doors.clock.wall())
            outcome = await self._bid(bid) if isinstance(bid, Bid) else bid
            if isinstance(outcome, ControllerLease):
                await self._begin(outcome)
                return
            if outcome.controller is not None:
                log.info("controller.is_another", controller=outcome.controller)
                return

    async def _both(self) -> tuple[Data | None, Data]:
        """The two znodes; the first is watched, whether it is there or not."""
        controller = None
        if await self._client.exists(ControllerZnode.PATH, watch=True) is not None:
            try:
                controller = await self._client.get(ControllerZnode.PATH)
            except NoNode:
                controller = None
        try:
            epoch = await self._client.get(ControllerEpochZnode.PATH)
        except NoNode:
            (answer,) = await self._client.batch([epoch_creation()])
            if isinstance(answer, ConnectionLost):
                raise answer from None  # whoever listens looks again, once it is back
            epoch = await self._client.get(ControllerEpochZnode.PATH)
        return controller, epoch

    def _is_our_past(self, controller: Data) -> bool:
        """A former life of ours: our registration has replaced it, so it lives no more."""
        return ControllerZnode.decode(controller.data) == self._me

    async def _clear(self, controller: Data) -> None:
        try:
            await self._client.delete(ControllerZnode.PATH, controller.stat.version)
        except NoNode:
            log.debug("controller.was_gone")

    async def _bid(self, bid: Bid) -> ControllerLease | Lost:
        try:
            await self._client.multi(bid.multi.ops)
        except (MultiFailed, ConnectionLost):
            controller, epoch = await self._both()
            return decide_outcome(bid, controller, epoch, session_id=self._client.session_id)
        return bid.mandate

    async def _begin(self, mandate: ControllerLease) -> None:
        """Reads all, and tells everybody."""
        reading = TreeReading()
        while requests := reading.requests():
            reading.on_answers(await self._client.batch(requests))
        for fault in reading.faults:
            log.error("controller.ignores", fault=fault)
        deleting = await self._marked()
        self.controller = controller = Controller(
            mandate,
            reading.image(),
            unclean=self._is_unclean,
            may_delete=self._settings.broker[rows.DELETE_TOPIC_ENABLE],
        )
        log.info("controller.elected", epoch=mandate.epoch, topics=len(controller.image.topics))
        await self._perform(controller, controller.begin(deleting))

    def _is_unclean(self, topic: str) -> bool:
        return self._settings.topic(topic)[topic_rows.UNCLEAN_LEADER_ELECTION_ENABLE]

    # Acting

    async def _act_on(self, controller: Controller, changed: frozenset[str]) -> None:
        """Brokers before topics, or a new topic would find nobody to live on."""
        if any(path.startswith(BrokerIdsZnode.PATH) for path in changed):
            await self._perform(controller, controller.on_brokers(await self._brokers()))
        topics = [path for path in changed if path.startswith(f"{TopicsZnode.PATH}/")]
        names = [path.removeprefix(f"{TopicsZnode.PATH}/") for path in sorted(topics)]
        if TopicsZnode.PATH in changed:
            names += await self._new_and_gone(controller)
        if names:
            found = await self._topics(list(dict.fromkeys(names)))
            await self._perform(controller, controller.on_topics(found))
        if DeleteTopicZnode.PARENT in changed:
            await self._perform(controller, controller.on_deletions(await self._marked()))

    async def _brokers(self) -> list[Broker]:
        children = await self._client.children(BrokerIdsZnode.PATH, watch=True)
        ids = [BrokerIdsZnode.decode_name(name) for name in sorted(children.names)]
        reads = [GetData(BrokerZnode.path(broker), watch=True) for broker in ids]
        found = []
        for broker, answer in zip(ids, await self._client.batch(reads), strict=True):
            if isinstance(answer, Data):
                found.append(BrokerZnode.decode(broker, answer.data, czxid=answer.stat.czxid))
            elif not isinstance(answer, NoNode):
                _raise(answer)
        return found

    async def _new_and_gone(self, controller: Controller) -> list[str]:
        children = await self._client.children(TopicsZnode.PATH, watch=True)
        there, known = set(children.names), controller.image.topics.keys()
        return sorted((there - known) | (known - there))

    async def _topics(self, names: Sequence[str]) -> dict[str, TopicAssignment | None]:
        reads = [GetData(TopicZnode.path(name), watch=True) for name in names]
        found: dict[str, TopicAssignment | None] = {}
        for name, answer in zip(names, await self._client.batch(reads), strict=True):
            if isinstance(answer, Data):
                try:
                    found[name] = TopicZnode.decode(name, answer.data)
                except MalformedZnode as fault:
                    log.error("controller.ignores", fault=str(fault))
            elif isinstance(answer, NoNode):
                found[name] = None
            else:
                _raise(answer)
        return found

    async def _marked(self) -> list[str]:
        children = await self._client.children(DeleteTopicZnode.PARENT, watch=True)
        return [DeleteTopicZnode.decode_name(name) for name in sorted(children.names)]

    async def _perform(self, controller: Controller, effects: Effects) -> None:
        """From top to bottom; what follows from one thing is done before the next."""
        for effect in effects.messages:
            request = message(self._me, controller, effect)
            response = await self._tell(effect.broker, request)
            if isinstance(response, StopReplicaResponse):
                outcomes = _outcomes(response)
                follow = controller.on_stopped(effect.broker, outcomes)
                await self._perform(controller, follow)
        if effects.writes:
            await self._write(controller, effects.writes)
        for name in effects.forget:
            await self._forget(controller, name)
        for name in effects.unmark:
            await self._client.batch([Delete(DeleteTopicZnode.path(name), ANY_VERSION)])
        for fault in controller.faults:
            log.error("controller.illegal_step", fault=fault)
        controller.faults.clear()

    async def _tell(self, broker: BrokerId, request: Request) -> Response | None:
        if broker != self._me or self.deliver is None:
            log.warning("controller.message_dropped", broker=broker, kind=type(request).__name__)
            return None
        return await self.deliver(request)

    async def _write(self, controller: Controller, writes: Sequence[StateWrite]) -> None:
        rounds = GuardedWrites(controller.mandate, writes)
        while requests := rounds.requests():
            rounds.on_answers(await self._client.batch(requests))
        if rounds.written:
            await self._perform(controller, controller.on_written(rounds.written))
        if rounds.stopped is not None:
            log.warning("controller.deposed", reason=rounds.stopped)
            self.resign()
            return
        for write, reason in rounds.failed:
            log.warning("controller.write_failed", partition=str(write.partition), reason=reason)
        if rounds.failed:
            states = await self._states([write.partition for write, _ in rounds.failed])
            await self._perform(controller, controller.on_states(states))

    async def _states(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, PartitionState]:
        reads = [GetData(PartitionStateZnode.path(partition)) for partition in partitions]
        found = {}
        for partition, answer in zip(partitions, await self._client.batch(reads), strict=True):
            if isinstance(answer, Data):
                found[partition] = PartitionStateZnode.decode(
                    partition, answer.data, answer.stat.version
                )
        return found

    # Forgetting a topic

    async def _forget(self, controller: Controller, name: str) -> None:
        """Its znodes from below, then its settings, and the mark at last."""
        topic = controller.image.topics[name]
        paths: list[str] = []
        for number in topic.partitions:
            partition = TopicPartition(name, number)
            paths += [PartitionStateZnode.path(partition), PartitionZnode.path(partition)]
        paths += [
            PartitionZnode.parent(name),
            TopicZnode.path(name),
            SettingsZnode.path(Entity(EntityType.TOPICS, name)),
            DeleteTopicZnode.path(name),
        ]
        guard = Check(ControllerEpochZnode.PATH, controller.mandate.epoch_version)
        deletes = [Delete(path, ANY_VERSION) for path in paths]
        for multi in self._client.packed(deletes, guard=(guard,)):
            (answer,) = await self._client.batch([multi])
            if isinstance(answer, MultiFailed) and answer.index:
                await self._forget_singly(guard, [delete.path for delete in multi.ops[1:]])
            elif isinstance(answer, KeeperError):
                log.warning("controller.topic_not_forgotten", topic=name, reason=str(answer))
                self.resign()
                return
        controller.on_forgotten(name)
        self._settings.forget_topic(name)
        log.info("topic.deleted", topic=name)

    async def _forget_singly(self, guard: Check, paths: Sequence[str]) -> None:
        """Some of them are gone already."""
        multis = [Multi((guard, Delete(path, ANY_VERSION))) for path in paths]
        for answer in await self._client.batch(multis):
            gone = isinstance(answer, MultiFailed) and isinstance(answer.cause, NoNode)
            if isinstance(answer, KeeperError) and not gone:
                log.warning("controller.znode_stays", reason=str(answer))


def _outcomes(response: StopReplicaResponse) -> dict[TopicPartition, ErrorCode]:
    return {
        TopicPartition(row.topic_name, row.partition_index): ErrorCode(row.error_code)
        for row in response.partition_errors
    }


def _raise(answer: object) -> None:
    if isinstance(answer, KeeperError):
        raise answer
