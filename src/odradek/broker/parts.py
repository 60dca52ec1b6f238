"""The parts of one broker, from below to above: each is handed those below that it calls.

`broker.Broker` makes them once it knows its number and its settings. Nothing is read, written or
begun here, and no part hears of anything yet: who hears what is a table of its own (`listeners`).
"""

import asyncio
from functools import partial
from typing import NamedTuple

from odradek.broker import apis
from odradek.broker.access.access_rules import AccessRules
from odradek.broker.access.audit import Audit
from odradek.broker.access.authorizer import Authorizer
from odradek.broker.control.broker_channels import BrokerChannels, ChannelsDeps
from odradek.broker.control.broker_connections import BrokerConnections
from odradek.broker.control.broker_session import ALL_PATHS, BrokerSession
from odradek.broker.control.controller_admin import ControllerAdmin
from odradek.broker.control.controller_loop import ControllerDeps, ControllerLoop
from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.broker.control.controller_watch import ControllerWatch
from odradek.broker.control.departed_brokers import DepartedBrokers
from odradek.broker.control.features import ClusterFeatures
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
from odradek.broker.fetching.fetch_sessions import FetchSessions
from odradek.broker.fetching.log_mender import LogMender, MenderDeps
from odradek.broker.fetching.pending_fetch import FetchDeps
from odradek.broker.fetching.pending_fetches import Fetches
from odradek.broker.fetching.replica_fetchers import FetchersDeps, ReplicaFetchers
from odradek.broker.fetching.replication_throttles import ReplicationThrottles
from odradek.broker.handlers import add_partitions_to_txn, write_txn_markers
from odradek.broker.handlers.controller_service import ControllerService
from odradek.broker.network.certificates import Certificates
from odradek.broker.network.socket_server import SocketServer
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
from odradek.broker.timers import Timers
from odradek.broker.topics.auto_topics import AutoTopics
from odradek.broker.topics.config_admin import ConfigAdmin
from odradek.broker.topics.partitions_there import partitions_there
from odradek.broker.topics.quota_admin import QuotaAdmin
from odradek.broker.topics.scram_admin import ScramAdmin
from odradek.broker.topics.topic_admin import TopicAdmin
from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name
from odradek.config.rows import controller as controller_rows
from odradek.config.rows import network as network_rows
from odradek.config.rows import replication as replication_rows
from odradek.peers.broker_channel import ChannelSettings
from odradek.ports import Clock, Network
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.zookeeper.client.states import Status


class Ground(NamedTuple):
    """What all parts stand on: it is there before the broker knows its number."""

    config: BrokerConfig  # as it was started; `settings` has what was changed since
    doors: Doors
    peers: Network  # by which other brokers are reached
    settings: Settings
    cluster: MetadataCache
    timers: Timers
    socket_server: SocketServer
    certificates: Certificates
    session: BrokerSession
    dirs: LogDirs
    rules: AccessRules | None  # where an authorizer is configured
    audit: Audit | None  # where `audit.log` is set
    tasks: asyncio.TaskGroup

    @property
    def listener(self) -> str:
        """Where brokers talk among themselves."""
        return inter_broker_listener_name(self.config)

    @property
    def to_peers(self) -> tuple[Network, Clock]:
        """What a connection to another broker is made with."""
        return self.peers, self.doors.clock

    def connections(self) -> BrokerConnections:
        """Another set of connections to the other brokers."""
        return BrokerConnections(self.cluster, *self.to_peers, self.listener)

    def is_heard(self) -> bool:
        """Whether ZooKeeper takes what this broker says, and a controller has given it roles."""
        return self.session.client.status is Status.CONNECTED and self.cluster.has_roles

    def may_answer(self) -> bool:
        """Whether no other broker can have been given what this one coordinates."""
        return self.session.client.has_lease and self.cluster.has_roles


