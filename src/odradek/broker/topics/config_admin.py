"""Changes of settings that somebody asks for: of topics, of this broker, of all brokers.

They are checked against what holds here, and written to the tree under the version that was read,
together with their announcement; this broker acts on them at once, the others when they hear of it.
What this broker knows of topics may be old: a topic that the tree does not have, or has under
another id, gets no settings, or the next one of its name would have them. The znodes of that one
have the versions of before; so the change checks, too, that no topic has been deleted since.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.settings import OF_CLIENTS, Settings
from odradek.config.broker import BrokerConfig
from odradek.config.dynamic import check
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.settings import (
    Entity,
    EntityType,
    SettingsChangeZnode,
    SettingsZnode,
)
from odradek.metadata.znodes.topic import TopicsZnode, TopicZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.names import DEFAULT_ENTITY
from odradek.zookeeper.client.errors import BadVersion, MultiFailed, NodeExists, NoNode
from odradek.zookeeper.protocol.codes import ANY_VERSION, CreateMode, KeeperError
from odradek.zookeeper.protocol.jute_replies import Created2, StatReply
from odradek.zookeeper.protocol.jute_requests import Check, Create, Create2, SetData, WriteOp

TRIES_MAX: Final = 50
"""How often somebody else may have been faster; that may be a deletion of many topics."""
OVERTAKEN: Final = (BadVersion, NodeExists, NoNode)
"""How the tree refuses them where somebody else was."""
SET: Final = 0
CHECKED: Final = 2
DELETIONS: Final = 3
"""Places in the multi of a change: what is set, the news of it, whether its topic exists, and
whether no topic was deleted meanwhile."""
NO_TOPIC: Final = (ANY_VERSION, ANY_VERSION)
"""The versions to be checked where the settings are of something else."""

Change = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From what is set for an entity itself to what shall be; a BrokerError refuses it."""
TryOut = Callable[[BrokerConfig], Awaitable[None]]
"""Whether a broker could use what would hold, beyond the rules of single settings: its stores."""
log = structlog.get_logger()


class UnknownTopic(BrokerError):
    """There is no topic of this name to have settings."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class NotWritten(BrokerError):
    """ZooKeeper did not take the change; what is set may be the old or the new."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class ConfigAdmin:
    """Makes changes, one after the other."""

    def __init__(
        self,
        client: ZooKeeperClient,
        settings: Settings,
        cluster: MetadataCache,
        doors: Doors,
        *,
        try_out: TryOut,
    ) -> None:
        self._doors = doors
        self._try_out = try_out
        self._client = client
        self._settings = settings
        self._cluster = cluster
        self._one_at_a_time = asyncio.Lock()

    async def make(self, entity: Entity, change: Change, *, validate_only: bool) -> None:
        """Checks and makes one; raises why not."""
        async with self._one_at_a_time:
            try:
                for _ in range(TRIES_MAX):
                    if await self._try(entity, change, validate_only=validate_only):
                        return
            except KeeperError as error:
                raise NotWritten(f"{entity}: {error}") from error
        raise NotWritten(f"{entity}: others change it all the time")

    async def _try(self, entity: Entity, change: Change, *, validate_only: bool) -> bool:
        """The topic first: settings that are read behind it are its own, or a later topic's.

        The other way round they could be those of an earlier one, and be written into its heir.
        """
        path = SettingsZnode.path(entity)
        is_topic = entity.type is EntityType.TOPICS
        versions = await self._topic_versions(entity) if is_topic else NO_TOPIC
        try:
            found = await self._client.get(path)
        except NoNode:
            version, before = None, dict[str, str]()
        else:
            version, before = found.stat.version, SettingsZnode.decode(entity, found.data)
        in_thread = self._doors.in_thread
        await self._settings.open_passwords(entity, before, in_thread)
        wanted = change(before)
        await self._check(entity, wanted, before)
        after = dict(wanted)
        if entity.type is EntityType.BROKERS:
            hide = self._settings.passwords.hidden_beside
            after = await hide(wanted, before, self._doors.random.bytes, in_thread)
        if validate_only or after == before:
            return True
        try:
            results = await self._client.multi(_writes(entity, after, version, versions))
        except MultiFailed as failure:
            if failure.index == CHECKED and isinstance(failure.cause, NoNode):
                raise _unknown(entity) from failure
            if failure.index in {SET, CHECKED, DELETIONS} and isinstance(failure.cause, OVERTAKEN):
                return False
            raise
        names = sorted({it for it, _ in before.items() ^ after.items()})
        log.info("settings.altered", entity=str(entity), names=names)
        written = results[SET]
        assert isinstance(written, StatReply | Created2), written
        await self._settings.open_passwords(entity, after, in_thread)
        self._settings.on_entity(entity, after, written.stat.mzxid)
        return True

    async def encrypt_anew(self, me: BrokerId) -> None:
        """At a start: the passwords that the secret before the present one opens."""
        entity = Entity(EntityType.BROKERS, str(me))
        try:
            await self.make(entity, self._settings.passwords.with_new_secret, validate_only=False)
        except BrokerError as error:
            log.warning("passwords.not_encrypted_anew", reason=str(error))

    async def _topic_versions(self, entity: Entity) -> tuple[int, int]:
        """Of its znode, if that is the topic which is known here: else it is as if it were gone.

        And before that, of the znode above, which each deletion of a topic writes to.
        """
        deletions = (await self._client.get(TopicsZnode.PATH)).stat.version
        known = self._cluster.image.topics.get(entity.name)
        try:
            found = await self._client.get(TopicZnode.path(entity.name))
        except NoNode:
            raise _unknown(entity) from None
        topic_id = TopicZnode.decode(entity.name, found.data).topic_id
        if known is None or (None not in {known.topic_id, topic_id} and known.topic_id != topic_id):
            raise _unknown(entity)
        return found.stat.version, deletions

    async def _check(
        self, entity: Entity, after: Mapping[str, str], before: Mapping[str, str]
    ) -> None:
        config = self._settings.broker
        if entity.type is EntityType.TOPICS:
            if entity.name not in self._cluster.image.topics:
                raise _unknown(entity)
            config.topic_defaults.checked(after)
        elif entity.type in OF_CLIENTS:
            return  # who changes credentials and quotas has checked them
        elif entity.name == DEFAULT_ENTITY:
            await self._try_out(check(config, cluster=after))
        else:
            wanted = self._settings.passwords.as_wanted(after, before)
            await self._try_out(check(config, broker=wanted))


def _unknown(entity: Entity) -> UnknownTopic:
    return UnknownTopic(f"topic {entity.name!r} does not exist")


def _writes(
    entity: Entity, settings: Mapping[str, str], version: int | None, versions: tuple[int, int]
) -> list[WriteOp]:
    """In the order of the places above."""
    path, data = SettingsZnode.path(entity), SettingsZnode.encode(settings)
    news = SettingsChangeZnode.encode(entity)
    writes: list[WriteOp] = [
        Create2(path, data) if version is None else SetData(path, data, version),
        Create(SettingsChangeZnode.CREATE_PATH, news, mode=CreateMode.PERSISTENT_SEQUENTIAL),
    ]
    if entity.type is EntityType.TOPICS:
        topic_version, deletions = versions
        writes.append(Check(TopicZnode.path(entity.name), topic_version))
        writes.append(Check(TopicsZnode.PATH, deletions))
    return writes
