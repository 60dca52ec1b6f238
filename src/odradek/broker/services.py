"""What the handlers of requests work with: every part of a broker that answers or keeps something.

Made once, by `broker.Broker`, and handed to each handler; a test may make one with what it needs.
"""

import asyncio
from dataclasses import dataclass

from odradek.broker.alterations import Alterations
from odradek.broker.cluster import Cluster
from odradek.broker.doors import Doors
from odradek.broker.exchange import Api
from odradek.broker.fetches import Fetches
from odradek.broker.front import Front
from odradek.broker.groups import GroupCoordinator
from odradek.broker.producer_ids import ProducerIds
from odradek.broker.replicas import Replicas
from odradek.broker.settings import Settings
from odradek.broker.timers import Timers
from odradek.broker.topics import Topics
from odradek.model.ids import BrokerId


@dataclass(slots=True)
class Services:
    """The parts. They know each other as far as they were told, never by way of this."""

    broker_id: BrokerId
    doors: Doors
    settings: Settings
    cluster: Cluster
    topics: Topics
    alterations: Alterations
    producer_ids: ProducerIds
    front: Front
    replicas: Replicas
    fetches: Fetches
    groups: GroupCoordinator
    timers: Timers
    offered: tuple[Api, ...]  # what clients are told of
    tasks: asyncio.TaskGroup  # for what outlives its caller
