"""This broker's session with ZooKeeper: its registration, and news of the tree.

One task listens. An event says which part of the tree has changed, never what it is now, so that
part is read again. After a lost connection everything is read again; after an expired session
whatever rested on it ends first, then a new session begins, with a new registration. Nothing here
waits for a disk or for another broker: the controller's loop and the settings only hear of changes.

What may not be read or written any more ends no broker that runs: what was known holds on, and it
is tried again every ten seconds, because no event tells of an ACL. A start ends by it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import structlog

from odradek.broker.control.entities import entities
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.registration import CannotCoordinate, Registration
from odradek.broker.doors import Doors
from odradek.broker.settings import OF_CLIENTS, Settings
from odradek.config.derived import zookeeper_connection_timeout
from odradek.config.rows import zookeeper as rows
from odradek.config.secured import zookeeper_texts
from odradek.ensemble.access import way_to
from odradek.ensemble.chroot import make_chroot
from odradek.ensemble.client import News, ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.nouns import Broker
from odradek.metadata.znodes.admin import LogDirEventZnode
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.cluster import PERSISTENT_PATHS, ClusterIdZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsChangeZnode, SettingsZnode
from odradek.metadata.znodes.topic import TopicsZnode, TopicZnode
from odradek.model.ids import TopicId, topic_id_text
from odradek.model.positions import BrokerEpoch
from odradek.model.units import SECOND, Millis
from odradek.security.zookeeper_access import zookeeper_access
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
from odradek.zookeeper.client.session import CLOSING, Session, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import CreateMode, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data, StatReply
from odradek.zookeeper.protocol.jute_requests import Create, Exists, GetData, Request, Sync

ALL_PATHS: Final = "*"
"""Everything is to be looked at: the connection was lost, or a session is new."""
WAITING_LOOK: Final = Millis(SECOND)
RETRY_PAUSE: Final = Millis(10 * SECOND)
CLOSE_PATIENCE: Final = Millis(2 * SECOND)

log = structlog.get_logger()


class StartGivenUp(Exception):
    """The broker was asked to stop while its start waited for ZooKeeper."""


Task = Callable[[frozenset[str]], Awaitable[None]]
T = TypeVar("T")


class BrokerSession:
    """The session, from the broker's first connection to its last."""

    def __init__(
        self,
        connect: str,
        doors: Doors,
        settings: Settings,
        cluster: MetadataCache,
        *,
        is_given_up: Callable[[], bool],
    ) -> None:
        """`is_given_up`: whether the start has to end although ZooKeeper is not there."""
        config = settings.broker
        self._patience = config[rows.ZOOKEEPER_SESSION_TIMEOUT_MS]
        self._connect_patience = zookeeper_connection_timeout(config)
        self._connect = connect
        self._ensemble = Ensemble.parse(connect)
        asked = SessionSettings(
            timeout=self._patience,
            limits=PipelineLimits(
                in_flight_max=config[rows.ZOOKEEPER_MAX_IN_FLIGHT_REQUESTS],
                request_bytes_max=config[rows.JUTE_MAXBUFFER],
                reply_bytes_max=max(config[rows.JUTE_MAXBUFFER], REPLY_BYTES_MAX),
            ),
        )
        access = zookeeper_access(zookeeper_texts(config), doors.read_file)
        self._way = way_to(access, (doors.network, doors.random, doors.read_file), asked)
        session = Session(self._ensemble, doors.random, self._way.settings)
        self.client = ZooKeeperClient(session, self._way.network, doors.clock, self._on_news)
        self.on_change: list[Task] = []  # who looks at parts of the tree; in this order
        self.on_watch: list[Callable[[str], None]] = []  # at once, in ZooKeeper's order
        self.on_tree_changed: list[Callable[[frozenset[str]], None]] = []
        self.on_session_over: list[Callable[[], None]] = []
        self.has_looked = asyncio.Event()  # at everything, once
        self._is_given_up = is_given_up
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
        self._refused: dict[Task, frozenset[str]] = {}  # looks, and at what
        self._retry_at: Millis | None = None  # when what was refused is tried again
        self._settings_of: dict[str, TopicId] = {}  # topics whose settings were read
        self._unread: dict[str, TopicId] = {}  # those that were to be, while ZooKeeper was away

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
            except ConnectionLost:
                continue  # `_on_news` has said it
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
                if self._is_given_up():
                    raise StartGivenUp from None
            waited = self._doors.clock.monotonic() - begun
            tell = log.warning if waited < self._connect_patience else log.error
            tell(
                "zookeeper.awaited",
                servers=self._connect,
                millis=waited,
                reason=self.client.why_not,
            )

    async def register(self, broker: Broker) -> None:
        """From now on this broker is there for all to see."""
        self._broker = broker
        await self.insist(lambda: self._registration.register(broker))

    async def listen(self) -> None:
        """Looks at whatever changes, until it is cancelled or the session is closed."""
        self._look_at(ALL_PATHS)
        with suppress(SessionClosed):
            while True:
                try:
                    if await self._comes_news():
                        self._has_news.clear()
                        changed, self._changed = frozenset(self._changed), set()
                        await self._look_at_news(changed)
                    if self._is_due():
                        await self._try_again()
                except (ConnectionLost, SessionExpired):
                    await self._wait_for_connection()
                    self._look_at(ALL_PATHS)

    async def _look_at_news(self, changed: frozenset[str]) -> None:
        if self._is_over:
            await self._begin_session()
            changed = frozenset({ALL_PATHS})
        await self._take(self._stay_registered, changed)
        await self._take(self._report_failures, changed)
        for tree_changed in self.on_tree_changed:
            tree_changed(changed)
        for look in self.on_change:
            await self._take(look, changed)
        self.has_looked.set()

    async def _comes_news(self) -> bool:
        """Waits for some; not, if it is time to try again what ZooKeeper has refused."""
        now = self._doors.clock.monotonic()
        if not self._refused and not self._settings.unreadable:
            self._retry_at = None
        elif self._retry_at is None:
            self._retry_at = Millis(now + RETRY_PAUSE)
        left = None if self._retry_at is None else max(0, self._retry_at - now)
        try:
            async with asyncio.timeout(None if left is None else left / 1_000):
                await self._has_news.wait()
        except TimeoutError:
            return False
        return True

    def _is_due(self) -> bool:
        """Whether to try again, however much news there is."""
        return self._retry_at is not None and self._retry_at <= self._doors.clock.monotonic()

    async def _take(self, look: Task, changed: frozenset[str]) -> None:
        refused_before = self._refused.pop(look, None)
        try:
            await look(changed | (refused_before or frozenset()))
        except NoAuth as refusal:
            self._refused[look] = changed | (refused_before or frozenset())
            if refused_before is None:
                log.warning("zookeeper.refused", reason=str(refusal))

    async def _try_again(self) -> None:
        self._retry_at = None
        for look, changed in list(self._refused.items()):
            await self._take(look, changed)
        await self._read(list(self._settings.unreadable))

    async def close(self) -> None:
        """Ends the session, and the registration with it; a TimeoutError if no server answers."""
        async with asyncio.timeout(CLOSE_PATIENCE / 1_000):
            await self.client.close()

    # News

    def _on_news(self, news: News) -> None:
        if isinstance(news, WatchEvent):
            self._on_watch(news.path)
        elif news.status is Status.EXPIRED:
            self._is_over = True
            for over in self.on_session_over:
                over()
            self._has_news.set()
        elif news.status is Status.DISCONNECTED and news.reason != CLOSING:
            log.warning("zookeeper.interrupted", error=news.reason)
        elif news.status is Status.CONNECTED:
            self._on_watch(ALL_PATHS)

    def _on_watch(self, path: str) -> None:
        for watch in self.on_watch:
            watch(path)
        self._look_at(path)

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

    def report_log_dirs(self, _of: object = None) -> None:
        """A log dir has failed or was replaced: the controller is told, or once ZooKeeper is back.

        It asks for all replicas of this broker, and the answers say which are offline: so a replica
        that fails alone is told in the same way.
        """
        self._changed_dirs += 1
        self._has_news.set()

    async def _report_failures(self, _changed: frozenset[str]) -> None:
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
            doors, way = self._doors, self._way
            await make_chroot(
                self._ensemble, doors.random, way.network, doors.clock, settings=way.settings
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

    async def read_settings(self, topics: Mapping[str, TopicId]) -> None:
        """Those of topics that are not known yet: before their logs are made.

        What is known of the name may be those of an earlier topic, so they are known by the topic's
        id. A server that lags may not have heard of either: what it knows is asked for behind a
        sync, as is what the tree does not have.

        While ZooKeeper is away the brokers' defaults hold for them, but no record is deleted; once
        it is back all settings are read anew, so nothing is missed.
        """
        news = {name: it for name, it in topics.items() if self._settings_of.get(name) != it}
        if not news:
            return
        unknown = [Entity(EntityType.TOPICS, name) for name in news]
        for name in news:
            if name in self._settings_of:
                self._settings.forget_topic(name)  # they were those of an earlier one
        try:
            await self._read(unknown, behind=(Sync(TopicsZnode.PATH),))
            self._settings_of |= news
        except (ConnectionLost, SessionExpired, SessionClosed) as error:
            log.warning("settings.not_read", topics=len(unknown), error=str(error))
            self._unread |= news
            for name in news:
                self._settings.on_unread(name)

    async def gone(self, topics: list[str]) -> frozenset[str]:
        """Those that the tree does not have; none while ZooKeeper is away."""
        try:
            looks = [Exists(TopicZnode.path(name)) for name in topics]
            found = await self.client.batch([Sync(TopicsZnode.PATH), *looks], waits=False)
        except (ConnectionLost, SessionExpired, SessionClosed):
            return frozenset()
        answers = zip(topics, found[1:], strict=True)
        return frozenset(name for name, answer in answers if isinstance(answer, NoNode))

    async def may_be_registered(self, broker_epoch: BrokerEpoch) -> bool:
        """Whether the registration of this number has this epoch; yes while ZooKeeper is away."""
        path = BrokerZnode.path(self._cluster.me)
        try:
            _, found = await self.client.batch([Sync(path), Exists(path)], waits=False)
        except (ConnectionLost, SessionExpired, SessionClosed):
            return True
        return isinstance(found, StatReply) and found.stat.czxid == broker_epoch

    async def read_all_settings(self) -> None:
        """Everything that was set at run time: at a start, or after the connection was lost."""
        unread, self._unread = self._unread, {}
        await self.read_settings(unread)
        found, refusal = list[Entity](), None
        for kind in EntityType:
            try:
                of_kind = await entities(self.client, kind)
            except NoAuth as refused:  # those of this kind hold on
                refusal = refused
                continue
            found += of_kind
            if kind in OF_CLIENTS:
                self._settings.keep(kind, [it.name for it in of_kind])
        await self._read(found)
        if refusal is not None:
            raise refusal

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
            changed_here: dict[Entity, None] = {}
            for answer in answers:
                if isinstance(answer, Data):
                    try:
                        changed_here[SettingsChangeZnode.decode(answer.data)] = None
                    except MalformedZnode as fault:
                        log.warning("settings.change_ignored", reason=str(fault))
            await self._read(list(changed_here))
        self._changes_seen = max((self._changes_seen, *numbers))

    async def _read(self, wanted: list[Entity], behind: Sequence[Sync] = ()) -> None:
        reads = [GetData(SettingsZnode.path(entity)) for entity in wanted]
        answers = await self.client.batch([*behind, *reads])
        for entity, answer in zip(wanted, answers[len(behind) :], strict=True):
            if isinstance(answer, Data):
                try:
                    found = SettingsZnode.decode(entity, answer.data)
                    await self._settings.open_passwords(entity, found, self._doors.in_thread)
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
        if self._settings.unreadable.get(entity) != reason:
            log.warning("settings.ignored", entity=str(entity), reason=reason)
        self._settings.on_unreadable(entity, reason)


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1
