"""An administrator: topics come, grow and go, come again under the same name, and settings change.

Noted once the cluster has said yes: `topic.made` and `topic.grown` topic and count of partitions,
`topic.deleted` topic, `setting.set` topic and value. `topic.tries` or `setting.tries` stands before
each of them: until it was answered that is open. What is found is `topic.seen` topic and count of
partitions, 0 for none; `setting.seen` topic with setting, and value; and `topic.first` partition
and the offset of the first record in one that is new.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused, check
from odradek.client.records.producer import Producer
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.doors.chance import SeededRandom

TEMPORARY: Final = "temporary"
CHANGED: Final = "events"  # whose settings change
SETTING: Final = "segment.bytes"
PARTITIONS_MAX: Final = 3

Note = Callable[..., None]
Rest = Callable[[], Awaitable[None]]


class Administrator:
    """One, with a topic that no other client touches."""

    def __init__(
        self, note: Note, chance: SeededRandom, rest: Rest, topic: str = TEMPORARY
    ) -> None:
        self._note, self._chance, self._rest, self._topic = note, chance, rest, topic
        self._name = "admin"
        self._changed, self._setting = CHANGED, SETTING
        self._wanted = topic
        self._blocked = 0  # names that stay taken until a disk is back

    async def administer(self, cluster: Cluster) -> None:
        """Looks at what an earlier life has left, then goes on for ever."""
        await self._look(cluster)
        await self._look_at_settings(cluster)
        await self._delete(cluster)
        while True:
            await self._make(cluster)
            await self._rest()
            await self._look(cluster)
            if self._chance.below(2):
                await self._grow(cluster)
                await self._rest()
                await self._look(cluster)
            await self._change_settings(cluster)
            await self._delete(cluster)
            if self._chance.below(2):
                await self._look(cluster)
                await self._rest()

    async def _make(self, cluster: Cluster) -> None:
        count = 1 + self._chance.below(PARTITIONS_MAX)
        self._tell("topic.tries", self._topic)
        try:
            new = admin.NewTopic(self._topic, count, self._replicas(), self._settings())
            await admin.create_topic(cluster, new)
        except Refused as error:
            if error.code == ErrorCode.TOPIC_ALREADY_EXISTS:  # its deletion waits for a disk
                self._blocked += 1
                self._topic = f"{self._wanted}-{self._blocked}"
            raise
        self._tell("topic.made", self._topic, count)
        await self._produce_first(cluster, self._chance.below(count))

    def _replicas(self) -> int:
        """Of each partition; -1: as the broker's settings say."""
        return -1

    def _settings(self) -> Mapping[str, str]:
        """Of each new topic."""
        return {}

    async def _grow(self, cluster: Cluster) -> None:
        count = 1 + len(await admin.partitions_of(cluster, self._topic))
        self._tell("topic.tries", self._topic)
        await admin.grow_topic(cluster, self._topic, count)
        self._tell("topic.grown", self._topic, count)
        await self._produce_first(cluster, count - 1)

    async def _produce_first(self, cluster: Cluster, partition: int) -> None:
        producer = Producer(cluster)
        producer.add(TopicPartition(self._topic, partition), b"short-lived")
        for where, offset in await producer.flush():
            self._tell("topic.first", str(where), offset)

    async def _delete(self, cluster: Cluster) -> None:
        self._tell("topic.tries", self._topic)
        code = (await admin.delete_topics(cluster, [self._topic]))[self._topic]
        if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            check(code)
        self._tell("topic.deleted", self._topic)

    async def _look(self, cluster: Cluster) -> None:
        answer = await cluster.refresh(None)
        counts = {topic.name: len(topic.partitions) for topic in answer.topics}
        self._tell("topic.seen", self._topic, counts.get(self._topic, 0))

    # Settings

    async def _change_settings(self, cluster: Cluster) -> None:
        value = str(4_096 + self._chance.below(4_096))
        self._tell("setting.tries", self._what_is_set)
        await admin.alter_settings(cluster, admin.TOPIC, self._changed, to={self._setting: value})
        self._tell("setting.set", self._what_is_set, value)
        await self._look_at_settings(cluster)

    async def _look_at_settings(self, cluster: Cluster) -> None:
        rows = await admin.describe_settings(cluster, admin.TOPIC, self._changed)
        (value,) = (row.value for row in rows if row.name == self._setting)
        self._tell("setting.seen", self._what_is_set, value)

    @property
    def _what_is_set(self) -> str:
        return f"{self._changed} {self._setting}"

    def _tell(self, what: str, *details: object) -> None:
        self._note(self._name, what, *details)
