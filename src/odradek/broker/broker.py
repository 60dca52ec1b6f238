"""One broker from its start to its stop: the parts, in the order in which they need each other.

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
from odradek.broker.access.authorizer import Authorizer
from odradek.broker.control.broker_channels import BrokerChannels, ChannelsDeps
from odradek.broker.control.broker_connections import BrokerConnections
from odradek.broker.control.broker_session import ALL_PATHS, BrokerSession, StartGivenUp
from odradek.broker.control.controller_admin import ControllerAdmin
from odradek.broker.control.controller_loop import ControllerDeps, ControllerLoop
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.controller_watch import ControllerWatch
from odradek.broker.control.departed_brokers import DepartedBrokers
from odradek.broker.control.features import LEVEL_MAX, ClusterFeatures
from odradek.broker.control.identity import number_of, sign_dirs, take_dirs
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.control.vanished_brokers import VanishedBrokers
from odradek.broker.controlled.control_requests import ControlRequests
from odradek.broker.coordinators.group_coordinator import GroupCoordinator
from odradek.broker.coordinators.producer_ids import ProducerIds
from odradek.broker.coordinators.record_topics import CoordinatorDeps
from odradek.broker.coordinators.transaction_coordinator import (
    TransactionCoordinator,
    TransactionDeps,
)
from odradek.broker.coordinators.transaction_markers import MarkersDeps, TransactionMarkers
from odradek.broker.coordinators.transaction_questions import TransactionQuestions
from odradek.broker.dispatch import Dispatch
from odradek.broker.doors import Doors
from odradek.broker.embedded_zookeeper import connect_string, start_zookeeper
from odradek.broker.fetching.fetch_sessions import FetchSessions
from odradek.broker.fetching.log_mender import LogMender, MenderDeps
from odradek.broker.fetching.pending_fetch import FetchDeps
from odradek.broker.fetching.pending_fetches import Fetches
from odradek.broker.fetching.replica_fetchers import FetchersDeps, ReplicaFetchers
from odradek.broker.fetching.replication_throttles import ReplicationThrottles
from odradek.broker.figures.broker_pages import READY, BrokerPages
from odradek.broker.figures.idleness import Idleness
from odradek.broker.figures.metrics import Kept
from odradek.broker.figures.pages import PageServer
from odradek.broker.figures.request_times import RequestTimes
from odradek.broker.handlers import add_partitions_to_txn, api_versions, write_txn_markers
from odradek.broker.handlers.controller_service import ControllerService
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
from odradek.broker.partitions.corrupt_replicas import CorruptReplicas
from odradek.broker.partitions.dir_admin import DirAdmin
from odradek.broker.partitions.disk_watch import DiskWatch
from odradek.broker.partitions.disk_wear import DiskWear
from odradek.broker.partitions.full_disks import FullDisks
from odradek.broker.partitions.isr_watch import IsrWatch
from odradek.broker.partitions.log_maintenance import LogMaintenance
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.alter_partition_manager import AlterPartitionManager
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.broker.partitions.whole_logs import WholeLogs
from odradek.broker.services import Services
from odradek.broker.settings import Settings
from odradek.broker.stopping import Parts, Stopping
from odradek.broker.timers import Timers
from odradek.broker.topics.auto_topics import AutoTopics
from odradek.broker.topics.config_admin import ConfigAdmin
from odradek.broker.topics.partitions_there import partitions_there
from odradek.broker.topics.quota_admin import QuotaAdmin
from odradek.broker.topics.scram_admin import ScramAdmin
from odradek.broker.topics.topic_admin import TopicAdmin
from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name, zookeeper_is_embedded
from odradek.config.listeners import SecurityProtocol
from odradek.config.rows import broker as broker_rows
from odradek.config.rows import controller as controller_rows
from odradek.config.rows import network as network_rows
from odradek.config.rows import replication as replication_rows
from odradek.config.rows import security as security_rows
from odradek.config.secured import between_brokers
from odradek.config.setting import BrokerSetting
from odradek.ensemble.client import ZooKeeperClient
from odradek.ensemble.server import ZookeeperServer
from odradek.metadata.nouns import Broker as Registered
from odradek.metadata.nouns import BrokerMark
from odradek.peers.broker_channel import ChannelSettings
from odradek.peers.secured_network import SecuredNetwork
from odradek.security.addresses import reader
from odradek.storage.dirs.log_dirs import LogDirs, WentOffline
from odradek.storage.errors import AllDirsFailed
from odradek.zookeeper.client.states import Status

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
        self.times = RequestTimes(doors.clock)
        self.idleness = Idleness(doors.clock)
        self.socket_server = SocketServer(
            config,
            doors,
            self.timers,
            api_versions=cache(partial(api_versions.table, apis.OFFERED.values())),
            on_answer=self.times.answered,
        )
        self.settings.client_watchers.append(self.socket_server.quotas.on_entity)
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
        self._to_leaders: tuple[BrokerConnections, ...] = ()  # of the coordinator of transactions
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
        listener = inter_broker_listener_name(self.config)
        brokers = BrokerConnections(self.cluster, self._peers, self.doors.clock, listener)
        self._isr_changes = AlterPartitionManager(self.cluster, self.doors.clock)
        replicas = await self._open_replicas(coordination, dirs, tasks)
        control = ControlRequests(self.cluster, replicas, coordination)
        controlling = self._controller_loop(coordination, control)
        doors = self._peers, self.doors.clock
        self._vanished = VanishedBrokers(self.cluster, doors, listener, tasks)
        self._follow(replicas, coordination, tasks)
        self.services = services = self._services(
            controlling, control, tasks, coordination=coordination, brokers=brokers
        )
        self._dispatch = Dispatch(services, apis.OFFERED)
        self.settings.topic_watchers.append(lambda name: replicas.on_topic_settings({name}))
        self.settings.broker_watchers.append(partial(self._on_settings, coordination, replicas))
        coordination.on_change += [
            services.features.look,
            coordination.look_at_changes,
            control.look_at_unnamed,
        ]
        if self._rules is not None:
            self._rules.on_changed = services.fetches.on_rules
            coordination.on_change.insert(0, partial(self._rules.look, everything=ALL_PATHS))
        coordination.on_watch = controlling.on_watch
        coordination.on_tree_changed = controlling.on_tree_changed
        coordination.on_session_over.append(controlling.on_session_over)
        if self.config.is_set(security_rows.PASSWORD_ENCODER_OLD_SECRET):
            await services.config_admin.encrypt_anew(self.cluster.me)
        endpoints = await self.socket_server.bind(self._listener_deps(self._dispatch))
        rack = self.config[broker_rows.BROKER_RACK]
        bound = tuple(f"{host}:{port}" for host, port in self.socket_server.addresses.values())
        is_preferred = controlling.policy.is_preferred
        mark = BrokerMark(self.doors.hostname, bound, is_preferred, LEVEL_MAX)
        await coordination.register(Registered(self.cluster.me, endpoints, rack, mark=mark))
        WholeLogs(replicas, self.cluster)
        isr_watch = IsrWatch(replicas, self.cluster, self.settings, self.doors.clock)
        watches = (
            self._isr_changes.run(services.to_controller),
            isr_watch.run(),
            *self._disk_watches(replicas),
        )
        certificates = self._certificates.run(self.doors.clock, lambda: self.settings.broker)
        keys = self._token_keys.run(self.config)
        self._running += [tasks.create_task(each) for each in (*watches, certificates, keys)]
        watch = ControllerWatch(self.cluster, doors, listener, controlling.on_process_news)
        controlling.standing_by.on_awaited = watch.also
        self._running += [tasks.create_task(each.run()) for each in (controlling, watch)]
        self.socket_server.open()  # to other brokers, and to clients once we know the cluster

    def _follow(
        self, replicas: ReplicaManager, coordination: BrokerSession, tasks: asyncio.TaskGroup
    ) -> None:
        """What fetches from leaders, who gives way to another, and what mends corrupt copies."""
        resignations = Resignations(replicas, self.cluster, coordination.report_log_dirs)
        is_heard = partial(self._is_heard, coordination.client)
        full_disks = FullDisks(replicas, self.cluster, resignations, is_heard)
        deps = FetchersDeps(
            self.cluster,
            replicas,
            self._peers,
            self.doors.clock,
            tasks,
            inter_broker_listener_name(self.config),
            self._vanished,
            self._throttles.following,
            full_disks.waits,
        )
        self._fetchers = ReplicaFetchers(deps, self.config)
        full_disks.on_room = self._fetchers.follow
        patience = self.config[replication_rows.REPLICA_SOCKET_TIMEOUT_MS]
        mender = LogMender(MenderDeps(*deps[:6], patience))
        self._corrupt_replicas = CorruptReplicas(
            replicas, self.cluster, resignations, mender.look_at
        )

    def _is_heard(self, client: ZooKeeperClient) -> bool:
        """Whether ZooKeeper takes what this broker says, and a controller has given it roles."""
        return client.status is Status.CONNECTED and self.cluster.has_roles

    def _transaction_markers(
        self,
        groups: GroupCoordinator,
        level: Callable[[], int],
        deps: CoordinatorDeps,
        client: ZooKeeperClient,
    ) -> TransactionMarkers:
        """What coordinators of transactions tell leaders, which may take long."""
        listener = inter_broker_listener_name(self.config)
        self._to_leaders = in_time, late = (
            BrokerConnections(self.cluster, self._peers, self.doors.clock, listener),
            BrokerConnections(self.cluster, self._peers, self.doors.clock, listener),
        )
        ending = write_txn_markers.EndingDeps(self.settings, self.timers, groups, deps.replicas)
        return TransactionMarkers(
            MarkersDeps(
                self.cluster,
                in_time,
                late,
                self.timers,
                deps.tasks,
                partial(partitions_there, client),
                partial(write_txn_markers.serve_own, ending),
                level,
            )
        )

    async def _open_replicas(
        self, coordination: BrokerSession, dirs: LogDirs, tasks: asyncio.TaskGroup
    ) -> ReplicaManager:
        """The logs of all dirs; the controller hears of what fails from now on."""
        replicas = ReplicaManager(
            self.cluster,
            self.doors,
            self.settings,
            dirs=dirs,
            tasks=tasks,
            isr_changes=self._isr_changes,
        )
        tell = coordination.report_log_dirs
        replicas.on_dir_failed += [lambda _gone: tell(), partial(self._on_dir_failed, dirs)]
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

    def _controller_loop(
        self, coordination: BrokerSession, control: ControlRequests
    ) -> ControllerLoop:
        """With what a controller elected in this process talks to brokers by."""
        policy = ControllerPolicy(self.settings, self.doors.random)
        name = f"broker-{self.cluster.me}-controller"
        timeout = self.config[controller_rows.CONTROLLER_SOCKET_TIMEOUT_MS]
        deps = ChannelsDeps(
            self.cluster.me,
            self._peers,
            self.doors.clock,
            policy.for_controllers,
            control.serve_own,
            ChannelSettings(name, timeout),
        )
        own = ControllerDeps(policy, partial(BrokerChannels, deps), coordination.read_settings)
        return ControllerLoop(
            coordination.client, self.doors, self.settings, self.cluster, deps=own
        )

    def _services(
        self,
        controlling: ControllerLoop,
        control: ControlRequests,
        tasks: asyncio.TaskGroup,
        *,
        coordination: BrokerSession,
        brokers: BrokerConnections,
    ) -> Services:
        replicas, client, access = control.replicas, coordination.client, self._authorizer()
        deps = self._coordinator_deps(tasks, replicas, client)
        try_out = self._certificates.try_out
        config_admin = ConfigAdmin(client, self.settings, self.cluster, self.doors, try_out=try_out)
        topic_admin = TopicAdmin(controlling, self.settings, self.cluster)
        local = ControllerService(controlling, topic_admin).serve
        to_controller = ControllerRequests(self.cluster, brokers, local)
        producer_ids = ProducerIds(self.cluster, to_controller)
        features = ClusterFeatures(client, ALL_PATHS)
        departed = DepartedBrokers(self.cluster, self.doors.clock)
        fetches = self._fetches(replicas, access)
        groups = GroupCoordinator(self.settings, self.cluster, self.doors.random, deps)
        markers = self._transaction_markers(groups, features.level, deps, client)
        own = TransactionDeps(producer_ids, markers, features.level)
        transactions = TransactionCoordinator(self.settings, self.cluster, own, deps)
        return Services(
            broker_id=self.cluster.me,
            inter_broker_listener=inter_broker_listener_name(self.config),
            doors=self.doors,
            settings=self.settings,
            cluster=self.cluster,
            departed=departed,
            topic_admin=topic_admin,
            auto_topics=AutoTopics(to_controller, self.settings, self.cluster, self.doors.clock),
            config_admin=config_admin,
            scram_admin=ScramAdmin(client, config_admin),
            quota_admin=QuotaAdmin(client, config_admin),
            quotas=self.socket_server.quotas,
            producer_ids=producer_ids,
            socket_server=self.socket_server,
            certificates=self._certificates,
            replicas=replicas,
            dir_admin=self._dir_admin,
            control=control,
            controller=controlling,
            controller_admin=ControllerAdmin(client, controlling.policy),
            to_controller=to_controller,
            fetches=fetches,
            replica_fetchers=self._fetchers,
            groups=groups,
            transactions=transactions,
            markers=markers,
            features=features,
            questions=self._questions(transactions, brokers, tasks),
            timers=self.timers,
            offered=tuple(apis.OFFERED.values()),
            tasks=tasks,
            access=access,
            rules=self._rules,
            audit=self._audit,
        )

    def _authorizer(self) -> Authorizer | None:
        if self._rules is None:
            return None
        return Authorizer(self._rules.decisions, inter_broker_listener_name(self.config))

    def _coordinator_deps(
        self, tasks: asyncio.TaskGroup, replicas: ReplicaManager, client: ZooKeeperClient
    ) -> CoordinatorDeps:
        def may_answer() -> bool:
            return client.has_lease and self.cluster.has_roles

        return CoordinatorDeps(self.doors.clock, self.timers, tasks, replicas, may_answer)

    def _questions(
        self,
        transactions: TransactionCoordinator,
        brokers: BrokerConnections,
        tasks: asyncio.TaskGroup,
    ) -> TransactionQuestions:
        """What leaders ask coordinators of transactions, this broker's among them."""
        local = partial(add_partitions_to_txn.serve_own, transactions, self.cluster)
        return TransactionQuestions(self.cluster, brokers, self.timers, tasks, local=local)

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
                self._vanished.on_follower_gone,
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

    def _on_settings(
        self,
        coordination: BrokerSession,
        replicas: ReplicaManager,
        changed: tuple[BrokerSetting[object], ...],
    ) -> None:
        """Some hold for connections, some for topics that say nothing themselves."""
        log.info("settings.changed", names=[row.name for row in changed])
        self.socket_server.configure(self.settings.broker)
        coordination.prefer(is_preferred=self.settings.broker[controller_rows.PREFERRED_CONTROLLER])
        replicas.on_topic_settings(None)

    def _on_dir_failed(self, dirs: LogDirs, _gone: WentOffline) -> None:
        if not dirs.all_failed:
            return
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
        for connections in self._to_leaders:
            connections.close()
        if self._audit is not None:
            self._audit.close()
        if self._zookeeper is not None:
            self._zookeeper.close()
        for task in self._running:
            task.cancel()
        log.info("broker.stopped", broker=self.cluster.me)
