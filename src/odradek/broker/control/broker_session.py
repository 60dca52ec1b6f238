"""This broker's session with ZooKeeper: its registration, and news of the tree.

One task listens. An event says which part of the tree has changed, never what it is now, so that
part is read again. After a lost connection everything is read again; after an expired session
whatever rested on it ends first, then a new session begins, with a new registration. Nothing here
waits for a disk or for another broker: the controller's loop and the settings only hear of changes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.registration import CannotCoordinate, Registration
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.derived import zookeeper_connection_timeout
from odradek.config.rows import zookeeper as rows
from odradek.ensemble.chroot import make_chroot
from odradek.ensemble.client import News, ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.admin import LogDirEventZnode
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.cluster import PERSISTENT_PATHS, ClusterIdZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsChangeZnode, SettingsZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.ids import TopicId, topic_id_text
from odradek.model.units import SECOND, Millis
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import (
    ConnectionLost,
    MultiFailed,
    NoAuth,
    NodeExists,
    NoNode,
    SessionClosed,
    SessionExpired,
)
from odradek.zookeeper.client.pipeline import REPLY_BYTES_MAX, PipelineLimits
from odradek.zookeeper.client.session import Session, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import CreateMode, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create, Exists, GetData, Request

ALL_PATHS: Final = "*"
"""Everything is to be looked at: the connection was lost, or a session is new."""
WAITING_LOOK: Final = Millis(SECOND)
CLOSE_PATIENCE: Final = Millis(2 * SECOND)

log = structlog.get_logger()


class StartGivenUp(Exception):
    """The broker was asked to stop while its start waited for ZooKeeper."""


Task = Callable[[frozenset[str]], Awaitable[None]]
T = TypeVar("T")


class BrokerSession:
    """The session, from the broker's first connection to its last."""

    def __init__(
        self, connect: str, doors: Doors, settings: Settings, cluster: MetadataCache
    ) -> None:
        config = settings.broker
        self._patience = config[rows.ZOOKEEPER_SESSION_TIMEOUT_MS]
        self._connect_patience = zookeeper_connection_timeout(config)
        self._connect = connect
        self._ensemble = Ensemble.parse(connect)
        self._session_settings = SessionSettings(
            timeout=self._patience,
            limits=PipelineLimits(
                in_flight_max=config[rows.ZOOKEEPER_MAX_IN_FLIGHT_REQUESTS],
                request_bytes_max=config[rows.JUTE_MAXBUFFER],
                reply_bytes_max=max(config[rows.JUTE_MAXBUFFER], REPLY_BYTES_MAX),
            ),
        )
        session = Session(self._ensemble, doors.random, self._session_settings)
        self.client = ZooKeeperClient(session, doors.network, doors.clock, self._on_news)
        self.on_change: list[Task] = []  # who looks at parts of the tree; in this order
        self.on_watch: Callable[[str], None] = lambda _: None  # at once, in ZooKeeper's order
        self.on_tree_changed: Callable[[frozenset[str]], None] = lambda _: None
        self.on_session_over: list[Callable[[], None]] = []
        self.has_looked = asyncio.Event()  # at everything, once
        self.is_given_up: Callable[[], bool] = lambda: False  # whether the start has to end
        self.kinds_of_settings = [EntityType.BROKERS, EntityType.TOPICS]
        self._doors = doors
        self._settings = settings
        self._cluster = cluster
        peers = (doors.network, doors.clock)
        self._registration = Registration(self.client, peers, cluster, self._patience)
        self._broker: Broker | None = None  # as it is registered
        self._changed: set[str] = set()
        self._has_news = asyncio.Event()
        self._is_over = False  # a session expired, and that was not dealt with yet
        self._is_closing = False  # it registers no more
        self._changed_dirs = 0  # that the controller was not told of
        self._changes_seen = -1  # the number of the last change of settings that was read

    # Start and stop

    async def connect(self, tasks: asyncio.TaskGroup) -> None:
        """A session, the paths that every cluster has, its id, and the settings that were made."""
        tasks.create_task(self.client.run())
        self.client.begin()
        await self.insist(self._prepare)

    async def insist(self, step: Callable[[], Awaitable[T]]) -> T:
        """Takes a step of the start, and again if the connection or the session ends meanwhile.

        A ZooKeeper that cannot be reached is waited for; what it refuses ends the start.
        """
        while True:
            try:
                await self._reached()
                return await step()
            except ConnectionLost as error:
                log.warning("zookeeper.interrupted", error=str(error))
            except SessionExpired:  # the start took long, or the machine stood still
                await self._begin_session()
            except KeeperError as error:
                raise CannotCoordinate(f"ZooKeeper: {error}") from error

    async def _reached(self) -> None:
        """Returns once one may act; says each second that it waits."""
        begun = self._doors.clock.monotonic()
        while True:
            try:
                async with asyncio.timeout(WAITING_LOOK / 1_000):
                    return await self.client.connected()
            except TimeoutError:
                if self.is_given_up():
                    raise StartGivenUp from None
            waited = self._doors.clock.monotonic() - begun
            tell = log.warning if waited < self._connect_patience else log.error
            tell("zookeeper.awaited", servers=self._connect, millis=waited)

    async def register(self, broker: Broker) -> None:
        """From now on this broker is there for all to see."""
        self._broker = broker
        await self.insist(lambda: self._registration.register(broker))

    async def listen(self) -> None:
        """Looks at whatever changes, until it is cancelled or the session is closed."""
        self._look_at(ALL_PATHS)
        with suppress(SessionClosed):
            while True:
                await self._has_news.wait()
                self._has_news.clear()
                changed, self._changed = frozenset(self._changed), set()
                try:
                    await self._look_at_news(changed)
                except (ConnectionLost, SessionExpired) as error:
                    log.warning("zookeeper.interrupted", error=str(error))
                    await self._wait_for_connection()
                    self._look_at(ALL_PATHS)

    async def _look_at_news(self, changed: frozenset[str]) -> None:
        if self._is_over:
            await self._begin_session()
            changed = frozenset({ALL_PATHS})
        await self._stay_registered(changed)
        await self._report_failures()
        self.on_tree_changed(changed)
        for look in self.on_change:
            await look(changed)
        self.has_looked.set()

    async def close(self) -> None:
        """Ends the session, and the registration with it; a TimeoutError if nobody answers."""
        async with asyncio.timeout(CLOSE_PATIENCE / 1_000):
            await self.client.close()

    # News

    def _on_news(self, news: News) -> None:
        if isinstance(news, WatchEvent):
            self.on_watch(news.path)
            self._look_at(news.path)
        elif news.status is Status.EXPIRED:
            self._is_over = True
            for over in self.on_session_over:
                over()
            self._has_news.set()
        elif news.status is Status.CONNECTED:
            self.on_watch(ALL_PATHS)
            self._look_at(ALL_PATHS)

    def _look_at(self, path: str) -> None:
        self._changed.add(path)
        self._has_news.set()

    def prefer(self, *, is_preferred: bool) -> None:
        """This broker shall be the controller while it can, or need not: its registration says."""
        broker = self._broker
        if broker is not None and broker.mark is not None:
            mark = broker.mark._replace(is_preferred=is_preferred)
            self._broker = broker._replace(mark=mark)
            self._look_at(BrokerZnode.path(broker.id))

    async def _stay_registered(self, changed: frozenset[str]) -> None:
        """Registers again if the registration is gone, unless this broker shuts down."""
        broker = self._broker
        if (
            broker is None
            or self._is_closing
            or not {ALL_PATHS, BrokerZnode.path(broker.id)} & changed
        ):
            return
        await self._registration.keep(broker)

    def report_log_dirs(self) -> None:
        """A log dir has failed or was replaced: the controller is told, or once ZooKeeper is back.

        It asks for all replicas of this broker, and the answers say which are offline: so a replica
        that fails alone is told in the same way.
        """
        self._changed_dirs += 1
        self._has_news.set()

    async def _report_failures(self) -> None:
        """One event tells of all dirs: the controller asks for every replica of this broker."""
        if not self._changed_dirs or self._broker is None:
            return
        reported = self._changed_dirs
        data = LogDirEventZnode.encode(self._broker.id)
        mode = CreateMode.PERSISTENT_SEQUENTIAL
        await self.client.create(LogDirEventZnode.CREATE_PATH, data, mode=mode)
        self._changed_dirs -= reported

    def stop_registering(self) -> None:
        """This broker shuts down: from now on it does not register again."""
        self._is_closing = True

    async def _begin_session(self) -> None:
        """Once it was heard that the one before is over."""
        while not self._is_over:  # noqa: ASYNC110 - the news is on its way
            await asyncio.sleep(0)
        self._is_over = False
        log.warning("zookeeper.session_expired")
        self.client.begin()
        await self.client.connected()

    async def _wait_for_connection(self) -> None:
        """Or for the news that the session is over: what rested on it ends first."""
        while not self._is_over:
            try:
                await self.client.connected()
            except SessionExpired:
                await asyncio.sleep(0)  # the news is on its way
            else:
                return

    # The tree at a start

    async def _prepare(self) -> None:
        try:
            await self._make_paths()
        except NoNode:  # not even what they are below
            doors, settings = self._doors, self._session_settings
            await make_chroot(
                self._ensemble, doors.random, doors.network, doors.clock, settings=settings
            )
            await self._make_paths()
        self._cluster.cluster_id = await self._cluster_id()

    async def _make_paths(self) -> None:
        paths: dict[str, None] = {}
        for path in (*PERSISTENT_PATHS, ClusterIdZnode.PATH.rpartition("/")[0]):
            parts = path.split("/")
            paths |= dict.fromkeys("/".join(parts[:end]) for end in range(2, len(parts) + 1))
        creates: list[Request] = [Create(path, None, OPEN_ACL) for path in paths]
        for answer in await self.client.batch(creates):
            if isinstance(answer, KeeperError) and not isinstance(answer, NodeExists):
                raise answer

    async def _cluster_id(self) -> str:
        """The first broker draws it."""
        drawn = topic_id_text(TopicId(self._doors.random.bytes(16)))
        try:
            await self.client.create(ClusterIdZnode.PATH, ClusterIdZnode.encode(drawn))
        except NodeExists:
            found = await self.client.get(ClusterIdZnode.PATH)
            return ClusterIdZnode.decode(found.data)
        return drawn

    # Settings

    async def read_settings(self, topics: list[str]) -> None:
        """Those of topics that are not known yet: before their logs are made.

        While ZooKeeper is away the brokers' defaults hold for them, but no record is deleted; once
        it is back all settings are read anew, so nothing is missed.
        """
        wanted = [Entity(EntityType.TOPICS, name) for name in topics]
        unknown = [it for it in wanted if not self._settings.knows(it)]
        if not unknown:
            return
        try:
            await self._read(unknown)
        except (ConnectionLost, SessionExpired, SessionClosed) as error:
            log.warning("settings.not_read", topics=len(unknown), error=str(error))
            for entity in unknown:
                self._settings.on_unreadable(entity)

    async def gone(self, topics: list[str]) -> frozenset[str]:
        """Those that the tree does not have; none while ZooKeeper is away."""
        try:
            looks = [Exists(TopicZnode.path(name)) for name in topics]
            found = await self.client.batch(looks, waits=False)
        except (ConnectionLost, SessionExpired, SessionClosed):
            return frozenset()
        answers = zip(topics, found, strict=True)
        return frozenset(name for name, answer in answers if isinstance(answer, NoNode))

    async def read_all_settings(self) -> None:
        """Everything that was set at run time: at a start, or after the connection was lost."""
        entities = []
        for kind in self.kinds_of_settings:
            children = await self.client.children(SettingsZnode.parent(kind))
            entities += [Entity(kind, name) for name in sorted(children.names)]
            if kind is EntityType.USERS:
                self._settings.keep_users(children.names)
        await self._read(entities)

    async def look_at_changes(self, changed: frozenset[str]) -> None:
        """Changes are announced below one node, numbered; each is read once."""
        if not {ALL_PATHS, SettingsChangeZnode.PARENT} & changed:
            return
        children = await self.client.children(SettingsChangeZnode.PARENT, watch=True)
        numbers = {_number(name): name for name in children.names}
        news = [name for number, name in sorted(numbers.items()) if number > self._changes_seen]
        if ALL_PATHS in changed:
            await self.read_all_settings()
        elif news:
            paths = [f"{SettingsChangeZnode.PARENT}/{name}" for name in news]
            answers = await self.client.batch([GetData(path) for path in paths])
            entities: dict[Entity, None] = {}
            for answer in answers:
                if isinstance(answer, Data):
                    try:
                        entities[SettingsChangeZnode.decode(answer.data)] = None
                    except MalformedZnode as fault:
                        log.warning("settings.change_ignored", reason=str(fault))
            await self._read(list(entities))
        self._changes_seen = max((self._changes_seen, *numbers))

    async def _read(self, entities: list[Entity]) -> None:
        paths = [SettingsZnode.path(entity) for entity in entities]
        answers = await self.client.batch([GetData(path) for path in paths])
        for entity, answer in zip(entities, answers, strict=True):
            if isinstance(answer, Data):
                try:
                    found = SettingsZnode.decode(entity, answer.data)
                    self._settings.on_entity(entity, found, answer.stat.mzxid)
                except MalformedZnode as fault:
                    self._ignore(entity, str(fault))
            elif isinstance(answer, NoAuth):
                self._ignore(entity, str(answer))
            elif isinstance(answer, NoNode):
                self._settings.on_entity(entity, {})
            elif isinstance(answer, KeeperError | MultiFailed):
                raise answer

    def _ignore(self, entity: Entity, reason: str) -> None:
        log.warning("settings.ignored", entity=str(entity), reason=reason)
        self._settings.on_unreadable(entity)


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1
