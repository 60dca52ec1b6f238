"""Topics made, enlarged and taken away, as clients ask for it.

The controller decides; elsewhere a client learns that it has come to the wrong broker, and asks the
right one. Topics that are created when they are first used are the exception: any broker asks the
controller for those. The answer is given once this broker has heard of what was done; a client that
cannot wait so long is told, and it is done all the same. Where this broker stops before a topic is
gone, the client is sent to the next controller, which waits for it likewise.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

from odradek.broker.control.controller_loop import ControllerLoop, NotController
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.doors import Doors
from odradek.broker.settings import Settings
from odradek.config.derived import (
    offsets_topic_factor,
    transaction_topic_factor,
    transaction_topic_min_isr,
)
from odradek.config.rows import broker as broker_rows
from odradek.config.rows import groups as group_rows
from odradek.config.rows import transactions as rows
from odradek.controller.events import CreationAsked, DeletionAsked, GrowthAsked
from odradek.controller.topics import Growth, NewTopic, Planned
from odradek.metadata.image import TopicImage
from odradek.model.errors import BEING_DELETED, BrokerError, ErrorCode
from odradek.model.ids import TopicId
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.model.units import SECOND, Millis
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

ENSURE_PATIENCE: Final = Millis(5 * SECOND)
"""How long a request that uses a topic waits until it is made."""
LOOK_AGAIN: Final = Millis(100)
WAITED_FOR: Final = frozenset(
    {
        ErrorCode.TOPIC_ALREADY_EXISTS,  # by another's request, or it is still being deleted
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_CONTROLLER,  # which is found out soon
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class TimedOut(BrokerError):
    """It is on its way, but was not done in time."""

    code = ErrorCode.REQUEST_TIMED_OUT


class NotThereYet(BrokerError):
    """It is on its way; clients ask for it again by themselves."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class NotMade(BrokerError):
    """The controller has refused to make the topic."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code  # type: ignore[misc]


class TopicAdmin:
    """What may be done with topics."""

    @property
    def partitions_by_default(self) -> int:
        """Of a topic that is made without saying how many."""
        return self._settings.broker[broker_rows.NUM_PARTITIONS]

    def __init__(
        self,
        controller: ControllerLoop,
        to_controller: ControllerRequests,
        doors: Doors,
        *,
        settings: Settings,
        cluster: MetadataCache,
    ) -> None:
        self._controller = controller
        self._to_controller = to_controller
        self._doors = doors
        self._settings = settings
        self._cluster = cluster
        self._making: dict[str, asyncio.Future[None]] = {}

    # Making

    async def create(
        self, wanted: Sequence[NewTopic], patience: Millis, *, validate_only: bool
    ) -> dict[str, Planned | BrokerError]:
        """Makes them all, and waits until they can be used: as each was made, or why not."""
        outcomes: dict[str, Planned | BrokerError]
        outcomes = await self._controller.ask(CreationAsked(wanted, validate_only))
        made = [name for name, it in outcomes.items() if isinstance(it, Planned)]
        if not validate_only and not await _in_time(self._cluster.has_topics(made), patience):
            for name in made:
                if name not in self._cluster.image.topics:
                    outcomes[name] = TimedOut(f"topic {name!r} is on its way")
        return outcomes

    async def ensure(self, name: str) -> TopicImage:
        """The topic; made as the settings say where it is missing. Many may ask at once."""
        while (topic := self._cluster.image.topics.get(name)) is None:
            error = (await self.ensure_all([name])).get(name)
            if error is not None:
                raise error
        return topic

    async def ensure_all(self, names: Sequence[str]) -> dict[str, BrokerError]:
        """Likewise, by one request for all that are not being made yet; why some were not."""
        ours = [
            it for it in names if it not in self._cluster.image.topics and it not in self._making
        ]
        others = [self._making[it] for it in names if it in self._making]
        errors: dict[str, BrokerError] = {}
        if ours:
            future = asyncio.get_running_loop().create_future()
            self._making |= dict.fromkeys(ours, future)
            try:
                errors = await self._make(ours)
            finally:
                for name in ours:
                    del self._making[name]
                future.set_result(None)
        for other in others:
            await asyncio.shield(other)
        left = [it for it in names if it not in ours and it not in self._cluster.image.topics]
        if left:  # the request before could not make them: this one learns why by itself
            errors |= await self.ensure_all(left)
        return errors

    async def _make(self, names: Sequence[str]) -> dict[str, BrokerError]:
        """One that exists and we do not know is on its way; or it goes, and may come anew."""
        give_up = self._doors.clock.monotonic() + ENSURE_PATIENCE
        failed: dict[str, BrokerError] = {}
        left = list(names)
        while True:
            errors = await self._ask_for(left)
            failed |= {name: it for name, it in errors.items() if it.code not in WAITED_FOR}
            left = [name for name in left if name not in failed]
            patience = LOOK_AGAIN if errors.keys() & left else ENSURE_PATIENCE
            if not left or await _in_time(self._cluster.has_topics(left), patience):
                return failed
            left = [name for name in left if name not in self._cluster.image.topics]
            if self._cluster.is_closed or self._doors.clock.monotonic() >= give_up:
                late = NotThereYet("topics are being deleted, or on their way")
                return failed | dict.fromkeys(left, late)

    async def _ask_for(self, names: Sequence[str]) -> dict[str, BrokerError]:
        """The errors of those that were not made."""
        ours = {
            GROUP_METADATA_TOPIC: self._group_topic,
            TRANSACTION_STATE_TOPIC: self._transaction_topic,
        }
        topics = [ours[it]() if it in ours else CreatableTopic(it, -1, -1) for it in names]
        request = CreateTopicsRequest(topics=topics, timeout_ms=ENSURE_PATIENCE)
        try:
            response = await self._to_controller.ask(request)
        except BrokerError as error:
            return dict.fromkeys(names, error)
        assert isinstance(response, CreateTopicsResponse), response
        return {
            row.name: NotMade(ErrorCode(row.error_code), row.error_message or "")
            for row in response.topics
            if row.error_code != ErrorCode.NONE
        }

    def _group_topic(self) -> CreatableTopic:
        """Where groups keep their offsets: as Kafka makes it."""
        config = self._settings.broker
        settings = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config[group_rows.OFFSETS_TOPIC_SEGMENT_BYTES]),
        }
        return CreatableTopic(
            GROUP_METADATA_TOPIC,
            config[group_rows.OFFSETS_TOPIC_NUM_PARTITIONS],
            offsets_topic_factor(config),
            configs=[CreatableTopicConfig(key, value) for key, value in settings.items()],
        )

    def _transaction_topic(self) -> CreatableTopic:
        """Where transactions are kept: as Kafka makes it."""
        config = self._settings.broker
        settings = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(transaction_topic_min_isr(config)),
            "segment.bytes": str(config[rows.TRANSACTION_STATE_LOG_SEGMENT_BYTES]),
            "unclean.leader.election.enable": "false",
        }
        return CreatableTopic(
            TRANSACTION_STATE_TOPIC,
            config[rows.TRANSACTION_STATE_LOG_NUM_PARTITIONS],
            transaction_topic_factor(config),
            configs=[CreatableTopicConfig(key, value) for key, value in settings.items()],
        )

    # Enlarging

    async def expand(self, growth: Growth, patience: Millis, *, validate_only: bool) -> None:
        """Gives a topic so many partitions; raises what speaks against it."""
        error = await self._controller.ask(GrowthAsked(growth, validate_only))
        if error is not None:
            raise error
        if validate_only:
            return
        has_them = self._cluster.has_partitions(growth.name, growth.partitions)
        if not await _in_time(has_them, patience):
            raise TimedOut(f"topic {growth.name!r} is being enlarged")

    # Taking away

    def name_of(self, topic_id: TopicId) -> str | None:
        """The topic of an id."""
        return self._cluster.image.names.get(topic_id)

    async def delete(self, names: Sequence[str], patience: Millis) -> dict[str, BrokerError | None]:
        """Deletes them all, and waits until they are gone."""
        outcomes: dict[str, BrokerError | None]
        outcomes = await self._controller.ask(DeletionAsked(names))
        marked = [name for name, error in outcomes.items() if error is None]
        if not await _in_time(self._cluster.has_not_topics(marked), patience):
            for name in marked:
                if name in self._cluster.image.topics:
                    outcomes[name] = self._late(f"topic {name!r} {BEING_DELETED}")
        return outcomes

    def _late(self, text: str) -> BrokerError:
        return NotController(text) if self._cluster.is_closed else TimedOut(text)


async def _in_time(work: Awaitable[None], patience: Millis) -> bool:
    try:
        async with asyncio.timeout(max(patience, 0) / 1_000):
            await work
    except TimeoutError:
        return False
    return True