class Hosting:
    """The replicas of this broker, their logs, and what looks after its disks."""

    def __init__(self, ground: Ground) -> None:
        cluster, settings, clock = ground.cluster, ground.settings, ground.doors.clock
        self.isr_changes = AlterPartitionManager(cluster, clock)
        self.replicas = replicas = ReplicaManager(
            cluster,
            ground.doors,
            settings,
            dirs=ground.dirs,
            tasks=ground.tasks,
            isr_changes=self.isr_changes,
        )
        self.dir_admin = DirAdmin(replicas, clock, (cluster.me, cluster.cluster_id))
        self.maintenance = LogMaintenance(replicas, settings, clock, ground.tasks)
        self.whole_logs = WholeLogs(replicas, cluster)
        self.isr_watch = IsrWatch(replicas, settings, clock)
        self.disk_watch = DiskWatch(replicas, settings, clock, ground.timers)
        counters = ground.doors.disk_counters
        self.disk_wear = None if counters is None else DiskWear(replicas, clock, counters)


class Copying:
    """What fetches from leaders and is fetched by clients; who gives way, and what mends logs."""

    def __init__(self, ground: Ground, replicas: ReplicaManager) -> None:
        cluster, config, clock = ground.cluster, ground.config, ground.doors.clock
        self.throttles = ReplicationThrottles(ground.settings)
        self.vanished = VanishedBrokers(cluster, ground.to_peers, ground.listener, ground.tasks)
        self.resignations = Resignations(replicas, cluster, ground.session.report_log_dirs)
        self.full_disks = FullDisks(replicas, cluster, self.resignations, ground.is_heard)
        deps = FetchersDeps(
            cluster,
            replicas,
            *ground.to_peers,
            ground.tasks,
            ground.listener,
            self.vanished,
            self.throttles.following,
            self.full_disks.waits,
        )
        self.fetchers = ReplicaFetchers(deps, config)
        patience = config[replication_rows.REPLICA_SOCKET_TIMEOUT_MS]
        self.mender = LogMender(MenderDeps(*deps[:6], patience))
        self.corrupt_replicas = CorruptReplicas(
            replicas, cluster, self.resignations, self.mender.look_at
        )
        rules = ground.rules
        self.access = None if rules is None else Authorizer(rules.decisions, ground.listener)
        slots = config[network_rows.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS]
        self.fetches = Fetches(
            FetchDeps(
                replicas,
                cluster,
                ground.timers,
                clock,
                config[network_rows.FETCH_MAX_BYTES],
                self.corrupt_replicas.on_corrupt,
                self.throttles.leading,
                config[replication_rows.REPLICA_SELECTOR_CLASS],
                self.access,
                self.vanished.on_follower_gone,
            ),
            FetchSessions(ground.doors.random, slots),
        )


class Controlling:
    """The controller's requests; the controller, where it is elected here; and the way to it."""

    def __init__(self, ground: Ground, replicas: ReplicaManager) -> None:
        cluster, settings, session = ground.cluster, ground.settings, ground.session
        self.requests = ControlRequests(cluster, replicas, session)
        policy = ControllerPolicy(settings, ground.doors.random)
        channels = ChannelsDeps(
            cluster.me,
            *ground.to_peers,
            policy.for_controllers,
            self.requests.serve_own,
            ChannelSettings(
                f"broker-{cluster.me}-controller",
                ground.config[controller_rows.CONTROLLER_SOCKET_TIMEOUT_MS],
            ),
        )
        deps = ControllerDeps(policy, partial(BrokerChannels, channels), session.read_settings)
        self.loop = ControllerLoop(session.client, ground.doors, settings, cluster, deps=deps)
        self.watch = ControllerWatch(
            cluster, ground.to_peers, ground.listener, self.loop.on_process_news
        )
        self.topic_admin = TopicAdmin(self.loop, settings, cluster)
        self.brokers = ground.connections()
        local = ControllerService(self.loop, self.topic_admin).serve
        self.to_controller = ControllerRequests(cluster, self.brokers, local)
        self.features = ClusterFeatures(session.client, ALL_PATHS)
        self.departed = DepartedBrokers(cluster, ground.doors.clock)


