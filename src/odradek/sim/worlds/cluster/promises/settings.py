"""What brokers know of the settings of topics."""

from collections.abc import Mapping

from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.sim.worlds.cluster.promises.insides import Copies, Looks
from odradek.zookeeper.tree.tree import Node


class SettingsAreOfTheTopic(Looks):
    """Who has a log of a topic acts on the settings that the topic was made with.

    Those that were changed since it may not have heard of. One that could not ask ZooKeeper knows
    none, and deletes nothing.
    """

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._known: dict[tuple[int, str], tuple[Node, Mapping[str, str]]] = {}  # to be right
        self._entities: dict[str, tuple[Entity, str]] = {}  # of topics, and their paths

    def look(self) -> None:
        """Of every log, by the topic's id."""
        brokers, nodes = dict(self._copies.opened), self._view.tree.nodes
        for number, topic in {(it[0], it[1].partition.topic): None for it in self._copies.logs()}:
            entity, path = self._entity(topic)
            node, settings = nodes.get(path), brokers[number].settings
            if node is None or node.mzxid != node.czxid or not settings.knows(entity):
                continue
            known, right = settings.overrides(entity), self._known.get((number, topic))
            if right is None or node is not right[0] or known is not right[1]:
                told = SettingsZnode.decode(entity, node.data)
                assert known == told, f"broker {number}: {topic} has {told}, it knows {known}"
                self._known[number, topic] = node, known

    def _entity(self, topic: str) -> tuple[Entity, str]:
        found = self._entities.get(topic)
        if found is None:
            entity = Entity(EntityType.TOPICS, topic)
            found = self._entities[topic] = entity, SettingsZnode.path(entity)
        return found
