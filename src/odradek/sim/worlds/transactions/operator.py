"""An operator beside transactions: replicas move, and a topic that is in them goes and comes."""

from collections.abc import Awaitable, Callable
from typing import Final

from odradek.client.admin import admin
from odradek.client.admin.placement import reassign
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.worlds.three_brokers import BROKERS

FLEETING: Final = TopicPartition("fleeting", 0)
"""Copiers put something there, too; it is not looked for."""
REST_MILLIS: Final = (500, 4_000)
FEWER_ONE_IN: Final = 4
GONE_MILLIS_MAX: Final = 1_000

Rest = Callable[[int], Awaitable[None]]


class Operator:
    """What it does, one life at a time."""

    def __init__(
        self, chance: SeededRandom, moved: list[TopicPartition], rest: Rest, made: admin.NewTopic
    ) -> None:
        internal = (TRANSACTION_STATE_TOPIC, GROUP_METADATA_TOPIC)
        self._moved = [*moved, *(TopicPartition(it, at) for it in internal for at in range(3))]
        self._chance = chance
        self._rest = rest
        self._made = made

    async def move(self, cluster: Cluster) -> None:
        """One partition after the other, to all brokers in another order, or to two."""
        while True:
            await self._rest(self._chance.between(*REST_MILLIS))
            left = list(BROKERS)
            count = len(BROKERS) - self._chance.one_in(FEWER_ONE_IN)
            target = [left.pop(self._chance.below(len(left))) for _ in range(count)]
            partition = self._moved[self._chance.below(len(self._moved))]
            await reassign(cluster, {partition: target})

    async def remake(self, cluster: Cluster) -> None:
        """The topic is deleted, and after a while another one has its name."""
        while True:
            try:
                await admin.create_topic(cluster, self._made)
            except Refused as refused:
                if refused.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
            await self._rest(self._chance.between(*REST_MILLIS))
            await admin.delete_topics(cluster, [FLEETING.topic])
            await self._rest(self._chance.below(GONE_MILLIS_MAX))
