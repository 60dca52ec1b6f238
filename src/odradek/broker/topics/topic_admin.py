"""Topics made, enlarged and taken away, as clients ask for it: written to the tree, and awaited.

Many in one request are written in one pipelined batch. The controller sees what was written and
brings it online; the answer is given once this broker has heard of that. Whoever cannot wait so
long is told, and the topic comes all the same.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.derived import offsets_topic_factor
from odradek.config.rows import broker as broker_rows
from odradek.config.rows import groups as group_rows
from odradek.controller.topics import (
    TopicAlreadyExists,
    UnknownTopic,
    check_new_name,
    decide_creation,
    decide_deletion,
    decide_expansion,
    new_topic_id,
)
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.image import TopicImage
from odradek.metadata.nouns import Assignment, TopicAssignment
from odradek.metadata.placement import InvalidPartitions, checked, placed
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicId
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.units import SECOND, Millis
from odradek.zookeeper.client.errors import BadVersion, MultiFailed, NodeExists, OperationError
from odradek.zookeeper.protocol.codes import KeeperError

ENSURE_PATIENCE: Final = Millis(5 * SECOND)
"""How long whoever only asks for a topic is kept waiting until it is there."""
LOOK_AGAIN: Final = Millis(100)
NOT_SAID: Final = -1


class TimedOut(BrokerError):
    """It is on its way, but was not done in time."""

    code = ErrorCode.REQUEST_TIMED_OUT


class NotThereYet(BrokerError):
    """It is on its way; clients ask for it again by themselves."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class ZooKeeperFailed(BrokerError):
    """What was asked for could not be written."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class DeletionDisabled(BrokerError):
    """delete.topic.enable is false."""

    code = ErrorCode.TOPIC_DELETION_DISABLED


class InvalidRequest(BrokerError):
    """Two things asked for that exclude each other, or the same thing twice."""

    code = ErrorCode.INVALID_REQUEST


class NewTopic(NamedTuple):
    """A topic as it is asked for; -1: as the broker's settings say."""

    name: str
    partitions: int = NOT_SAID
    factor: int = NOT_SAID
    assignment: Mapping[int, Sequence[BrokerId]] | None = None
    settings: Mapping[str, str] = {}


class Planned(NamedTuple):
    """A topic as it is going to be made."""

    name: str
    topic: TopicAssignment
    settings: Mapping[str, str]

    @property
    def factor(self) -> int:
        """How many replicas each partition has."""
        return len(self.topic.partitions[0].replicas)


