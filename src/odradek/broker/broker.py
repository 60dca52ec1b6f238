"""One broker from its start to its stop: the parts, in the order in which they need each other.

It starts from below: ZooKeeper, if it runs here; the session; the logs; the ports; the
registration; and once the controller has spoken of this broker, it is open for business. It stops
from above (`stopping`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial

import structlog

from odradek.access.decisions import Decisions
from odradek.broker import apis
from odradek.broker.access.access_rules import AccessRules
from odradek.broker.access.authorizer import Authorizer
from odradek.broker.control.broker_channels import BrokerChannels, ChannelsDeps
from odradek.broker.control.broker_connections import BrokerConnections
from odradek.broker.control.broker_session import ALL_PATHS, BrokerSession, StartGivenUp
from odradek.broker.control.controller_admin import ControllerAdmin
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.control.controller_watch import ControllerWatch
from odradek.broker.control.departed_brokers import DepartedBrokers
from odradek.broker.control.identity import number_of, sign_dirs, take_dirs
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.control.vanished_brokers import VanishedBrokers
from odradek.broker.controlled.control_requests import ControlRequests
from odradek.broker.coordinators.group_coordinator import GroupCoordinator
from odradek.broker.coordinators.producer_ids import ProducerIds
from odradek.broker.coordinators.record_topics import CoordinatorDeps
from odradek.broker.coordinators.transaction_questions import TransactionQuestions
from odradek.broker.dispatch import Dispatch
from odradek.broker.doors import Doors
from odradek.broker.embedded_zookeeper import connect_string, start_zookeeper
from odradek.broker.fetching.fetch_sessions import FetchSessions
from odradek.broker.fetching.log_mender import LogMender, MenderDeps
from odradek.broker.fetching.pending_fetches import FetchDeps, Fetches
from odradek.broker.fetching.replica_fetchers import FetchersDeps, ReplicaFetchers
from odradek.broker.fetching.replication_throttles import ReplicationThrottles
from odradek.broker.figures.broker_pages import READY, BrokerPages
from odradek.broker.figures.idleness import Idleness
from odradek.broker.figures.metrics import Kept
from odradek.broker.figures.pages import PageServer
from odradek.broker.figures.request_times import RequestTimes
from odradek.broker.handlers import api_versions
from odradek.broker.handlers.controller_service import ControllerService
from odradek.broker.network.authentication import Authentication, cluster_secret
from odradek.broker.network.certificates import Certificates
from odradek.broker.network.socket_server import SocketServer
from odradek.broker.partitions.alter_partition_manager import AlterPartitionManager
from odradek.broker.partitions.corrupt_replicas import CorruptReplicas
from odradek.broker.partitions.dir_admin import DirAdmin
from odradek.broker.partitions.disk_watch import DiskWatch
from odradek.broker.partitions.disk_wear import DiskWear
from odradek.broker.partitions.isr_watch import IsrWatch
from odradek.broker.partitions.log_maintenance import LogMaintenance
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.whole_logs import WholeLogs
from odradek.broker.services import Services
from odradek.broker.settings import Settings
from odradek.broker.stopping import Parts, Stopping
from odradek.broker.timers import Timers
from odradek.broker.topics.config_admin import ConfigAdmin
from odradek.broker.topics.scram_admin import ScramAdmin
from odradek.broker.topics.topic_admin import TopicAdmin
from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name, zookeeper_is_embedded
from odradek.config.listeners import SecurityProtocol
from odradek.config.rows import broker as broker_rows
from odradek.config.rows import controller as controller_rows
from odradek.config.rows import network as network_rows
from odradek.config.rows import replication as replication_rows
from odradek.config.secured import between_brokers
from odradek.config.setting import BrokerSetting
from odradek.controller.candidacy import ControllerLease
from odradek.ensemble.client import ZooKeeperClient
from odradek.ensemble.server import ZookeeperServer
from odradek.metadata.nouns import Broker as Registered
from odradek.metadata.nouns import BrokerMark
from odradek.metadata.znodes.settings import EntityType
from odradek.peers.broker_channel import ChannelSettings
from odradek.peers.secured_network import SecuredNetwork
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import AllDirsFailed

log = structlog.get_logger()


class Broker:
    """One life of a broker."""

    def __init__(self, config: BrokerConfig, doors: Doors) -> None:
        self.config = config
        self.doors = doors
        self.settings = Settings(config)
        self.cluster = MetadataCache()
        self._throttles = ReplicationThrottles(self.settings)
        self.timers = Timers(doors.clock)
        self.socket_server = SocketServer(config, doors, self.timers)
        self.times = RequestTimes(doors.clock)
        self.idleness = Idleness(doors.clock)
        self.socket_server.on_answer = self.times.answered
        self.pages = PageServer(doors.network, doors.clock, self.timers)
        self._certificates = Certificates(doors.read_file)
        self._authentication = Authentication(self.settings, doors.random, self._certificates)
        self._rules: AccessRules | None = None  # where an authorizer is configured
        self._peers = doors.network  # by which other brokers are reached
        self.services: Services | None = None  # once it has started
        self.is_ready = False  # traffic is accepted
        self._stopping = asyncio.Event()
        self._failure: Exception | None = None  # why it stops, if it does by itself
        self._zookeeper: ZookeeperServer | None = None
        self._dispatch: Dispatch
        self._fetchers: ReplicaFetchers
        self._corrupt_replicas: CorruptReplicas
        self._dir_admin: DirAdmin
        self._isr_changes: AlterPartitionManager
        self._to_controller: ControllerRequests
        self._questions: TransactionQuestions
        self._prefer: Callable[..., None] = lambda **_: None  # once it is registered
        self._running: list[asyncio.Task[None]] = []  # until the stop

    @property
    def services_of_this_life(self) -> Services:
        """The parts, once it has started."""
        assert self.services is not None, "it has not started"
        return self.services

    def stop(self) -> None:
        """Asks it to stop, in good order."""
        self._stopping.set()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Runs until it is asked to stop, or can serve no more, which is then raised."""
        async with asyncio.TaskGroup() as tasks:
            shown = BrokerPages(self.pages, self._state, self._kept)
            await shown.listen(self.config, tasks)  # probes learn that it lives, before all else
            if zookeeper_is_embedded(self.config):
                self._zookeeper = await start_zookeeper(self.config, self.doors)
                self._running.append(tasks.create_task(self._zookeeper.serve()))
            where = connect_string(self.config, self._zookeeper)
            coordination = BrokerSession(where, self.doors, self.settings, self.cluster)
            coordination.is_given_up = self._stopping.is_set
            self._secure(coordination)
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
            replicas = self.services_of_this_life.replicas
            maintenance = LogMaintenance(replicas, self.settings, self.doors.clock).start(tasks)
            await self._stopping.wait()
            for task in maintenance:
                task.cancel()
            opening.cancel()
            await asyncio.gather(*maintenance, return_exceptions=True)
            await self._stop(coordination)
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
        self._certificates.load(config)
        self.socket_server.api_versions = partial(api_versions.table, apis.OFFERED.values())
        self.socket_server.security = self._authentication.listeners(config)
        if between_brokers(config) is not SecurityProtocol.PLAINTEXT:
            self._peers = SecuredNetwork(network, self._authentication.outgoing(config))
        if any(it.offer is not None for it in self.socket_server.security.values()):
            coordination.kinds_of_settings.append(EntityType.USERS)

    def _kept(self) -> Kept | None:
        """What the page of metrics is made of, once it has started."""
        if self.services is None:
            return None
        is_controller = self.cluster.image.controller == self.cluster.me
        return Kept(self.services, self.times, self.idleness, self._isr_changes, is_controller)

    def _state(self) -> str:
        """In a word, for probes."""
        if self.is_ready:
            return READY
        return "stopping" if self._stopping.is_set() else "starting"

    async def _learn_its_number(self, dirs: LogDirs, coordination: BrokerSession) -> None:
        me = await coordination.insist(lambda: number_of(self.config, dirs, coordination.client))
        await sign_dirs(self.doors, dirs, me, self.cluster.cluster_id)
        self.settings.me = self.cluster.me = me

    async def _start(
        self, coordination: BrokerSession, dirs: LogDirs, tasks: asyncio.TaskGroup
    ) -> None:
        """Everything up to the registration."""
        await coordination.insist(coordination.read_all_settings)
        if self._rules is not None:
            await coordination.insist(self._rules.begin)
        self._authentication.secret = cluster_secret(self.config, self.cluster.cluster_id)
        listener = inter_broker_listener_name(self.config)
        brokers = BrokerConnections(self.cluster, self._peers, self.doors.clock, listener)
        self._to_controller = ControllerRequests(self.cluster, brokers)
        self._questions = TransactionQuestions(self.cluster, brokers, self.timers, tasks)
        isr_changes = AlterPartitionManager(self.cluster, self._to_controller, self.doors.clock)
        self._isr_changes = isr_changes
        replicas = await self._open_replicas(coordination, dirs, tasks)
        client = coordination.client
        controlling = ControllerLoop(client, self.doors, self.settings, self.cluster)
        control = ControlRequests(self.cluster, replicas, coordination)
        deps = FetchersDeps(
            self.cluster,
            replicas,
            self._peers,
            self.doors.clock,
            tasks,
            listener,
            VanishedBrokers(self.cluster, (self.doors.network, self.doors.clock), tasks),
            self._throttles.following,
        )
        self._fetchers = ReplicaFetchers(deps, self.config)
        self._corrupt_replicas = CorruptReplicas(
            replicas, self.cluster, coordination.report_log_dirs
        )
        patience = self.config[replication_rows.REPLICA_SOCKET_TIMEOUT_MS]
        mender = LogMender(MenderDeps(*deps[:6], patience))
        self._corrupt_replicas.on_follower = mender.look_at
        self.services = services = self._services(controlling, control, tasks, client)
        self._to_controller.local = ControllerService(controlling, services.topic_admin).serve
        self._dispatch = Dispatch(services, apis.OFFERED)
        self.socket_server.on_frame = self._dispatch.on_frame
        self.settings.topic_watchers.append(lambda name: replicas.on_topic_settings({name}))
        self.settings.broker_watchers.append(self._on_settings)
        controlling.new_channels = self._channels_of(controlling, control)
        controlling.read_settings = coordination.read_settings
        coordination.on_change = [coordination.look_at_changes, control.look_at_unnamed]
        if self._rules is not None:
            self._rules.on_changed = services.fetches.on_rules
            coordination.on_change.insert(0, partial(self._rules.look, everything=ALL_PATHS))
        coordination.on_watch = controlling.on_watch
        coordination.on_tree_changed = controlling.on_tree_changed
        coordination.on_session_over.append(controlling.on_session_over)
        endpoints = await self.socket_server.bind()
        rack = self.config[broker_rows.BROKER_RACK]
        bound = tuple(f"{host}:{port}" for host, port in self.socket_server.addresses.values())
        mark = BrokerMark(self.doors.hostname, bound, controlling.policy.is_preferred)
        await coordination.register(Registered(self.cluster.me, endpoints, rack, mark=mark))
        WholeLogs(replicas, self.cluster)
        isr_watch = IsrWatch(replicas, self.cluster, self.settings, self.doors.clock)
        watches = (isr_changes.run(), isr_watch.run(), *self._disk_watches(replicas))
        certificates = self._certificates.run(self.doors.clock, lambda: self.settings.broker)
        self._running += [tasks.create_task(each) for each in (*watches, certificates)]
        doors = (self._peers, self.doors.clock)
        watch = ControllerWatch(self.cluster, doors, listener, controlling.on_process_news)
        controlling.standing_by.on_awaited = watch.also
        self._prefer = coordination.prefer
        self._running.append(tasks.create_task(controlling.run()))
        self._running.append(tasks.create_task(watch.run()))
        self.socket_server.open()  # to other brokers, and to clients once we know the cluster

    async def _open_replicas(
        self, coordination: BrokerSession, dirs: LogDirs, tasks: asyncio.TaskGroup
    ) -> ReplicaManager:
        """The logs of all dirs; the controller hears of what fails from now on."""
        replicas = ReplicaManager(
            self.cluster.me,
            self.doors,
            self.settings,
            dirs=dirs,
            tasks=tasks,
            isr_changes=self._isr_changes,
        )
        replicas.on_all_failed = partial(self._on_all_failed, dirs)
        tell = coordination.report_log_dirs
        replicas.on_dir_failed.append(lambda _gone: tell())
        replicas.on_dir_replaced.append(lambda _dir: tell())
        replicas.on_dirs_to_report.append(tell)
        identity = (self.cluster.me, self.cluster.cluster_id)
        self._dir_admin = DirAdmin(replicas, self.doors.clock, identity)
        await replicas.open()
        return replicas

    def _disk_watches(self, replicas: ReplicaManager) -> Iterator[Coroutine[None, None, None]]:
        yield DiskWatch(replicas, self.settings, self.doors.clock, self.timers).run()
        if self.doors.disk_counters is not None:
            yield DiskWear(replicas, self.doors.clock, self.doors.disk_counters).run()

    def _channels_of(
        self, controlling: ControllerLoop, control: ControlRequests
    ) -> Callable[[ControllerLease], BrokerChannels]:
        """What a controller elected in this process talks to brokers by."""
        name = f"broker-{self.cluster.me}-controller"
        timeout = self.config[controller_rows.CONTROLLER_SOCKET_TIMEOUT_MS]
        deps = ChannelsDeps(
            self.cluster.me,
            self._peers,
            self.doors.clock,
            controlling.policy.for_controllers,
            control.serve_own,
            ChannelSettings(name, timeout),
        )
        return lambda lease: BrokerChannels(deps, lease, controlling.post)

    def _services(
        self,
        controlling: ControllerLoop,
        control: ControlRequests,
        tasks: asyncio.TaskGroup,
        client: ZooKeeperClient,
    ) -> Services:
        config, me, replicas = self.config, self.cluster.me, control.replicas
        access = (
            None
            if self._rules is None
            else Authorizer(self._rules.decisions, inter_broker_listener_name(config))
        )
        deps = CoordinatorDeps(
            self.doors.clock,
            self.timers,
            tasks,
            replicas,
            lambda: client.has_lease and self.cluster.has_roles,
        )
        config_admin = ConfigAdmin(client, self.settings, self.cluster)
        return Services(
            broker_id=me,
            inter_broker_listener=inter_broker_listener_name(self.config),
            doors=self.doors,
            settings=self.settings,
            cluster=self.cluster,
            departed=DepartedBrokers(self.cluster, self.doors.clock),
            topic_admin=TopicAdmin(
                controlling,
                self._to_controller,
                self.doors,
                settings=self.settings,
                cluster=self.cluster,
            ),
            config_admin=config_admin,
            scram_admin=ScramAdmin(client, config_admin),
            producer_ids=ProducerIds(self.cluster, self._to_controller),
            socket_server=self.socket_server,
            replicas=replicas,
            dir_admin=self._dir_admin,
            control=control,
            controller=controlling,
            controller_admin=ControllerAdmin(client, controlling.policy),
            to_controller=self._to_controller,
            fetches=self._fetches(replicas, access),
            groups=GroupCoordinator(self.settings, self.cluster, self.doors.random, deps),
            questions=self._questions,
            timers=self.timers,
            offered=tuple(apis.OFFERED.values()),
            tasks=tasks,
            access=access,
            rules=self._rules,
        )

    def _fetches(self, replicas: ReplicaManager, access: Authorizer | None) -> Fetches:
        return Fetches(
            FetchDeps(
                replicas,
                self.cluster,
                self.timers,
                self.doors.clock,
                self.config[network_rows.FETCH_MAX_BYTES],
                self._corrupt_replicas.on_corrupt,
                self._throttles.leading,
                self.config[replication_rows.REPLICA_SELECTOR_CLASS],
                access,
            ),
            FetchSessions(
                self.doors.random,
                self.config[network_rows.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS],
            ),
        )

    async def _give_up(self, coordination: BrokerSession) -> None:
        """The start failed, perhaps for a typing error: what it opened needs no repair later."""
        if self.services is not None:
            await self.services.replicas.close(self.cluster.broker_epoch)
        with suppress(TimeoutError):
            await coordination.close()

    async def _open(self, coordination: BrokerSession, ready: Callable[[], None]) -> None:
        """Once all was looked at, and the controller has spoken of us."""
        await coordination.has_looked.wait()
        await self.cluster.has_all()
        self._dispatch.open()
        self.is_ready = True
        log.info("broker.started", broker=self.cluster.me, listeners=self.socket_server.addresses)
        ready()

    # While it runs

    def _on_settings(self, changed: tuple[BrokerSetting[object], ...]) -> None:
        """Some hold for connections, some for topics that say nothing themselves."""
        log.info("settings.changed", names=[row.name for row in changed])
        self.socket_server.configure(self.settings.broker)
        self._prefer(is_preferred=self.settings.broker[controller_rows.PREFERRED_CONTROLLER])
        self.services_of_this_life.replicas.on_topic_settings(None)

    def _on_all_failed(self, dirs: LogDirs) -> None:
        failed = [it.name for it in dirs.dirs if dirs.failures.has_failed(it.name)]
        reasons = "; ".join(f"{name}: {dirs.failures.reason(name)}" for name in failed)
        self._failure = AllDirsFailed(f"no log dir is left: {reasons}")
        self._stopping.set()

    # Stop

    async def _stop(self, coordination: BrokerSession) -> None:
        services = self.services_of_this_life
        self.is_ready = False
        await Stopping(Parts(services, self._dispatch, self._fetchers, coordination)).run()
        self._close()

    def _close(self) -> None:
        """What is open from the first moment on."""
        self.socket_server.close()
        self.pages.close()
        self.timers.close()
        if self._zookeeper is not None:
            self._zookeeper.close()
        for task in self._running:
            task.cancel()
        log.info("broker.stopped", broker=self.cluster.me)
