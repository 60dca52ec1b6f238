"""Who uses a cluster: producers of every kind, readers, a group, and two administrators.

The administrators do not know of each other: each has a topic of its own, and both grow one topic,
and change its settings, each another. What came of it they look up in ZooKeeper's tree: a broker
may not have heard of it yet. Noted, beside what `broker.clients` notes: `topic.outgrew` topic and
count, once the cluster has said that it has so many partitions, perhaps more; `commit.found`
partition and position, or None, in a topic that was made just now; `commit.tries` and `commit.made`
partition, when somebody commits one.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.records.member import commit, committed
from odradek.client.records.producer import Producer, ProducerSettings
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.units import Bytes
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.broker.administrator import PARTITIONS_MAX, Administrator, Note, Rest
from odradek.sim.worlds.broker.clients import (
    SEGMENT,
    Clients,
    Life,
    Topic,
    Users,
    durably,
    plainly,
)
from odradek.sim.worlds.cluster.clients.operator import OPERATOR, ClusterOperator
from odradek.sim.worlds.cluster.clients.readers import OddReaders
from odradek.sim.worlds.cluster.clients.renumbering import RenumberingProducer
from odradek.sim.worlds.cluster.clients.writers import KeyedClients, PipelinedProducer
from odradek.sim.worlds.cluster.view import ClusterView

SYNCED: Final = "orders"
COPIED: Final = "payments"  # acknowledged by all, synced by none
PLAIN: Final = "events"
SHARED: Final = "shared"
MAY_BE_LOST: Final = "records.may_be_lost"
SHARED_MAX: Final = 6  # partitions
SHARED_SETTINGS: Final = {"retention.ms": "4000", "segment.bytes": "2048"}
"""Its records are dropped all the time, by every replica for itself."""
PLAIN_ACKS: Final = (0, 1, -1)
BATCH_BYTES: Final = Bytes(512)
RECORDS_MAX: Final = 150
"""So many are sent at once, in few batches: a run must get something done between two faults."""
FILLING: Final = bytes(300)
FILLED_MAX: Final = 8
SOME: Final = 2
SEGMENT_BYTES: Final = "segment.bytes"
SEGMENT_BYTES_MIN: Final = 4_096
OWN_SETTINGS: Final = (SEGMENT_BYTES, "flush.messages")  # one of each administrator
REPLICAS_MAX: Final = 3
COMMITTED_MAX: Final = 9
KEPT: Final = {"retention.ms": "-1", **SEGMENT}
"""Whatever the retention of a broker is."""
TOPICS: Final = (
    Topic(SYNCED, 3, {"flush.before.ack": "true", **KEPT}, durably, 2, 3),
    Topic(COPIED, 2, {"flush.before.ack": "false", **KEPT}, durably, 1, 3),
    Topic(
        PLAIN,
        2,
        {"min.insync.replicas": "1", **SEGMENT},
        partial(plainly, acks=PLAIN_ACKS, batch_bytes=BATCH_BYTES),
        2,
        3,
    ),
)


class ClusterClients(Clients):
    """All of them."""

    def __init__(self, world: World, machine: Machine, users: Users, view: ClusterView) -> None:
        super().__init__(world, machine, users)
        self._view, self._counts = view, world.history.counts

    def administrators(self) -> Sequence[tuple[str, Life]]:
        """Two, an operator, and somebody who fills what the two administrate."""
        operator = ClusterOperator(
            self._note, self._chance.stream(OPERATOR), self._rest, self._view
        )
        lives = [(name, self._administrator(name).administer) for name in ("admin-1", "admin-2")]
        return (*lives, (OPERATOR, operator.work), ("filler", self._fill), *self._some())

    def _some(self) -> Sequence[tuple[str, Life]]:
        """A few of those who use it in a way that not all worlds need."""
        chance = self._chance.stream("some")
        readers = OddReaders(self._note, chance, self._rest, (SYNCED, COPIED))
        pipelined = PipelinedProducer(self._note, chance, self._rest, TOPICS[0])
        keyed = KeyedClients(self._note, chance, self._rest, self._view)
        renumbering = RenumberingProducer(
            self._note, chance, TOPICS[0], lambda: self._counts[MAY_BE_LOST]
        )
        left: list[Sequence[tuple[str, Life]]] = [
            [("pieces", readers.read_in_pieces)],
            [("nearby", readers.read_nearby)],
            [("pipelined", pipelined.produce)],
            [("renumbering", renumbering.produce)],
            [("keyed-writer", keyed.write), ("keyed-reader", keyed.read)],
        ]
        drawn = [left.pop(chance.below(len(left))) for _ in range(SOME)]
        return [life for lives in drawn for life in lives]

    async def _fill(self, cluster: Cluster) -> None:
        """So that there is something to drop: what came of it is not noted."""
        producer = Producer(cluster, ProducerSettings(idempotent=False))
        while True:
            partitions = await admin.partitions_of(cluster, SHARED)
            for _ in range(1 + self._chance.below(FILLED_MAX)):
                producer.add(partitions[self._chance.below(len(partitions))], FILLING)
            await producer.flush()
            await self._rest()

    def _administrator(self, name: str) -> "ClusterAdministrator":
        chance = self._chance.stream(name)
        return ClusterAdministrator(self._note, chance, self._rest, name=name, view=self._view)


class ClusterAdministrator(Administrator):
    """One of them."""

    def __init__(
        self, note: Note, chance: SeededRandom, rest: Rest, *, name: str, view: ClusterView
    ) -> None:
        number = int(name[-1])
        super().__init__(note, chance, rest, f"temporary-{number}")
        self._name = name
        self._changed, self._setting = SHARED, OWN_SETTINGS[number - 1]
        self._view = view
        self._made = 0

    async def administer(self, cluster: Cluster) -> None:
        """Sees to it that there is what both work at."""
        try:
            new = admin.NewTopic(SHARED, 1, REPLICAS_MAX, settings=SHARED_SETTINGS)
            await admin.create_topic(cluster, new)
        except BrokerError as error:
            self._tell("client.not_made", SHARED, error.code.name)
        await super().administer(cluster)

    async def _make(self, cluster: Cluster) -> None:
        """No position is committed in it yet; then one is.

        They ask once all brokers that run have heard of it, also one whose place another process
        has taken: a coordinator that still knows the topic before it can only tell of that one.
        """
        await super()._make(cluster)
        if not self._is_known():
            return
        where = TopicPartition(self._topic, 0)
        found = (await committed(cluster, self._name, [where])).get(where)
        self._tell("commit.found", str(where), found)
        self._tell("commit.tries", str(where))
        await commit(cluster, self._name, {where: 1 + self._chance.below(COMMITTED_MAX)})
        self._tell("commit.made", str(where))

    def _is_known(self) -> bool:
        topic = self._view.topics().get(self._topic)
        if topic is None:
            return False
        brokers = (broker for _, _, broker in self._view.processes())
        known = [it.cluster.image.topics.get(self._topic) for it in brokers]
        return all(it is not None and it.topic_id == topic.topic_id for it in known)

    def _replicas(self) -> int:
        return 1 + self._chance.below(REPLICAS_MAX)

    def _settings(self) -> Mapping[str, str]:
        """Others than the topic of that name had before: see `promises.settings`."""
        self._made += 1
        return {SEGMENT_BYTES: str(SEGMENT_BYTES_MIN + self._made)}

    async def _grow(self, cluster: Cluster) -> None:
        """Its own topic, or the one that both grow."""
        if self._chance.below(2):
            await super()._grow(cluster)
            return
        count = 1 + len(await admin.partitions_of(cluster, SHARED))
        if count <= SHARED_MAX:
            await admin.grow_topic(cluster, SHARED, count)
            self._tell("topic.outgrew", SHARED, count)

    async def _look(self, cluster: Cluster) -> None:
        del cluster
        topic = self._view.topics().get(self._topic)
        is_going = self._topic in self._view.children(DeleteTopicZnode.PARENT)
        count = 0 if topic is None or is_going else len(topic.partitions)
        assert count <= 2 * PARTITIONS_MAX, (self._topic, count)
        self._tell("topic.seen", self._topic, count)

    async def _look_at_settings(self, cluster: Cluster) -> None:
        del cluster
        entity = Entity(EntityType.TOPICS, SHARED)
        node = self._view.tree.nodes.get(SettingsZnode.path(entity))
        if node is not None:
            found = SettingsZnode.decode(entity, node.data).get(self._setting)
            self._tell("setting.seen", self._what_is_set, found)
