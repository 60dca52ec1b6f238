"""Topics made, enlarged and taken away, as clients ask for it.

The controller decides; elsewhere a client learns that it has come to the wrong broker, and asks the
right one (`auto_topics` has the exception). The answer is given once this broker has heard of what
was done; a client that cannot wait so long is told, and it is done all the same. Where this broker
stops before a topic is gone, the client is sent to the next controller, which waits for it
likewise.
"""

import asyncio
from collections.abc import Awaitable, Sequence

from odradek.broker.control.controller_loop import ControllerLoop, NotController
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.settings import Settings
from odradek.config.rows import broker as broker_rows
from odradek.controller.events import CreationAsked, DeletionAsked, GrowthAsked
from odradek.controller.topics import Growth, NewTopic, Planned
from odradek.model.errors import BEING_DELETED, BrokerError, ErrorCode
from odradek.model.ids import TopicId
from odradek.model.units import Millis


class TimedOut(BrokerError):
    """It is on its way, but was not done in time."""

    code = ErrorCode.REQUEST_TIMED_OUT


class TopicAdmin:
    """What may be done with topics."""

    @property
    def partitions_by_default(self) -> int:
        """Of a topic that is made without saying how many."""
        return self._settings.broker[broker_rows.NUM_PARTITIONS]

    def __init__(
        self,
        controller: ControllerLoop,
        settings: Settings,
        cluster: MetadataCache,
    ) -> None:
        self._controller = controller
        self._settings = settings
        self._cluster = cluster

    # Making

    async def create(
        self, wanted: Sequence[NewTopic], patience: Millis, *, validate_only: bool
    ) -> dict[str, Planned | BrokerError]:
        """Makes them all, and waits until they can be used: as each was made, or why not."""
        outcomes: dict[str, Planned | BrokerError]
        outcomes = await self._controller.ask(CreationAsked(wanted, validate_only))
        made = [name for name, it in outcomes.items() if isinstance(it, Planned)]
        if not validate_only and not await in_time(self._cluster.has_topics(made), patience):
            for name in made:
                if name not in self._cluster.image.topics:
                    outcomes[name] = TimedOut(f"topic {name!r} is on its way")
        return outcomes

    # Enlarging

    async def expand(self, growth: Growth, patience: Millis, *, validate_only: bool) -> None:
        """Gives a topic so many partitions; raises what speaks against it."""
        error = await self._controller.ask(GrowthAsked(growth, validate_only))
        if error is not None:
            raise error
        if validate_only:
            return
        has_them = self._cluster.has_partitions(growth.name, growth.partitions)
        if not await in_time(has_them, patience):
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
        if not await in_time(self._cluster.has_not_topics(marked), patience):
            for name in marked:
                if name in self._cluster.image.topics:
                    outcomes[name] = self._late(f"topic {name!r} {BEING_DELETED}")
        return outcomes

    def _late(self, text: str) -> BrokerError:
        return NotController(text) if self._cluster.is_closed else TimedOut(text)


async def in_time(work: Awaitable[None], patience: Millis) -> bool:
    """Whether it was done before the patience was at its end."""
    try:
        async with asyncio.timeout(max(patience, 0) / 1_000):
            await work
    except TimeoutError:
        return False
    return True
