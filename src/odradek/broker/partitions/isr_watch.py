"""What time and the cluster's metadata tell the leaders of this broker about their followers.

Half of `replica.lag.time.max.ms` apart, each leader is told the time, and proposes an ISR without
the followers that have fallen behind for too long. A broker that is gone from the metadata cannot
join an ISR, so no high watermark waits for it any more.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.settings import SettingsSource
from odradek.broker.slices import Steps, goes_on
from odradek.config.rows.replication import REPLICA_LAG_TIME_MAX_MS
from odradek.metadata.image import ClusterImage
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.ports import Clock

LEADERS_AT_ONCE: Final = 500
"""So many leaders are told the time, or of brokers, in one turn of the loop."""


class IsrWatch:
    """Tells them."""

    def __init__(
        self,
        replicas: ReplicaManager,
        settings: SettingsSource,
        clock: Clock,
    ) -> None:
        self._replicas = replicas
        self._settings = settings
        self._clock = clock
        self._news: deque[Steps[None]] = deque()  # of brokers, being told; the oldest first

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            pause = max(1, self._settings.broker[REPLICA_LAG_TIME_MAX_MS] // 2)
            await self._clock.sleep_until(Millis(self._clock.monotonic() + pause))
            for number, leading in enumerate(self._replicas.all_led()):
                if not leading.is_over:
                    leading.carry_out(leading.leader.on_time(self._clock.monotonic()))
                if number % LEADERS_AT_ONCE == LEADERS_AT_ONCE - 1:
                    await asyncio.sleep(0)

    def on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        """Leaders are told which brokers are gone, or there."""
        if old.brokers is new.brokers:
            return
        gone = sorted(old.brokers.keys() - new.brokers.keys())
        came = [it for number, it in new.brokers.items() if it != old.brokers.get(number)]
        if not gone and not came:
            return
        self._news.append(self._tell(gone, came))
        if len(self._news) == 1:
            self._go_on()

    def _go_on(self) -> None:
        """Some leaders hear the oldest news now, others in the next turn; then come later news."""
        if not goes_on(self._news[0]):
            self._news.popleft()
        if self._news:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _tell(self, gone: Sequence[BrokerId], came: Sequence[Broker]) -> Steps[None]:
        for number, leading in enumerate(self._replicas.all_led(), 1):
            if not leading.is_over:
                self._tell_one(leading, gone, came)
            if not number % LEADERS_AT_ONCE:
                yield

    def _tell_one(
        self, leading: LeadingReplica, gone: Sequence[BrokerId], came: Sequence[Broker]
    ) -> None:
        now = self._clock.monotonic()
        for broker in gone:
            leading.carry_out(leading.leader.on_ineligible(broker, now))
        for registered in came:
            effects = leading.leader.on_registered(registered.id, registered.epoch, now)
            leading.carry_out(effects)