class TopicAdmin:
    """What may be done with topics."""

    def __init__(
        self, client: ZooKeeperClient, doors: Doors, settings: Settings, cluster: MetadataCache
    ) -> None:
        self._client = client
        self._doors = doors
        self._settings = settings
        self._cluster = cluster
        self._making: dict[str, asyncio.Future[None]] = {}

    # Making

    def plan(self, wanted: NewTopic) -> Planned:
        """What would be made; raises what speaks against it."""
        check_new_name(wanted.name, self._cluster.image)
        self._settings.broker.topic_defaults.checked(wanted.settings)
        topic = TopicAssignment(self._assign(wanted), new_topic_id(self._doors.random))
        return Planned(wanted.name, topic, wanted.settings)

    def _assign(self, wanted: NewTopic) -> dict[int, Assignment]:
        brokers = self._cluster.image.brokers
        if wanted.assignment is not None:
            if (wanted.partitions, wanted.factor) != (NOT_SAID, NOT_SAID):
                raise InvalidRequest("an assignment says how many partitions there are")
            return checked(wanted.assignment, brokers)
        config, partitions, factor = self._settings.broker, wanted.partitions, wanted.factor
        if partitions == NOT_SAID:
            partitions = config[broker_rows.NUM_PARTITIONS]
        if factor == NOT_SAID:
            factor = config[broker_rows.DEFAULT_REPLICATION_FACTOR]
        return placed(
            list(brokers.values()),
            partitions=partitions,
            factor=factor,
            random=self._doors.random,
        )

    async def create(
        self, planned: Sequence[Planned], patience: Millis
    ) -> dict[str, BrokerError | None]:
        """Writes them all, and waits until they can be used."""
        outcomes: dict[str, BrokerError | None] = {}
        multis = [decide_creation(it.name, it.topic, it.settings) for it in planned]
        for it, answer in zip(planned, await self._client.batch(multis), strict=True):
            over = isinstance(answer, MultiFailed) and answer.index == 0
            outcomes[it.name] = _outcome(await self._create_over_settings(it) if over else answer)
        made = [name for name, error in outcomes.items() if error is None]
        for it in planned:
            if outcomes[it.name] is None:
                self._settings.on_entity(Entity(EntityType.TOPICS, it.name), it.settings)
        if not await _in_time(self._cluster.has_topics(made), patience):
            for name in made:
                if name not in self._cluster.image.topics:
                    outcomes[name] = TimedOut(f"topic {name!r} is on its way")
        return outcomes

    async def _create_over_settings(self, it: Planned) -> object:
        again = decide_creation(it.name, it.topic, it.settings, settings_exist=True)
        (answer,) = await self._client.batch([again])
        return answer

    async def ensure(self, name: str) -> TopicImage:
        """The topic; made as the settings say where it is missing. Many may ask at once."""
        while (topic := self._cluster.image.topics.get(name)) is None:
            making = self._making.get(name)
            if making is not None:
                await asyncio.shield(making)
                continue
            self._making[name] = future = asyncio.get_running_loop().create_future()
            try:
                await self._make(name)
            finally:
                del self._making[name]
                future.set_result(None)
        return topic

    async def _make(self, name: str) -> None:
        """One that the tree has and we do not is on its way; or it goes, and may come anew."""
        give_up = self._doors.clock.monotonic() + ENSURE_PATIENCE
        planned = self.plan(self._internal() if name == GROUP_METADATA_TOPIC else NewTopic(name))
        error = (await self.create([planned], ENSURE_PATIENCE))[name]
        while isinstance(error, TopicAlreadyExists):
            if await _in_time(self._cluster.has_topics([name]), LOOK_AGAIN):
                return
            if self._doors.clock.monotonic() >= give_up:
                raise NotThereYet(f"topic {name!r} is being deleted, or on its way")
            error = (await self.create([planned], ENSURE_PATIENCE))[name]
        if isinstance(error, TimedOut):
            raise NotThereYet(str(error))
        if error is not None:
            raise error

    def _internal(self) -> NewTopic:
        """Where groups keep their offsets: as Kafka makes it."""
        config = self._settings.broker
        return NewTopic(
            GROUP_METADATA_TOPIC,
            config[group_rows.OFFSETS_TOPIC_NUM_PARTITIONS],
            offsets_topic_factor(config),
            settings={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config[group_rows.OFFSETS_TOPIC_SEGMENT_BYTES]),
            },
        )

    # Enlarging

    async def expand(
        self, name: str, count: int, assignments: Sequence[Sequence[BrokerId]] | None
    ) -> None:
        """Writes a topic with so many partitions; raises what speaks against it."""
        added, version = await self.plan_expansion(name, count, assignments)
        write = decide_expansion(name, self._cluster.image, added, version=version)
        (answer,) = await self._client.batch([write])
        if isinstance(answer, BadVersion):
            raise InvalidRequest(f"topic {name!r} was changed at the same time")
        error = _outcome(answer)
        if error is not None:
            raise error

    async def plan_expansion(
        self, name: str, count: int, assignments: Sequence[Sequence[BrokerId]] | None
    ) -> tuple[dict[int, Assignment], int]:
        """The partitions that would be added, and the version of what they are added to."""
        image = self._cluster.image
        topic = image.topics.get(name)
        if topic is None:
            raise UnknownTopic(f"there is no topic {name!r}")
        found = await self._client.get(TopicZnode.path(name))
        existing = {number: it.assignment for number, it in topic.partitions.items()}
        if count <= len(existing):
            raise InvalidPartitions(
                f"topic {name!r} has {len(existing)} partitions already; {count} is no increase"
            )
        if assignments is not None:
            numbered = dict(enumerate(assignments, len(existing)))
            if len(numbered) != count - len(existing):
                raise InvalidRequest("as many assignments as there are new partitions")
            return checked(numbered, image.brokers, existing), found.stat.version
        added = placed(
            list(image.brokers.values()),
            partitions=count - len(existing),
            factor=len(existing[0].target),
            random=self._doors.random,
            existing=existing,
        )
        return added, found.stat.version

    async def wait_for_partitions(self, name: str, count: int, patience: Millis) -> None:
        """Until they can be used; raises where that takes too long."""
        if not await _in_time(self._cluster.has_partitions(name, count), patience):
            raise TimedOut(f"topic {name!r} is being enlarged")

    # Taking away

    def name_of(self, topic_id: TopicId) -> str | None:
        """The topic of an id."""
        return self._cluster.image.names.get(topic_id)

    async def delete(self, names: Sequence[str], patience: Millis) -> dict[str, BrokerError | None]:
        """Marks them all, and waits until they are gone."""
        outcomes: dict[str, BrokerError | None] = {}
        marks = []
        for name in names:
            if not self._settings.broker[broker_rows.DELETE_TOPIC_ENABLE]:
                outcomes[name] = DeletionDisabled("delete.topic.enable is false")
                continue
            try:
                marks.append((name, decide_deletion(name, self._cluster.image)))
            except BrokerError as error:
                outcomes[name] = error
        answers = await self._client.batch([mark for _, mark in marks])
        for (name, _), answer in zip(marks, answers, strict=True):
            outcomes[name] = None if isinstance(answer, NodeExists) else _outcome(answer)
        marked = [name for name, error in outcomes.items() if error is None]
        if not await _in_time(self._cluster.has_not_topics(marked), patience):
            for name in marked:
                if name in self._cluster.image.topics:
                    outcomes[name] = TimedOut(f"topic {name!r} is being deleted")
        return outcomes


def _outcome(answer: object) -> BrokerError | None:
    """What a write came to."""
    if isinstance(answer, MultiFailed):
        if isinstance(answer.cause, NodeExists):
            return TopicAlreadyExists("it exists, or is being deleted")
        return ZooKeeperFailed(str(answer.cause))
    if isinstance(answer, OperationError | KeeperError):
        return ZooKeeperFailed(str(answer))
    return None


async def _in_time(work: Awaitable[None], patience: Millis) -> bool:
    try:
        async with asyncio.timeout(max(patience, 0) / 1_000):
            await work
    except TimeoutError:
        return False
    return True