class Coordinating:
    """The coordinators of groups and transactions, and what they tell and ask other brokers."""

    def __init__(self, ground: Ground, replicas: ReplicaManager, controlling: Controlling) -> None:
        cluster, settings, timers, tasks = (
            ground.cluster,
            ground.settings,
            ground.timers,
            ground.tasks,
        )
        level = controlling.features.level
        deps = CoordinatorDeps(ground.doors.clock, timers, tasks, replicas, ground.may_answer)
        self.groups = GroupCoordinator(settings, cluster, ground.doors.random, deps)
        self.producer_ids = ProducerIds(cluster, controlling.to_controller)
        self._to_leaders = in_time, late = ground.connections(), ground.connections()
        ending = write_txn_markers.EndingDeps(settings, timers, self.groups, replicas)
        self.markers = TransactionMarkers(
            MarkersDeps(
                cluster,
                in_time,
                late,
                timers,
                tasks,
                partial(partitions_there, ground.session.client),
                partial(write_txn_markers.serve_own, ending),
                level,
            )
        )
        own = TransactionDeps(self.producer_ids, self.markers, level)
        self.transactions = TransactionCoordinator(settings, cluster, own, deps)
        local = partial(add_partitions_to_txn.serve_own, self.transactions, cluster)
        brokers = controlling.brokers
        self.questions = TransactionQuestions(cluster, brokers, timers, tasks, local=local)

    def close(self) -> None:
        """The connections to leaders."""
        for connections in self._to_leaders:
            connections.close()


class Parts:
    """All of them. What handlers use of them are the services."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.hosting = Hosting(ground)
        self.copying = Copying(ground, self.hosting.replicas)
        self.controlling = Controlling(ground, self.hosting.replicas)
        self.coordinating = Coordinating(ground, self.hosting.replicas, self.controlling)
        self.services = self._services()
        self.dispatch = Dispatch(self.services, apis.OFFERED)

    def _services(self) -> Services:
        ground, controlling, coordinating = self.ground, self.controlling, self.coordinating
        client, settings, cluster = ground.session.client, ground.settings, ground.cluster
        to_controller, clock = controlling.to_controller, ground.doors.clock
        try_out = ground.certificates.try_out
        config_admin = ConfigAdmin(client, settings, cluster, ground.doors, try_out=try_out)
        return Services(
            broker_id=cluster.me,
            inter_broker_listener=ground.listener,
            doors=ground.doors,
            settings=settings,
            cluster=cluster,
            departed=controlling.departed,
            topic_admin=controlling.topic_admin,
            auto_topics=AutoTopics(to_controller, settings, cluster, clock),
            config_admin=config_admin,
            scram_admin=ScramAdmin(client, config_admin),
            quota_admin=QuotaAdmin(client, config_admin),
            quotas=ground.socket_server.quotas,
            producer_ids=coordinating.producer_ids,
            socket_server=ground.socket_server,
            certificates=ground.certificates,
            replicas=self.hosting.replicas,
            dir_admin=self.hosting.dir_admin,
            control=controlling.requests,
            controller=controlling.loop,
            controller_admin=ControllerAdmin(client, controlling.loop.policy),
            to_controller=to_controller,
            fetches=self.copying.fetches,
            replica_fetchers=self.copying.fetchers,
            groups=coordinating.groups,
            transactions=coordinating.transactions,
            markers=coordinating.markers,
            features=controlling.features,
            questions=coordinating.questions,
            timers=ground.timers,
            offered=tuple(apis.OFFERED.values()),
            tasks=ground.tasks,
            access=self.copying.access,
            rules=ground.rules,
            audit=ground.audit,
        )
