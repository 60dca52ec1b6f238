"""What the handlers of requests work with: every part of a broker that answers or keeps something.

Made once, by `broker.Broker`, and handed to each handler; a test may make one with what it needs.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from odradek.broker.access.access_rules import AccessRules
from odradek.broker.access.audit import Audit
from odradek.broker.access.authorizer import Authorizer
from odradek.broker.control.controller_admin import ControllerAdmin
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.control.departed_brokers import DepartedBrokers
from odradek.broker.control.features import ClusterFeatures
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.controlled.control_requests import ControlRequests
from odradek.broker.coordinators.group_coordinator import GroupCoordinator
from odradek.broker.coordinators.producer_ids import ProducerIds
from odradek.broker.coordinators.transaction_coordinator import TransactionCoordinator
from odradek.broker.coordinators.transaction_markers import TransactionMarkers
from odradek.broker.coordinators.transaction_questions import TransactionQuestions
from odradek.broker.doors import Doors
from odradek.broker.fetching.pending_fetches import Fetches
from odradek.broker.fetching.replica_fetchers import ReplicaFetchers
from odradek.broker.network.certificates import Certificates
from odradek.broker.network.quotas import Quotas
from odradek.broker.network.socket_server import SocketServer
from odradek.broker.partitions.dir_admin import DirAdmin
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.settings import Settings
from odradek.broker.timers import Timers
from odradek.broker.topics.auto_topics import AutoTopics
from odradek.broker.topics.config_admin import ConfigAdmin
from odradek.broker.topics.quota_admin import QuotaAdmin
from odradek.broker.topics.scram_admin import ScramAdmin
from odradek.broker.topics.topic_admin import TopicAdmin
from odradek.model.ids import BrokerId


class Offered(Protocol):
    """An API, as far as clients are told of it."""

    @property
    def key(self) -> int:
        """Its number in the protocol."""
        ...

    @property
    def versions(self) -> range:
        """Those that are served."""
        ...

    @property
    def offered(self) -> range:
        """Those that are named to clients."""
        ...


@dataclass(slots=True)
class Services:
    """The parts. They know each other as far as they were told, never by way of this."""

    broker_id: BrokerId
    inter_broker_listener: str
    doors: Doors
    settings: Settings
    cluster: MetadataCache
    departed: DepartedBrokers
    topic_admin: TopicAdmin
    auto_topics: AutoTopics
    config_admin: ConfigAdmin
    scram_admin: ScramAdmin
    quota_admin: QuotaAdmin
    quotas: Quotas
    producer_ids: ProducerIds
    socket_server: SocketServer
    certificates: Certificates
    replicas: ReplicaManager
    dir_admin: DirAdmin
    control: ControlRequests
    controller: ControllerLoop
    controller_admin: ControllerAdmin
    to_controller: ControllerRequests
    fetches: Fetches
    replica_fetchers: ReplicaFetchers
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    markers: TransactionMarkers
    questions: TransactionQuestions
    features: ClusterFeatures
    timers: Timers
    offered: tuple[Offered, ...]  # what clients are told of
    tasks: asyncio.TaskGroup  # for what outlives its caller
    access: Authorizer | None  # None: every client may do everything
    rules: AccessRules | None  # that it decides by
    audit: Audit | None  # None: no request is looked at for it
