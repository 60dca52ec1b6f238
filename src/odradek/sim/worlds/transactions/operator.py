"""An operator beside transactions: replicas move, a topic that is in them goes and comes.

And `transaction.version` rises and falls, with transactions open of both versions.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from odradek.client.admin import admin, features
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
LEVELS: Final = 3
LEVEL_MILLIS: Final = (500, 5_000)
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


class Levels:
    """Of `transaction.version`: what a run begins with, and who changes it, if anybody does."""

    def __init__(self, chance: SeededRandom, note: Callable[[int], None]) -> None:
        self._chance = chance
        self._note = note
        self._now = self._before = 2 * chance.below(2)
        self.change = bool(chance.below(2))

    @property
    def heard(self) -> int:
        """As a client has heard of it, which may have looked before the last change."""
        if not self.change:
            return self._now
        return (self._now, self._before)[self._chance.below(2)]

    async def begin(self, cluster: Cluster) -> None:
        """The cluster has it."""
        await features.alter(cluster, features.TRANSACTION_VERSION, self._now)

    async def alter(self, cluster: Cluster, rest: Rest) -> None:
        """Up and down; a fall to 0 waits for the transactions that are open."""
        while True:
            await rest(self._chance.between(*LEVEL_MILLIS))
            level = self._chance.below(LEVELS)
            if level != self._now:
                self._now, self._before = level, self._now
                await features.alter(cluster, features.TRANSACTION_VERSION, level)
                self._note(level)
