"""Topics that are made when they are first used, by whatever broker was asked about them.

Any broker asks the controller for those, and waits until it has heard that they are there.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.settings import Settings
from odradek.broker.topics.topic_admin import in_time
from odradek.config.derived import (
    offsets_topic_factor,
    transaction_topic_factor,
    transaction_topic_min_isr,
)
from odradek.config.rows import groups as group_rows
from odradek.config.rows import transactions as rows
from odradek.metadata.image import TopicImage
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock
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


class NotThereYet(BrokerError):
    """It is on its way; clients ask for it again by themselves."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class NotMade(BrokerError):
    """The controller has refused to make the topic."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code  # type: ignore[misc]


class AutoTopics:
    """Asks for each once, however many wait for it."""

    def __init__(
        self,
        to_controller: ControllerRequests,
        settings: Settings,
        cluster: MetadataCache,
        clock: Clock,
    ) -> None:
        self._to_controller = to_controller
        self._settings = settings
        self._cluster = cluster
        self._clock = clock
        self._making: dict[str, asyncio.Future[None]] = {}

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
        give_up = self._clock.monotonic() + ENSURE_PATIENCE
        failed: dict[str, BrokerError] = {}
        left = list(names)
        while True:
            errors = await self._ask_for(left)
            failed |= {name: it for name, it in errors.items() if it.code not in WAITED_FOR}
            left = [name for name in left if name not in failed]
            patience = LOOK_AGAIN if errors.keys() & left else ENSURE_PATIENCE
            if not left or await in_time(self._cluster.has_topics(left), patience):
                return failed
            left = [name for name in left if name not in self._cluster.image.topics]
            if self._cluster.is_closed or self._clock.monotonic() >= give_up:
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
