"""What holds now: the broker's own settings, those changed at run time, and those of topics.

The tree says what was changed (`broker_session` reads it and tells here); what acts on a setting
watches, and takes over the new value at once. Several read and write it at the same time: which of
two is newer say the transactions that wrote them.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol

import structlog

from odradek.broker.passwords import InThread, Passwords
from odradek.config.broker import BrokerConfig
from odradek.config.dynamic import update
from odradek.config.setting import BrokerSetting
from odradek.config.topic import TopicConfig
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.ids import NO_BROKER
from odradek.model.names import DEFAULT_ENTITY

KEEPS_ALL: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""Settings of a topic whose own cannot be read."""
OF_CLIENTS: Final = frozenset({EntityType.USERS, EntityType.CLIENTS, EntityType.IPS})
"""What has credentials and quotas, and no settings of the broker."""

BrokerWatcher = Callable[[tuple[BrokerSetting[object], ...]], None]
ClientListener = Callable[[Entity, Mapping[str, str]], None]
log = structlog.get_logger()


class SettingsSource(Protocol):
    """What holds now."""

    @property
    def broker(self) -> BrokerConfig:
        """For this broker."""
        ...

    def topic(self, name: str) -> TopicConfig:
        """For one topic."""
        ...


class Settings:
    """All that this broker acts on."""

    def __init__(
        self, static: BrokerConfig, on_client: ClientListener = lambda _entity, _texts: None
    ) -> None:
        """`on_client`: who hears of quotas of a user or a client id."""
        self.broker = static
        self.passwords = Passwords(static)
        self.me = NO_BROKER  # until it has its number
        self.broker_watchers: list[BrokerWatcher] = []
        self.topic_watchers: list[Callable[[str], None]] = []
        self._tell_client = on_client
        self.unreadable: dict[Entity, str] = {}  # why those in the tree are not known
        self._overrides: dict[Entity, Mapping[str, str]] = {}
        self._written_at: dict[Entity, int] = {}  # the transactions that wrote them (mzxid)
        self._topics: dict[str, TopicConfig] = {}  # those with settings of their own

    def topic(self, name: str) -> TopicConfig:
        """For one topic; all that say nothing share one object."""
        return self._topics.get(name, self.broker.topic_defaults)

    @property
    def topics(self) -> Mapping[str, TopicConfig]:
        """Those that have settings of their own."""
        return self._topics

    def overrides(self, entity: Entity) -> Mapping[str, str]:
        """What is set for an entity itself."""
        return self._overrides.get(entity, {})

    def knows(self, entity: Entity) -> bool:
        """Whether its settings were read."""
        return entity in self._overrides

    async def open_passwords(
        self, entity: Entity, texts: Mapping[str, str], in_thread: InThread
    ) -> None:
        """Before `on_entity`, so that it does not hold up the loop."""
        if entity == Entity(EntityType.BROKERS, str(self.me)):
            await self.passwords.open_beside(texts, in_thread)

    def on_entity(
        self, entity: Entity, texts: Mapping[str, str], written_at: int | None = None
    ) -> None:
        """These are its settings from now on, unless what is known was written later.

        None: they were found missing, or were written by who says so.
        """
        self.unreadable.pop(entity, None)
        if written_at is not None:
            if written_at < self._written_at.get(entity, written_at):
                return
            self._written_at[entity] = written_at
        if self._overrides.get(entity) == texts:
            return
        self._overrides[entity] = texts
        if entity.type is EntityType.TOPICS:
            self._on_topic(entity.name, texts)
        elif entity == Entity(EntityType.BROKERS, DEFAULT_ENTITY):
            self._on_broker(cluster=texts)
        elif entity == Entity(EntityType.BROKERS, str(self.me)):
            revealed, faults = self.passwords.revealed(texts)
            for fault in faults:
                log.warning("broker.setting_ignored", reason=fault)
            self._on_broker(broker=revealed)
        elif entity.type in OF_CLIENTS:
            self._tell_client(entity, texts)

    def on_unreadable(self, entity: Entity, why: str) -> None:
        """What was known holds on; where nothing was, no record of a topic is deleted."""
        self.unreadable[entity] = why
        if entity.type is EntityType.TOPICS and not self.knows(entity):
            self._keep_all(entity.name, {})

    def on_unread(self, name: str) -> None:
        """ZooKeeper is away: what is known may be of an earlier topic of the name.

        It is better than nothing, but no record is deleted by it.
        """
        entity, known = Entity(EntityType.TOPICS, name), self.topic(name).overrides
        self._overrides.pop(entity, None)
        self._written_at.pop(entity, None)
        self._keep_all(name, known)

    def _keep_all(self, topic: str, known: Mapping[str, str]) -> None:
        kept = {**known, **KEEPS_ALL}
        self._topics[topic] = self.broker.topic_defaults.with_overrides(kept)[0]
        for watcher in self.topic_watchers:
            watcher(topic)

    def keep(self, kind: EntityType, names: Collection[str]) -> None:
        """These are all that the tree has: others can log in no more, or have no quota."""
        kept = frozenset(names)
        for entity in [it for it in self._overrides if it.type is kind]:
            if entity.name not in kept:
                self._overrides.pop(entity)
                self._written_at.pop(entity, None)
                self._tell_client(entity, {})

    def forget_topic(self, name: str) -> None:
        """The topic is gone."""
        entity = Entity(EntityType.TOPICS, name)
        self.unreadable.pop(entity, None)
        self._overrides.pop(entity, None)
        self._written_at.pop(entity, None)
        self._topics.pop(name, None)

    def _on_topic(self, name: str, texts: Mapping[str, str]) -> None:
        config, findings = self.broker.topic_defaults.with_overrides(texts)
        for finding in findings:
            log.warning("topic.setting_ignored", topic=name, reason=finding.sentence)
        if texts:
            self._topics[name] = config
        else:
            self._topics.pop(name, None)
        for watcher in self.topic_watchers:
            watcher(name)

    def _on_broker(
        self, *, cluster: Mapping[str, str] | None = None, broker: Mapping[str, str] | None = None
    ) -> None:
        updated = update(self.broker, cluster=cluster, broker=broker)
        for finding in updated.findings:
            log.warning("broker.setting_ignored", reason=finding.sentence)
        if not updated.changed:
            return
        self.broker = updated.config
        for name, config in list(self._topics.items()):
            self._topics[name] = self.broker.topic_defaults.with_overrides(config.overrides)[0]
        for watcher in self.broker_watchers:
            watcher(updated.changed)
