"""One broker from its start to its stop; its parts are made and listed in `parts`.

It starts from below: ZooKeeper, if it runs here; the session; the logs; the ports; the
registration; and once the controller has spoken of this broker, it is open for business. It stops
from above (`stopping`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import cache, partial

import structlog

from odradek.access.decisions import Decisions
from odradek.broker import apis
from odradek.broker.access.access_rules import AccessRules
from odradek.broker.access.audit import Audit, audit_of
from odradek.broker.control.broker_session import BrokerSession, StartGivenUp
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.features import LEVEL_MAX
from odradek.broker.control.identity import number_of, sign_dirs, take_dirs
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.dispatch import Dispatch
from odradek.broker.doors import Doors
from odradek.broker.embedded_zookeeper import connect_string, start_zookeeper
from odradek.broker.figures.broker_pages import READY, BrokerPages
from odradek.broker.figures.idleness import Idleness
from odradek.broker.figures.metrics import Kept
from odradek.broker.figures.pages import PageServer
from odradek.broker.figures.request_times import RequestTimes
from odradek.broker.handlers import api_versions
from odradek.broker.listeners import listen
from odradek.broker.network.authentication import Authentication
from odradek.broker.network.certificates import Certificates
from odradek.broker.network.login import ListenersSecurity
from odradek.broker.network.socket_server import (
    ListenerDeps,
    SocketServer,
    not_audited,
    nothing_to_tell,
)
from odradek.broker.network.token_keys import TokenKeys
from odradek.broker.network.token_sources import token_source
from odradek.broker.parts import Ground, Parts
from odradek.broker.services import Services
from odradek.broker.settings import Settings
from odradek.broker.stopping import Stopping
from odradek.broker.timers import Timers
from odradek.config.broker import BrokerConfig
from odradek.config.derived import zookeeper_is_embedded
from odradek.config.listeners import SecurityProtocol
from odradek.config.rows import broker as broker_rows
from odradek.config.rows import controller as controller_rows
from odradek.config.rows import security as security_rows
from odradek.config.secured import between_brokers
from odradek.config.setting import BrokerSetting
from odradek.ensemble.server import ZookeeperServer
from odradek.metadata.nouns import Broker as Registered
from odradek.metadata.nouns import BrokerMark, Endpoint
from odradek.peers.secured_network import SecuredNetwork
from odradek.security.addresses import reader
from odradek.storage.dirs.log_dirs import LogDirs, WentOffline
from odradek.storage.errors import AllDirsFailed

log = structlog.get_logger()


class Broker:
    """One life of a broker."""

    def __init__(self, config: BrokerConfig, doors: Doors) -> None:
        self.config = config
        self.doors = doors
        self.cluster = MetadataCache()
        self.timers = Timers(doors.clock)
        self.times = RequestTimes(doors.clock)
        self.idleness = Idleness(doors.clock)
        self.socket_server = SocketServer(
            config,
            doors,
            self.timers,
            api_versions=cache(partial(api_versions.table, apis.OFFERED.values())),
            on_answer=self.times.answered,
        )
        self.settings = Settings(config, self.socket_server.quotas.on_entity)
        self.pages = PageServer(doors.network, doors.clock, self.timers)
        self._certificates = Certificates(doors.read_file)
        self._token_keys = TokenKeys(reader(doors.read_file, doors.read_https), doors.clock)
        self._authentication = Authentication(
            self.settings,
            doors.random,
            self._certificates,
            read=doors.read_file,
            keys=self._token_keys,
            new_source=partial(token_source, doors),
        )
        self._rules: AccessRules | None = None  # where an authorizer is configured
        self._audit: Audit | None = None  # where `audit.log` is set
        self._security: ListenersSecurity = {}  # once the certificates are read
        self._peers = doors.network  # by which other brokers are reached
        self._parts: Parts | None = None  # once its logs are open
        self.is_ready = False  # traffic is accepted
        self._stopping = asyncio.Event()
        self._failure: Exception | None = None  # why it stops, if it does by itself
        self._zookeeper: ZookeeperServer | None = None
        self._running: list[asyncio.Task[None]] = []  # until the stop

    @property
    def services(self) -> Services | None:
        """What handlers use, once it has started."""
        return None if self._parts is None else self._parts.services

    @property
    def services_of_this_life(self) -> Services:
        """Likewise, where it has started."""
        return self._parts_of_this_life.services

    @property
    def _parts_of_this_life(self) -> Parts:
        assert self._parts is not None, "it has not started"
        return self._parts

    def stop(self) -> None:
        """Asks it to stop, in good order."""
        self._stopping.set()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Runs until it is asked to stop, or can serve no more, which is then raised."""
        async with asyncio.TaskGroup() as tasks:
            self.settings.passwords.check()
            self._certificates.load(self.config, admin_alone=self.settings.passwords.may_be_kept)
            await self._token_keys.load_beside(self.config)
            await self._authentication.ready(self.config)
            shown = BrokerPages(self.pages, self._state, self._kept, self._certificates)
            await shown.listen(self.config, tasks)  # probes learn that it lives, before all else
            if zookeeper_is_embedded(self.config):
                self._zookeeper = await start_zookeeper(self.config, self.doors)
                self._running.append(tasks.create_task(self._zookeeper.serve()))
            where = connect_string(self.config, self._zookeeper)
            coordination = BrokerSession(
                where,
                self.doors,
                self.settings,
                self.cluster,
                is_given_up=self._stopping.is_set,
            )
            self._secure(coordination)
            self._audit = audit_of(self.config, self.doors, self.timers)
            dirs = await take_dirs(self.doors)
            try:
                await coordination.connect(tasks)
                await self._learn_its_number(dirs, coordination)
                await self._start(coordination, dirs, tasks)
            except StartGivenUp:
                await self._give_up(coordination)
                self._close()
                return
            except Exception:
                await self._give_up(coordination)
                raise
            self._running.append(tasks.create_task(coordination.listen()))
            opening = tasks.create_task(self._open(coordination, ready))
            maintenance = self._parts_of_this_life.hosting.maintenance.start()
            await self._stopping.wait()
            for task in maintenance:
                task.cancel()
            opening.cancel()
            await asyncio.gather(*maintenance, return_exceptions=True)
            await self._stop()
        if self._failure is not None:
            raise self._failure

    # Start

    def _secure(self, coordination: BrokerSession) -> None:
        """Listeners and connections to other brokers, where the settings ask for it."""
        config, network = self.config, self.doors.network
        if config[broker_rows.AUTHORIZER_CLASS_NAME]:
            super_users = config[broker_rows.SUPER_USERS]
            decisions = Decisions(
                super_users=super_users,
                everyone_if_no_rule=config[broker_rows.ALLOW_EVERYONE_IF_NO_ACL_FOUND],
            )
            self._rules = AccessRules(coordination.client, decisions)
        self._certificates.tell_ends(self.doors.clock.wall())
        self._security = self._authentication.listeners(config)
        if between_brokers(config) is not SecurityProtocol.PLAINTEXT:
            self._peers = SecuredNetwork(network, self._authentication.outgoing(config))

    def _listener_deps(self, dispatch: Dispatch) -> ListenerDeps:
        """The listeners; a log of who comes, where one is written."""
        if self._audit is None:
            return ListenerDeps(dispatch.on_frame, self._security, nothing_to_tell, not_audited)
        audit = self._audit
        return ListenerDeps(dispatch.on_frame, self._security, audit.named, audit.login_refused)

    def _kept(self) -> Kept | None:
        """What the page of metrics is made of, once it has started."""
        if self._parts is None:
            return None
        is_controller = self.cluster.image.controller == self.cluster.me
        services, isr_changes = self._parts.services, self._parts.hosting.isr_changes
        return Kept(services, self.times, self.idleness, isr_changes, is_controller)

    def _state(self) -> str:
        """In a word, for probes."""
        if self.is_ready:
            return READY
        return "stopping" if self._stopping.is_set() else "starting"

    async def _learn_its_number(self, dirs: LogDirs, coordination: BrokerSession) -> None:
        me = await coordination.insist(lambda: number_of(self.config, dirs, coordination.client))
        await sign_dirs(self.doors, dirs, me, self.cluster.cluster_id)
        self.settings.me = self.cluster.me = me
        if self._audit is not None:
            self._audit.broker = me

    async def _start(
        self, coordination: BrokerSession, dirs: LogDirs, tasks: asyncio.TaskGroup
    ) -> None:
        """Everything up to the registration."""
        await coordination.insist(coordination.read_all_settings)
        if self.settings.passwords.may_be_kept:
            self._certificates.load(self.settings.broker)
            self._certificates.tell_ends(self.doors.clock.wall())
        if self._rules is not None:
            await coordination.insist(self._rules.begin)
        self._authentication.belong_to(self.config, self.cluster.cluster_id)
        parts = Parts(self._ground(coordination, dirs, tasks))
        listen(parts, self._on_settings, partial(self._on_dir_failed, dirs))
        await parts.hosting.replicas.open()
        self._parts = parts
        if self.config.is_set(security_rows.PASSWORD_ENCODER_OLD_SECRET):
            await parts.services.config_admin.encrypt_anew(self.cluster.me)
        endpoints = await self.socket_server.bind(self._listener_deps(parts.dispatch))
        await coordination.register(self._registered(endpoints, parts.controlling.loop.policy))
        self._running += [tasks.create_task(each) for each in self._watches(parts)]
        self.socket_server.open()  # to other brokers, and to clients once we know the cluster

    def _ground(
        self, coordination: BrokerSession, dirs: LogDirs, tasks: asyncio.TaskGroup
    ) -> Ground:
        return Ground(
            self.config,
            self.doors,
            self._peers,
            self.settings,
            self.cluster,
            self.timers,
            self.socket_server,
            self._certificates,
            coordination,
            dirs,
            self._rules,
            self._audit,
            tasks,
        )

    def _registered(self, endpoints: tuple[Endpoint, ...], policy: ControllerPolicy) -> Registered:
        """What others learn of this broker."""
        rack = self.config[broker_rows.BROKER_RACK]
        bound = tuple(f"{host}:{port}" for host, port in self.socket_server.addresses.values())
        mark = BrokerMark(self.doors.hostname, bound, policy.is_preferred, LEVEL_MAX)
        return Registered(self.cluster.me, endpoints, rack, mark=mark)

    def _watches(self, parts: Parts) -> Iterator[Coroutine[None, None, None]]:
        """What looks at something again and again, until the stop."""
        hosting, controlling = parts.hosting, parts.controlling
        yield hosting.isr_changes.run(controlling.to_controller)
        yield hosting.isr_watch.run()
        yield hosting.disk_watch.run()
        if hosting.disk_wear is not None:
            yield hosting.disk_wear.run()
        yield self._certificates.run(self.doors.clock, lambda: self.settings.broker)
        yield self._token_keys.run(self.config)
        yield controlling.loop.run()
        yield controlling.watch.run()

    async def _give_up(self, coordination: BrokerSession) -> None:
        """The start failed, perhaps for a typing error: what it opened needs no repair later."""
        if self._parts is not None:
            await self._parts.services.replicas.close(self.cluster.broker_epoch)
        with suppress(TimeoutError):
            await coordination.close()

    async def _open(self, coordination: BrokerSession, ready: Callable[[], None]) -> None:
        """Once all was looked at, and the controller has spoken of us."""
        await coordination.has_looked.wait()
        await self.cluster.has_all()
        self._parts_of_this_life.dispatch.open()
        self.is_ready = True
        log.info("broker.started", broker=self.cluster.me, listeners=self.socket_server.addresses)
        ready()

    # While it runs

    def _on_settings(self, changed: tuple[BrokerSetting[object], ...]) -> None:
        """Some hold for connections, some for topics that say nothing themselves."""
        log.info("settings.changed", names=[row.name for row in changed])
        parts = self._parts_of_this_life
        self.socket_server.configure(self.settings.broker)
        is_preferred = self.settings.broker[controller_rows.PREFERRED_CONTROLLER]
        parts.ground.session.prefer(is_preferred=is_preferred)
        parts.hosting.replicas.on_topic_settings(None)

    def _on_dir_failed(self, dirs: LogDirs, _gone: WentOffline) -> None:
        if not dirs.all_failed:
            return
        failed = [it.name for it in dirs.dirs if dirs.failures.has_failed(it.name)]
        reasons = "; ".join(f"{name}: {dirs.failures.reason(name)}" for name in failed)
        self._failure = AllDirsFailed(f"no log dir is left: {reasons}")
        self._stopping.set()

    # Stop

    async def _stop(self) -> None:
        self.is_ready = False
        await Stopping(self._parts_of_this_life).run()
        self._close()

    def _close(self) -> None:
        """What is open from the first moment on."""
        self.socket_server.close()
        self.pages.close()
        self.timers.close()
        if self._parts is not None:
            self._parts.coordinating.close()
        if self._audit is not None:
            self._audit.close()
        if self._zookeeper is not None:
            self._zookeeper.close()
        for task in self._running:
            task.cancel()
        log.info("broker.stopped", broker=self.cluster.me)
